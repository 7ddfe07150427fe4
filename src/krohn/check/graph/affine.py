"""Numbers as a run in float32 may have them: c + Σ g·ε + δ, |ε| ≤ 1, |δ| ≤ r, an ε for each axis of a box.

Every rule returns such a form for all that the operator can compute from numbers in the forms it is given, in
any order of adding, fused or not. A number that may be anything has an infinite or undefined r, and so has
all that is computed from it; only a finite lead is ever called a lead.
"""

from dataclasses import dataclass
from functools import cached_property
from math import erf, pi, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.arithmetic.format import BEND, ERF, EXP, MOMENTS, ROOT, SINE
from krohn.check.ground import SAFE, Array

UNIT = SAFE * 2.0**-24
"""One rounding. The factor covers what this evaluation rounds itself in c and g, 2^-53 for each 2^-24."""
TINY = 2.0**-126
"""A rounding near 0, whether subnormal numbers are kept or not."""
OWN = 1 + 2.0**-36
"""What this evaluation rounds in r: sums of at most 2^14 terms."""
MOST_TERMS = 1 << 14
BEYOND = 2.0**128 - 2.0**103
"""From here on a rounded number is infinite."""
UNDERFLOW = 2.0**-120
"""What a weight of softmax can be off for lack of smaller numbers."""
HALF = {"bfloat16": (8, TINY, (2 - 2.0**-8) * 2.0**127), "float16": (11, 2.0**-24, 65520.0)}
"""Bits of a half type, the error near 0, and from where on a rounded number is infinite."""
BENT = 16.0
"""Roundings of x in GELU: tanh or erf, of an argument with its own roundings, then two products."""


@dataclass(frozen=True, eq=False)
class Affine:
    """c and r [word, …], g [symbol, word, …]; constants have one word and no symbols."""

    c: Array
    r: Array
    g: Array

    @cached_property
    def rad(self) -> Array:
        """Bound on |x − c|."""
        out: Array = self.r + np.abs(self.g).sum(axis=0) if len(self.g) else self.r
        return out

    @property
    def size(self) -> Array:
        """Bound on |x|."""
        out: Array = np.abs(self.c) + self.rad
        return out

    def __getitem__(self, key: Any) -> "Affine":
        return Affine(
            self.c[key], self.r[key], self.g[(slice(None), *(key if isinstance(key, tuple) else (key,)))]
        )


def exactly(values: Array) -> Affine:
    """Numbers that every run has."""
    return Affine(values, np.zeros_like(values), np.zeros((0, *values.shape)))


def plus(a: Array, b: Array) -> Array:
    """Symbols of a sum; what has none adds none."""
    if not len(a) or not len(b):
        return a if len(a) else b
    return a + b


def rounded(c: Array, r: Array, g: Array, size: Array, times: float = 1.0, faint: float = 1.0) -> Affine:
    """What is left after ``times`` roundings of numbers up to ``size``; overflow may be anything."""
    fits = size < BEYOND
    return Affine(c, np.where(fits, OWN * r + times * UNIT * size + faint * TINY, np.inf), g)


# Rule: sums and differences.
# Conclusion: the parts add up, and the result is rounded once. What is −∞ (a mask) stays so, whatever finite
# number is added. Why: the float sum is the exact sum, rounded.
def add(x: Affine, y: Affine, sign: float = 1.0) -> Affine:
    """x + sign · y."""
    c, r = x.c + sign * y.c, x.r + y.r
    made = rounded(c, r, plus(x.g, sign * y.g), np.abs(c) + x.rad + y.rad)
    hidden = np.isneginf(c) & np.isfinite(x.rad + y.rad)
    if not hidden.any():
        return made
    shape = hidden.shape
    g = np.where(hidden, 0.0, np.broadcast_to(made.g, (len(made.g), *shape)))
    return Affine(c, np.where(hidden, 0.0, made.r), g)


def mul(x: Affine, y: Affine) -> Affine:
    """A product: derivatives by both, and both errors multiplied."""
    both = (x.rad if len(x.g) or x.r.any() else np.zeros(1)) * y.rad
    r = np.abs(x.c) * y.r + np.abs(y.c) * x.r + both
    return rounded(x.c * y.c, r, plus(x.g * y.c, y.g * x.c), x.size * y.size)


