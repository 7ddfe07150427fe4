"""Numbers in float64 beside how far float32 can be off: derivatives by earlier errors, bounds on the rest.

``running_error`` is the arithmetic of these numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import erf, pi, sqrt

import numpy as np

from krohn.check.arithmetic.format import FORMATS, MOMENTS, ROOT
from krohn.check.ground import SAFE, Array, require

SINGLE = FORMATS["float32"]
UNIT = SAFE * SINGLE.inner.unit
"""The safety factor also covers the pass in float64: its roundings are smaller by 2^29, of the same sizes."""
OWN_PRODUCTS = 2.0**-36
"""Rounding of a few products of matrices here, relative to those of absolute values of MOST_TERMS terms."""
MOST_TERMS = 1 << 14
CURVATURE = 1.0
"""Bound on the second derivative of GELU in both forms (the largest is 0.8, at 0)."""
BENT = 16.0
"""Roundings of x in GELU: tanh or erf, of an argument with its own roundings, then two products."""
ACTIVATIONS = ("relu", "gelu_new", "gelu_pytorch_tanh", "gelu")


@dataclass(frozen=True, eq=False)
class Read:
    """LayerNorm's output at a position, to which the error of other numbers is referred: its derivative by
    the stream, whose own derivatives by all η are ``slopes``, and what it rounds.

    ``scale`` and ``shift`` bound the errors that all channels share, of the deviation and of the mean;
    ``own`` those of single channels, with what is left out by the derivative.
    """

    slopes: Array
    gain: Array
    z: Array
    deviation: Array
    own: Array
    scale: Array
    shift: Array
    radius: Array

    def back(self, rows: Array) -> Array:
        """rows @ J for rows [word, n, d]."""
        # J is (I − 1/d − z zᵀ/d) gain/deviation: the mean is subtracted, and the deviation moves along z.
        rows = rows * (self.gain / self.deviation[..., None])[:, None]
        along = dot(rows, self.z)[..., None] * self.z[:, None] / rows.shape[-1]
        out: Array = rows - rows.mean(axis=-1, keepdims=True) - along
        return out

    def fresh(self, rows: Array) -> Array:
        """Bounds on |rows @ η| for rows [word, n, d]."""
        # Mean and deviation are one number each: what they are off is added up before it is bounded.
        together = np.abs(dot(rows, self.gain * self.z)) * self.scale[:, None]
        moved = np.abs(dot(rows, np.broadcast_to(self.gain, self.z.shape))) * self.shift[:, None]
        return SAFE * (together + moved + dot(np.abs(rows), self.own)) + OWN_PRODUCTS * dot(
            np.abs(rows), self.radius
        )

    def through(self, rows: Array) -> tuple[Array, Array]:
        """Derivatives of rows @ (this output) by all η, and a bound on what they leave out."""
        return times(self.back(rows), self.slopes), self.fresh(rows)

    def word(self, row: int) -> "Read":
        """That of one word."""
        parts = {name: part[row : row + 1] for name, part in vars(self).items() if name != "gain"}
        return replace(self, **parts)


@dataclass(frozen=True, eq=False)
class Near:
    """Numbers [word, n] that float32 computes up to slopes @ η + Σ by[read] @ δ(read) + Σ loose ± off.

    Attributes:
        slopes: [word, n, position, half block, d]: derivatives by what was added to the stream there.
        by: [word, n, d]: derivatives by the outputs of LayerNorm, at this position or before.
        loose: pairs of derivatives [word, n, m] and bounds [word, m] on other errors.
        off: a bound on the rest.
        mass: Σ |derivative| · |error| if nothing cancels: what rounding in the derivatives can hide.
        near: a bound on all that they can be off, if it is known without the derivatives.
    """

    value: Array
    slopes: Array | None = None
    by: Mapping[Read, Array] = field(default_factory=dict)
    loose: tuple[tuple[Array, Array], ...] = ()
    off: Array | float = 0.0
    mass: Array | float = 0.0
    near: Array | None = None

    @property
    def lost(self) -> Array:
        """A bound on what no derivative by the stream explains."""
        made: Array = self.off + OWN_PRODUCTS * self.mass + np.zeros_like(self.value)
        return made + sum(dot(np.abs(rows), bound) for rows, bound in self.loose)

    def word(self, row: int, reads: Mapping[Read, Read]) -> "Near":
        """That of one word; derivatives that are the same for all words stay."""

        def cut(part: Array) -> Array:
            return part if len(part) == 1 else part[row : row + 1]

        by = {reads[read]: cut(rows) for read, rows in self.by.items()}
        mass = cut(np.broadcast_to(self.mass, self.value.shape))
        near = None if self.near is None else cut(self.near)
        return Near(cut(self.value), None, by, (), cut(self.lost), mass, near)


@dataclass(frozen=True, eq=False)
class Passed:
    """What a position leaves for later ones: its η, half block by half block, what LayerNorm made of it, and
    the key and the value that each head sees there.
    """

    fresh: list[Array] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    offers: list[tuple[Near, Near]] = field(default_factory=list)

    def word(self, row: int) -> "Passed":
        """That of one word of several."""
        reads = {read: read.word(row) for read in self.reads}
        fresh = [eta[row : row + 1] for eta in self.fresh]
        offers = [(key.word(row, reads), value.word(row, reads)) for key, value in self.offers]
        return Passed(fresh, [*reads.values()], offers)


def times(rows: Array, slopes: Array) -> Array:
    """[word, n, d] times [word, d, position, half, d]."""
    flat = rows @ slopes.reshape(*slopes.shape[:2], int(np.prod(slopes.shape[2:])))
    out: Array = flat.reshape(*flat.shape[:2], *slopes.shape[2:])
    return out


def dot(rows: Array, vectors: Array) -> Array:
    """[word, n, d] times [word, d]."""
    out: Array = (rows @ vectors[..., None])[..., 0]
    return out


def sum_error(size: Array, terms: int) -> Array:
    """Error of a sum of products of this total size, in any order, fused or not, and of a bias after it."""
    return SINGLE.inner.error(SAFE * size, terms + 2.0, terms + 2.0)


# Rule: LayerNorm.
# Hypotheses: the stream is off by at most ``radius``, far less than its deviation; mean and variance are as
# ``ASSUMPTIONS['layer-norm']`` has them. Conclusion: the output is off by J δ and what ``Read`` bounds.
# Why: the variance changes by a factor 1 + t with |t| ≤ far; the derivative leaves out squares of δ and t.
def normalise(
    value: Array, slopes: Array, radius: Array, norm: tuple[Array, Array], epsilon: float
) -> tuple[Read, Array]:
    """What LayerNorm makes of a stream."""
    (gain, bias), d = norm, value.shape[1]
    centred = value - value.mean(axis=1, keepdims=True)
    deviation = np.sqrt((centred * centred).mean(axis=1) + epsilon)
    z = centred / deviation[:, None]
    near = np.sqrt((radius * radius).sum(axis=1)) / deviation
    far = SAFE * (2 * near / sqrt(d) + near * near / d)
    require(far < 0.1, "LayerNorm reads a vector that is constant up to its error")
    each = (radius + radius.mean(axis=1, keepdims=True)) / deviation[:, None]
    slope = each + np.abs(z) * ((np.abs(z) * radius).sum(axis=1) / deviation / d)[:, None]
    square = (near * near / (2 * d))[:, None]
    curved = np.abs(z) * square + each * far[:, None] / 2 + (np.abs(z) + each) * 0.5 * (far * far)[:, None]
    most, least = np.abs(value) + radius, deviation * (1 - far)
    mean = SINGLE.inner.error(SAFE * most.sum(axis=1), 4.0 * (d + 8), d) / d
    # Squares overflow, and underflow, long before the channels do: the error is that of the sum itself.
    apart = np.abs(centred) + radius + (radius.mean(axis=1) + mean)[:, None]
    squares = SAFE * (apart * apart).sum(axis=1) + d * epsilon
    relative = SINGLE.inner.error(squares, d + MOMENTS, 2.0 * d) / (d * least * least) + (mean / least) ** 2
    require(relative < 0.01, "LayerNorm reads a vector that is constant up to its error")
    scale = 0.52 * relative + (ROOT + 1) * UNIT
    reach, inverse = most + most.mean(axis=1, keepdims=True), 1 / least[:, None]
    wide = reach * inverse
    # In whatever order a library subtracts, multiplies and adds: x and the mean, the gain, the bias. oneDNN
    # multiplies the gain by 1 / deviation first: this may overflow or vanish where the result does not.
    first, last = inverse * np.abs(gain), wide * (1 + np.abs(gain)) + np.abs(bias) / 2
    require(2 * np.maximum(first, last) < SINGLE.inner.largest, "LayerNorm can overflow")
    each = 5 * UNIT * wide
    tiny = 4 * SINGLE.inner.tiny * (1 + np.abs(gain)) * (1 + inverse + reach)
    made = z * gain + bias
    own = np.abs(gain) * (SAFE * curved + each) + UNIT * np.abs(made) + tiny
    own = own + np.abs(gain) * scale[:, None] * 2 * slope
    shift = mean / least
    rounded = np.abs(gain * z) * scale[:, None] + np.abs(gain) * shift[:, None] + own
    off = SAFE * (np.abs(gain) * slope + rounded)
    return Read(slopes, gain, z, deviation, own, scale, shift, off), made


# Rule: an activation.
# Hypotheses: x is off by at most ``radius``. Conclusion: so is its value, by slope · δ and ``left``.
# Why: Taylor's formula for GELU; a ReLU is linear but at 0, and off by δ there.
def bent(kind: str, x: Array, radius: Array) -> tuple[Array, Array, Array]:
    """An activation: value, slope, and what its derivative leaves out, with its rounding."""
    if kind == "relu":
        crossed = np.abs(x) <= radius
        return np.maximum(x, 0.0), (x > 0).astype(np.float64), np.where(crossed, radius, 0.0)
    if kind == "gelu":
        inside = np.asarray(np.frompyfunc(erf, 1, 1)(x / sqrt(2)), dtype=np.float64)
        slope = 0.5 * (1 + inside) + x * np.exp(-x * x / 2) / sqrt(2 * pi)
    else:
        root = sqrt(2 / pi)
        inside = np.tanh(root * (x + 0.044715 * x**3))
        slope = 0.5 * (1 + inside) + 0.5 * x * (1 - inside * inside) * root * (1 + 3 * 0.044715 * x * x)
    rounded = BENT * UNIT * (np.abs(x) + radius) + BENT * SINGLE.inner.tiny
    require(np.abs(x) + radius < 1e9, "GELU can overflow")
    return 0.5 * x * (1 + inside), slope, SAFE * 0.5 * CURVATURE * radius * radius + rounded