def square(x: Affine) -> Affine:
    """x²: (c + d)² = c² + 2cd + d², and d² lies in 0 … rad²."""
    half = x.rad**2 / 2
    return rounded(x.c * x.c + half, 2 * np.abs(x.c) * x.r + half, 2 * x.c * x.g, x.size**2)


def bend(x: Affine, value: Array, slope: Array, left: Array, off: Array | float = 0.0) -> Affine:
    """f(x), where |f(c + d) − value − slope · d| ≤ left for |d| ≤ rad, computed up to ``off``."""
    size = np.abs(value) + np.abs(slope) * x.rad + left
    return rounded(value, np.abs(slope) * x.r + left + off, slope * x.g, size)


def reciprocal(x: Affine) -> Affine:
    """1/x, where x has one sign: what the derivative leaves out is d²/(c²(c + d))."""
    rad = x.rad
    least = np.abs(x.c) - rad
    least = np.where(least > 0, least, np.nan)
    return bend(x, 1 / x.c, -1 / x.c**2, rad**2 / (x.c**2 * least))


def divide(x: Affine, y: Affine) -> Affine:
    """x/y, as a product with 1/y: one rounding more than a division makes."""
    return mul(x, reciprocal(y))


def root(x: Affine) -> Affine:
    """√x of what is above 0: the chord lies below the tangent by (√(c+d) − √c)²/(2√c)."""
    rad = x.rad
    least = np.where(x.c - rad > 0, x.c - rad, np.nan)
    top = np.sqrt(np.where(x.c > 0, x.c, np.nan))
    left = (rad / (np.sqrt(least) + top)) ** 2 / (2 * top)
    return bend(x, top, 1 / (2 * top), left, ROOT * UNIT * np.sqrt(x.size))


def exponential(x: Affine) -> Affine:
    """e^x, off by ``EXP`` units in the last place."""
    value, rad = np.exp(x.c), x.rad
    most = np.exp(x.c + rad)
    return bend(x, value, value, most * rad**2 / 2, 2 * EXP * UNIT * most + TINY)


def curved(x: Affine, value: Array, slope: Array, bound: float, off: Array | float) -> Affine:
    """A function whose second derivative is at most ``bound`` everywhere."""
    return bend(x, value, slope, bound * x.rad**2 / 2, off)


def tanh(x: Affine) -> Affine:
    """|tanh″| ≤ 4/(3√3)."""
    value = np.tanh(x.c)
    return curved(x, value, 1 - value**2, 0.77, BEND * UNIT)


def sigmoid(x: Affine) -> Affine:
    """|σ″| ≤ 1/(6√3)."""
    value = logistic(x.c)
    return curved(x, value, value * (1 - value), 0.0963, BEND * UNIT)


def silu(x: Affine) -> Affine:
    """x σ(x): its second derivative is σ′(2 + x(1 − 2σ)), at most 1/2 at 0."""
    share = logistic(x.c)
    return curved(x, x.c * share, share * (1 + x.c * (1 - share)), 0.5, (BEND + 2) * UNIT * x.size)


def logistic(x: Array) -> Array:
    """1/(1 + e^−x) without overflow."""
    half = np.exp(-np.abs(x))
    out: Array = np.where(x >= 0, 1.0, half) / (1 + half)
    return out


ERF_TABLE = np.frompyfunc(erf, 1, 1)


def error_function(x: Affine) -> Affine:
    """erf: its second derivative is at most 4/√(2πe) < 0.97."""
    value = np.asarray(ERF_TABLE(x.c), dtype=np.float64)
    return curved(x, value, 2 / sqrt(pi) * np.exp(-(x.c**2)), 0.97, ERF * UNIT)


def gelu(x: Affine) -> Affine:
    """x Φ(x): its second derivative is φ(x)(2 − x²), at most 2φ(0) < 0.8."""
    share = 0.5 * (1 + np.asarray(ERF_TABLE(x.c / sqrt(2)), dtype=np.float64))
    slope = share + x.c * np.exp(-(x.c**2) / 2) / sqrt(2 * pi)
    return curved(x, x.c * share, slope, 0.8, BENT * (UNIT * x.size + TINY))


def gelu_tanh(x: Affine) -> Affine:
    """The form with tanh; the bound on its second derivative is that of ``near.CURVATURE``."""
    inner = sqrt(2 / pi)
    bent = np.tanh(inner * (x.c + 0.044715 * x.c**3))
    slope = 0.5 * (1 + bent) + 0.5 * x.c * (1 - bent**2) * inner * (1 + 3 * 0.044715 * x.c**2)
    size = np.where(x.size < 1e9, x.size, np.inf)
    return curved(x, 0.5 * x.c * (1 + bent), slope, 1.0, BENT * (UNIT * size + TINY))


def relu(x: Affine) -> Affine:
    """Nothing is rounded; where the sign is open, the strip below the chord."""
    lo, hi = x.c - x.rad, x.c + x.rad
    wide = np.where(hi > lo, hi - lo, 1.0)
    slope = np.where(lo >= 0, 1.0, np.where(hi <= 0, 0.0, hi / wide))
    half = np.where((lo < 0) & (hi > 0), -slope * lo / 2, 0.0)
    lost = np.where(np.isfinite(x.rad), half + 2.0**-50 * (np.abs(lo) + np.abs(hi)) * (half > 0), np.nan)
    return Affine(slope * x.c + half, OWN * slope * x.r + lost, slope * x.g)


def larger(x: Affine, y: Affine, sign: float = 1.0) -> Affine:
    """max(x, y), or min with sign −1: by their ends."""
    lo, hi = (np.maximum(sign * x.c + s * x.rad, sign * y.c + s * y.rad) for s in (-1, 1))
    c = (lo + hi) / 2
    r = (hi - lo) / 2 * OWN + 2.0**-50 * (np.abs(lo) + np.abs(hi))
    r = np.where((x.rad == 0) & (y.rad == 0), 0.0, np.where(np.isfinite(x.rad + y.rad), r, np.nan))
    return Affine(sign * c, r, np.zeros((0, *c.shape)))


def magnitude(x: Affine) -> Affine:
    """|x|."""
    turn = np.where(x.c < 0, -1.0, 1.0)
    crossed = np.abs(x.c) < x.rad
    # Where the sign is open: 0 … |c| + rad.
    most = np.abs(x.c) + x.rad
    kept = Affine(np.where(crossed, most / 2, turn * x.c), np.where(crossed, OWN * most / 2, x.r), x.g * turn)
    return Affine(kept.c, np.where(np.isfinite(x.rad), kept.r, np.nan), np.where(crossed, 0.0, kept.g))


# Rule: sums of products.
# Hypotheses: k terms, in any order, fused or not. Conclusion: derivatives by both, both errors multiplied,
# and (k + 2) roundings of the sum of absolute values. Why: a term passes at most k roundings.
def matmul(x: Affine, y: Affine, rounds: int = 0, scale: float = 1.0) -> Affine:
    """x [word, b, n, k] @ y [word, b, k, m] · scale."""
    count = x.c.shape[-1]
    if count > MOST_TERMS:
        return exactly(np.full((1, 1, 1, 1), np.nan))
    p, q = x.rad, y.rad
    size = _product(np.abs(x.c) + p, np.abs(y.c) + q)
    r = _product(x.r, np.abs(y.c)) + _product(p, q) + _product(np.abs(x.c), y.r)
    g = plus(_product(x.g, y.c) if len(x.g) else x.g, _product(x.c, y.g) if len(y.g) else y.g)
    if not len(g):
        g = np.zeros((0, *size.shape))
    times, much = count + 2 + rounds + (scale != 1.0) * 2, abs(scale)
    made = rounded(_product(x.c, y.c) * scale, r * much, g * scale, size * much, times, times * (1 + much))
    return Affine(made.c, np.where(size < BEYOND, made.r, np.inf), made.g)


def _product(a: Array, b: Array) -> Array:
    if b.shape[-4] == b.shape[-3] == 1 and a.shape[-3] == 1 and b.ndim == 4:  # one matrix for all words
        out: Array = (a.reshape(-1, a.shape[-1]) @ b[0, 0]).reshape(*a.shape[:-1], b.shape[-1])
        return out
    return np.asarray(a @ b)


def total(x: Affine, rounds: float = 2.0) -> Affine:
    """The sum of each row [word, row, width] → [word, row]."""
    count = x.c.shape[-1]
    size = x.size.sum(axis=-1)
    enough = np.nan if count > MOST_TERMS else 0.0
    return rounded(x.c.sum(axis=-1), x.r.sum(axis=-1) + enough, x.g.sum(axis=-1), size, count + rounds, 0.0)


def mean(x: Affine, rounds: float = 2.0) -> Affine:
    """The sum over the number of terms."""
    made, count = total(x, rounds), x.c.shape[-1]
    return Affine(made.c / count, OWN * (made.r / count) + TINY, made.g / count)


# Rule: LayerNorm.
# Hypotheses: mean and variance are as accurate as ``ASSUMPTIONS['layer-norm']`` says. Conclusion: the forms
# of x − mean, its squares' mean, one over its root and the products, with the roundings of every order in
# which mean, gain and shift are taken off, multiplied and added. Why: each is one of the rules above.
def norm(x: Affine, gain: Affine, shift: Affine, eps: float) -> Affine:
    """[word, row, width]."""
    width = x.c.shape[-1]
    middle = mean(x, 3.0 * width + 32.0)
    middle = Affine(middle.c[..., None], middle.r[..., None], middle.g[..., None])
    low = add(x, middle, -1.0)
    spread = mean(square(low), 3.0 * width + MOMENTS + 32.0)
    spread = Affine(spread.c[..., None] + eps, spread.r[..., None] + UNIT * eps, spread.g[..., None])
    inverse = reciprocal(root(spread))
    made = add(mul(mul(low, inverse), gain), shift)
    wide = (x.size + middle.size) * inverse.size * (1 + gain.size) + shift.size
    return Affine(
        made.c, OWN * made.r + 6 * (UNIT * wide + TINY * (1 + inverse.size) * (1 + gain.size)), made.g
    )


# Rule: softmax.
# Hypotheses: weights are exp(s − m) over their sum (``ASSUMPTIONS['softmax']``). Conclusion: with scores off
# by ρ against the best one, and m the largest ρ, below 1/2: a weight a changes by a factor e^w, w = δ − Σaδ −
# θ, 0 ≤ θ ≤ e^(2m) Σaρ²/2, so by a(δ − Σaδ) and what ``curved`` bounds; else by the ends of all scores. Why:
# θ is half a variance under weights between; the largest weight of one is that where its score is highest and
# all others lowest.
def softmax(x: Affine, rounds: int = 0) -> Affine:
    """[word, row, width]; a score of −∞ has weight 0 exactly."""
    seen = ~np.isneginf(x.c)
    c = np.where(seen, x.c, -np.inf)
    rad = np.where(seen, x.rad, 0.0)
    top = c.max(axis=-1, keepdims=True)
    powers = np.exp(c - top)
    weights = powers / powers.sum(axis=-1, keepdims=True)
    off = rounding_of(x, rounds)
    if len(x.g):
        best = weights.argmax(axis=-1)[..., None]
        g = x.g - np.take_along_axis(x.g, np.broadcast_to(best, (len(x.g), *best.shape)), axis=-1)
        r = x.r + np.take_along_axis(x.r, best, axis=-1)
        np.put_along_axis(r, best, 0.0, axis=-1)
        near = np.where(seen, r + np.abs(g).sum(axis=0), 0.0)
        most = near.max(axis=-1, keepdims=True)
        theta = np.exp(2 * most) / 2 * (weights * near * near).sum(axis=-1, keepdims=True)
        swing = near + (weights * near).sum(axis=-1, keepdims=True) + theta
        curve = weights * (theta + 0.5 * swing**2 * np.exp(swing))
        own = weights * (r + (weights * r).sum(axis=-1, keepdims=True))
        slopes = weights * (g - (weights * g).sum(axis=-1, keepdims=True))
        close = (most < 0.5) & np.isfinite(most)
    high, low = np.exp(c + rad - top), np.exp(c - rad - top)
    high, low = (
        high / (low.sum(axis=-1, keepdims=True) - low + high),
        low / (high.sum(axis=-1, keepdims=True) - high + low),
    )
    apart = np.maximum(high - weights, weights - low)
    slack = np.where(seen, off * (weights + apart) * 1.01 + UNDERFLOW + 2.0**-44, 0.0)
    if not len(x.g):
        return Affine(weights, np.where(seen, OWN * apart, 0.0) + slack, x.g)
    r = np.where(close, SAFE * (curve + own), OWN * apart)
    grown = np.where(close, off * (weights * np.exp(swing)) * 1.01 + UNDERFLOW + 2.0**-44, slack)
    r = np.where(seen, r + grown, 0.0)
    return Affine(weights, r, np.where(close & seen, slopes, 0.0))


def rounding_of(x: Affine, rounds: int = 0) -> Array:
    """How far a weight can be off, relatively, for scores like these [word, row, 1]."""
    seen = ~np.isneginf(x.c) & (x.c > -1e30)
    size = np.where(seen, np.abs(x.c) + np.where(seen, x.rad, 0.0), 0.0).max(axis=-1, keepdims=True)
    reach = np.minimum(2 * size, 104.0)
    times = 2 * reach + 4 * size * (rounds > 0) + 4 * EXP + x.c.shape[-1] + 10 + rounds
    out: Array = np.expm1(UNIT * times)
    return out


def sine(x: Affine, shift: float = 0.0) -> Affine:
    """sin(x + shift): both derivatives are at most 1."""
    return curved(x, np.sin(x.c + shift), np.cos(x.c + shift), 1.0, SINE * UNIT + 2.0**-50)


# Rule: numbers are stored in a half type.
# Conclusion: one rounding of a number up to |x|; what is beyond the type may be anything, −∞ stays so.
def stored(x: Affine, name: str) -> Affine:
    """x rounded to bfloat16 or float16."""
    bits, tiny, beyond = HALF[name]
    hidden = np.isneginf(x.c) & (x.rad == 0)
    off = OWN * x.r + SAFE * 2.0**-bits * x.size + tiny
    return Affine(x.c, np.where(hidden, 0.0, np.where(x.size < beyond, off, np.inf)), x.g)


def compare(op: str, x: Affine, y: Affine) -> Affine:
    """1 or 0 where both numbers are known, or apart; else anything."""
    low, high = x.c - x.rad - (y.c + y.rad), x.c + x.rad - (y.c - y.rad)
    known = (x.rad == 0) & (y.rad == 0)
    below, above = np.where(known, x.c < y.c, high < 0), np.where(known, x.c > y.c, low > 0)
    same = known & (x.c == y.c)
    yes, no = {
        "lt": (below, above | same),
        "ge": (above | same, below),
        "gt": (above, below | same),
        "le": (below | same, above),
        "eq": (same, below | above),
        "ne": (below | above, same),
    }[op]
    c = np.where(yes, 1.0, 0.0)
    return Affine(c, np.where(yes | no, 0.0, np.inf), np.zeros((0, *c.shape)))


def choose(flag: Affine, x: Affine, y: Affine) -> Affine:
    """x where the flag is 1, y where it is 0."""
    which = flag.c != 0
    shape = np.broadcast_shapes(flag.c.shape, x.c.shape, y.c.shape)
    count = max(len(x.g), len(y.g))
    parts = [one.g if len(one.g) else np.zeros((count, *one.c.shape)) for one in (x, y)]
    r = np.where(which, x.r, y.r) + np.where(flag.r == 0, 0.0, np.inf)
    g = np.where(which, parts[0], parts[1]) if count else np.zeros((0, *shape))
    return Affine(np.where(which, x.c, y.c), r, g)


def whole(x: Affine) -> npt.NDArray[np.int64]:
    """Tokens and what is computed of them exactly."""
    known = (x.rad == 0).all() and (np.abs(x.c) < 2**24).all()
    out = x.c.astype(np.int64)
    if not known:
        return np.full(out.shape, -1)
    return out
