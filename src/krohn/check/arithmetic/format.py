"""Numbers that the network computes, format by format, and LayerNorm of them.

``Box`` stands for numbers that the network has computed; only a ``Format`` makes one from others, and each of
its methods counts the relative error, the underflow, the overflow and the checker's own rounding. Together
with ``real`` this is the only file that names a unit roundoff, but for those about networks of others.

LayerNorm is y_i = gain_i (x_i − mean) / deviation. Mean and deviation are one number each for a position;
over all positions the deviation lies in a narrow interval if a pair of channels dominates it. So y_i =
scale_i (x_i − mean) up to a small error of its own, and a matrix reads x @ (scale W) − mean · (scale @ W).
Where the columns of scale W sum to 0, as they do for readers that subtract a channel which is always 0, the
mean drops out, and all its rounding with it. Without a gain there is no LayerNorm: y is x, and all errors
are 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from krohn.check.ground import (
    OWN,
    SAFE,
    TOO_LARGE,
    Array,
    Flags,
    Real,
    Rounding,
    ample,
    ends,
    join,
    point,
    require,
    sum_up,
    terms_of,
)

EXP = 32.0  # error of exp, in units in the last place
SINE = 16.0  # error of sine, in roundings of 1
BEND = 8.0  # error of tanh and sigmoid, in roundings of 1
ERF = 12.0  # error of erf; that of oneDNN was measured, and GELU's bound covers it (``near.BENT``)
ROOT = 4.0  # error of a square root, or of one over it, in roundings
MOMENTS = 12.0  # roundings of LayerNorm's variance, besides those of the sum
LARGE = 1 << 22  # entries of a matrix above which it is taken in parts
ASSUMPTIONS = {
    "rounding": "numbers are rounded to nearest, ties to even, and subnormal numbers are kept; no TF32",
    "sum": "sums and products are added in any order, fused or not; those of half types in float32, without "
    "reductions of lower precision",
    "left": "sums are added by index, each product rounded before, and a bias or what is written comes last",
    "half": "every tensor of a half type is rounded to it, a product with a matrix before it is added to the "
    "stream; scores and softmax are computed in float32",
    "memory": "beside a half type the memory of a linear recurrence is kept in float32, and gates, rates and "
    "updates are computed in it; what is read of the memory is rounded to the half type",
    "exp": f"exp is off by at most {EXP:.0f} units in the last place; exp(0) is 1, and exp(-x) is 0 from "
    "x = 746 (float64) or 104 (float32) on",
    "softmax": "softmax is exp(s - m) over the sum of these, m being the largest score that is seen",
    "softmax-kernel": "the largest score weighs exp(0) = 1 before the quotient; a fused attention kernel "
    "that scales scores inside a fused multiply-add may weigh it otherwise, and is not covered",
    "sine": f"sine is off by at most {SINE:.0f} roundings of 1",
    "tanh": f"tanh is off by at most {BEND:.0f} roundings of 1, and perhaps neither monotone nor within 1",
    "sigmoid": f"sigmoid is off by at most {BEND:.0f} roundings of 1, perhaps neither monotone nor in 0..1",
    "gelu": "GELU is x / 2 times 1 + tanh or 1 + erf, each operation rounded; erf is off by at most "
    f"{ERF:.0f} roundings of 1",
    "saturation": "tanh is 0 at 0 and the sigmoid 1/2; from |x| = 752 (float64) or 110 (float32) on tanh is "
    "exactly -1 or 1, and the sigmoid exactly 0 or 1",
    "tokens": "the input is the prompt, then the token of each letter, by the numbers in the configuration; "
    "no tokenizer is covered",
    "loaded": "the network is loaded in the claim's float type; config.json names another one, or none",
    "root": f"a square root, or one over it, is off by at most {ROOT:.0f} roundings",
    "turn": "in z / max(1, |z|) the root and the quotients of both parts are rounded correctly; products "
    "with a reciprocal, as libraries divide complex numbers, are not covered",
    "delta": "a key of length 0 or 1 is kept; exp(log sigmoid) is 0 or 1 where the sigmoid is, else as near; "
    "a step adds k·(rate·(v − k·S)) or k·(rate·v − (rate·k)·S), without a rate k·(v − w·S)",
    "letters": "a word is read one letter after the other, and each letter step by step: forms that compute "
    "several letters or steps at once, as in training, are not covered",
    "chunks": "a word is read one letter after the other, or in chunks of at most 64 steps: several letters "
    "at once, as in training",
    "loops": "a word of T letters is read in ceil(log2 T) loops, one at least",
    "windows": "or letter by letter: windows of 1, 2, 4, ... letters, two of one size are merged, and for an "
    "answer all from the oldest to the newest",
    "graph": "the module runs the operators of the graph, one word at a time, and nothing but its tokens "
    "decides what it does: state that it keeps in Python between runs is not covered",
    "layer-norm": "mean and variance are as accurate as two passes over the channels in any order make them; "
    f"for running updates the mean may err 4 times as much, and the variance by {MOMENTS:.0f} roundings more",
}
"""What is assumed of the machine and its libraries, by name. No rule relies on anything else."""


@dataclass(frozen=True)
class Box:
    """Numbers that the network has computed: each is in ``part`` plus something of size at most ``beyond``.

    The part beyond (counters, position codes) is tracked elsewhere; but rounding depends on the whole
    number, so every operation takes both.
    """

    part: Real
    beyond: Array

    @property
    def size(self) -> Array:
        """The largest absolute value of the whole number."""
        return self.part.size + self.beyond

    def __getitem__(self, key: Any) -> "Box":
        return Box(self.part[key], np.broadcast_to(self.beyond, self.part.lo.shape)[key])

    def kept(self, flags: Array) -> "Box":
        """The product with 0 or 1."""
        return Box(Real(self.part.lo * flags, self.part.hi * flags), self.beyond * flags)


def whole(part: Real) -> Box:
    """Numbers that are all in their interval."""
    return Box(part, np.zeros(np.shape(part.lo)[-1:] or ()))


@dataclass(frozen=True)
class Format:
    """Sums, scores and softmax are computed with ``inner``; every tensor is then rounded to ``outer``.

    ``vanish``: exp(-x) is 0 from here on; ``normal``: below it exp may return 0.
    """

    name: str
    inner: Rounding
    outer: Rounding
    vanish: float
    normal: float

    @property
    def coarse(self) -> bool:
        """Whether storing rounds again."""
        return self.outer.bits < self.inner.bits

    def rounding(self, size: Array) -> Array:
        """How far off storing is: the explicit term, for numbers of this size, which must not overflow."""
        if not self.coarse:
            return np.zeros_like(size)
        require(size <= self.outer.largest, "a number can overflow", TOO_LARGE)
        return SAFE * self.outer.unit * size + self.outer.tiny

    def stored(self, box: Box) -> Box:
        """A tensor. Rounding is monotone: the ends of a whole number are rounded, and so is all between.

        With a part beyond the interval, its ends do not bound the rounding: the explicit term is used.
        """
        part = box.part
        if self.coarse:
            # Rounding both ends is sharper than the explicit term: a known number stays known.
            alone = np.broadcast_to(box.beyond == 0, part.lo.shape)
            cast = Real(self.outer.cast(part.lo), self.outer.cast(part.hi))
            part = cast.where(alone, part.widen(self.rounding(box.size)))
        made = Box(part, box.beyond)
        require(made.size <= self.outer.largest, "a number can overflow", TOO_LARGE)
        return made

    def add(self, left: Box, right: Box) -> Box:
        """One addition of tensors; exact where one is 0, or where both are known and the sum fits."""
        made, size = left.part + right.part, left.size + right.size
        single = (left.size == 0) | (right.size == 0)
        known = left.part.known & right.part.known & made.known & (left.beyond == 0) & (right.beyond == 0)
        # Rounding to nearest returns a sum that is itself a number of the format.
        fits = known & (self.inner.cast(made.lo) == made.lo)
        off = self.inner.error(size, np.where(single | fits, 0.0, 1.0), 0.0)
        return self.stored(Box(made.widen(off), left.beyond + right.beyond))

    def off_sum(self, left: Array, right: Array) -> Array:
        """How far one addition of tensors of these sizes is off; exact where one of them is 0."""
        both = (left != 0) & (right != 0)
        return np.where(both, self.inner.error(left + right, 1.0, 0.0) + self.rounding(left + right), 0.0)

    def off_stores(self, size: Array, terms: Array | float, computed: Array | float = 0.0) -> Array:
        """How far off a sum is by what half types may store on the way to it; ``size``: of all its terms.

        These are the partial sums, one less than the terms, and the terms that are ``computed``. Rounded to
        nearest, n − 1 additions in any order are off by at most n − 1 roundings of ``size``, however many
        they are; twice that covers computed terms and the inner type. No store may overflow.
        """
        off = 2 * np.maximum(terms + computed - 1, 0) * self.rounding(size)
        require(size + off <= self.outer.largest, "a number can overflow", TOO_LARGE)
        return off

    def gathered(self, parts: Sequence[Box]) -> Box:
        """The sum of several tensors, in any order."""
        made, beyond, size, pair = parts[0].part, parts[0].beyond, parts[0].size, parts[0]
        count = (size != 0).astype(np.float64)
        for part in parts[1:]:
            made, beyond, size = made + part.part, beyond + part.beyond, size + part.size
            count, pair = count + (part.size != 0), self.add(pair, part)
        off = self.inner.error(size, np.maximum(count - 1, 0), 0.0) + self.off_stores(size, count)
        total = self.stored(Box(made.widen(off), beyond))
        # Two summands that are not 0 have one sum, rounded once.
        return Box(pair.part.where(count <= 2, total.part), beyond) if self.coarse else total

    def linear(self, box: Box, weight: Array, bias: Array | None = None) -> Box:
        """x @ weight + bias; with half types the product may be stored before the bias comes, or not."""
        return self.measured(box, weight, np.zeros(weight.shape[1]) if bias is None else bias)[0]

    def measured(self, box: Box, weight: Array, bias: Array) -> tuple[Box, Array]:
        """``linear``; and how far it is from x @ weight + bias in real numbers, for all x in the box."""
        if weight.size > LARGE and weight.shape[1] > 1:  # in halves, without rows of zeros: bounds memory
            rows, half = np.flatnonzero(weight.any(axis=1)), weight.shape[1] // 2
            sides = ((weight[rows, part], bias[part]) for part in (slice(half), slice(half, None)))
            halves, errors = zip(*(self.measured(box[:, rows], *side) for side in sides), strict=True)
            beyond = np.concatenate([made.beyond for made in halves], axis=1)
            return Box(join([made.part for made in halves], 1), beyond), np.concatenate(errors, axis=1)
        off, (lo, hi) = self.off_product(box.size, weight, bias), ends(box.part, weight)
        sums, beyond = Real(lo + bias - off, hi + bias + off).outward(off), box.beyond @ np.abs(weight)
        made = self.stored(Box(sums, beyond))
        if not self.coarse:
            return made, off
        if bias.any():
            # Stored before the bias is added, or after it: a library may do either.
            apart = self.add(self.linear(box, weight), whole(point(bias).spread(*sums.lo.shape)))
            made = Box(made.part.or_in(apart.part), beyond)
        return made, self.off_linear(box.size, weight, bias)

    def off_product(self, size: Array, weight: Array, bias: Array) -> Array:
        """How far x @ weight + bias is off before it is stored, for |x| up to ``size``."""
        return self.inner.error(size @ np.abs(weight) + np.abs(bias), *terms_of(size, weight, bias))

    def off_linear(self, size: Array, weight: Array, bias: Array) -> Array:
        """How far ``linear`` is from x @ weight + bias in real numbers, for |x| up to ``size``."""
        off, most = self.off_product(size, weight, bias), size @ np.abs(weight)
        if not self.coarse:
            return off
        product = self.off_product(size, weight, np.zeros(len(bias)))
        product = product + self.rounding(most + product)
        apart = product + self.off_sum(most + product, np.abs(bias))
        return np.maximum(off + self.rounding(most + np.abs(bias) + off), apart)

    def sine(self, box: Real) -> Real:
        """sin of computed numbers: near the value at the middle, at most 1 in size up to its error."""
        middle = (box.lo + box.hi) / 2
        # This checker rounds the sum, of up to twice the size, before it is halved, and one difference, of up
        # to twice the size: three units of the size. (Sine moves two numbers no farther apart.)
        far = np.maximum(box.hi - middle, middle - box.lo) + 4 * OWN.unit * box.size
        far = far + SINE * (self.inner.unit + OWN.unit) + self.rounding(np.ones_like(far))
        made, top = np.sin(middle), 1 + SINE * self.inner.unit + self.rounding(np.ones(1))
        return Real(np.maximum(made - far, -top), np.minimum(made + far, top)).outward(far)

    def tanh(self, box: Real) -> Real:
        """tanh of computed numbers."""
        return self._bent(box, np.tanh(box.lo), np.tanh(box.hi), (-1.0, 0.0, 1.0))

    def sigmoid(self, box: Real, *, half: bool = True) -> Real:
        """1 / (1 + exp(-x)) of computed numbers; without ``half``, as exp of its logarithm: inexact at 0."""
        lo, hi = (0.5 + 0.5 * np.tanh(0.5 * side) for side in (box.lo, box.hi))
        return self._bent(box, lo, hi, (0.0, 0.5 if half else None, 1.0))

    def _bent(self, box: Real, lo: Array, hi: Array, ends: tuple[float, float | None, float]) -> Real:
        """An increasing function from its values at both ends; exact far below 0, at 0 and far above."""
        off = BEND * (self.inner.unit + 2 * OWN.unit) + self.rounding(np.ones_like(lo)) + OWN.tiny
        made = Real(lo - off, hi + off).outward(off)
        far = self.vanish + 6  # from here on tanh and sigmoid are constant
        for where, value in zip((box.hi <= -far, box.size == 0, box.lo >= far), ends, strict=True):
            made = made if value is None else point(np.full_like(lo, value)).where(where, made)
        return made

    def scores(self, queries: Real, keys: Real, root: float = 1.0) -> Real:
        """Tensors [t, k] and [i, k]: the computed score of every pair [t, i], divided by ``root``.

        The product may be divided, or multiplied by 1 / root, or queries and keys by its own root before.
        Where queries are not known, query · middle key is subtracted, one number per query: only differences
        of scores matter, so the error of a query is multiplied by differences of keys only.
        """
        width = float(queries.lo.shape[-1])
        middles, radii = zip(*(ball(side) for side in (queries, keys)), strict=True)
        sizes = [np.abs(middle) + radius for middle, radius in zip(middles, radii, strict=True)]
        size, apart = sizes[0] @ sizes[1].T, middles[1]
        if radii[0].any():
            apart = middles[1] - (middles[1].min(axis=0) + middles[1].max(axis=0)) / 2
        centre = middles[0] @ apart.T
        radius = np.abs(middles[0]) @ radii[1].T + radii[0] @ (np.abs(apart) + radii[1]).T
        full = all(side.all() for side in sizes)  # no product is of 0: fewer arrays of all pairs
        there = [(side != 0).astype(np.float64) for side in sizes]
        terms = width if full else there[0] @ there[1].T
        # Query and key, each times the root of a rounded root: two roundings of the factor, one of a product.
        once = 0.0 if root == 1 else 6.0
        off = self.inner.error(size, width + 1 + once, terms + once)  # no terms: size 0, and off is 0
        if root != 1:  # underflow of queries and keys that are divided first
            off = off + self.inner.tiny * (sizes[0].sum(axis=1)[:, None] + sizes[1].sum(axis=1))
        # This checker's own sums, of middles, radii and differences of keys, are at most 6 times as large.
        most = sizes[0] @ sizes[1].max(axis=0)
        own = OWN.error(8 * most[:, None], width + 4, 4 * width)
        if not full:
            own = np.where(terms > 0 if apart is middles[1] else most[:, None] > 0, own, 0.0)
        far = radius + off + own
        made = Real(centre - far, centre + far).outward(own)
        return made if root == 1 else made * point(1 / root)

    def finite(self, size: Array, additions: float) -> Array:
        """Refuses unless tensors of this size stay finite after ``additions`` additions in any order."""
        off = self.inner.error(size, additions, 0.0) + additions * self.rounding(size)
        require(size + off <= self.outer.largest, "a number can overflow", TOO_LARGE)
        return size + off

    def finite_average(self, values: Array, count: float) -> Array:
        """The size of stored averages of values of these sizes, over up to ``count`` positions.

        Computed weights add up to 1 except for their own rounding, since they are divided by their computed
        sum; stored weights are rounded once more. A kernel may also sum all products first and then divide.
        """
        # count − 1 additions in the denominator, the quotient or a reciprocal and a product, a product and
        # count − 1 additions in the average: 2·count + 1 roundings. The rest is to spare.
        self.inner.error(count * values, 3 * count + 8, count)
        above = SAFE * (np.expm1((3 * count + 8) * np.log1p(self.inner.unit)) + 8 * OWN.unit)
        above = 1 + above + (SAFE * self.outer.unit + count * self.outer.tiny if self.coarse else 0.0)
        return self.finite(above * values + count * self.inner.tiny * (values != 0), 1.0)

    def weights(self, scores: Real, seen: Flags, count: Array) -> Real:
        """Softmax along the last axis for computed scores; entry i stands for ``count[..., i]`` positions.

        s - max rounds once, exp is good to EXP, then come the sum and the quotient. An addition errs by u
        times a partial sum; all partial sums of a tree add up to each term times its depth, and c of the n
        terms have at most the depths n, n - 1, ... n - c + 1.
        """
        # Any common shift cancels in the quotient: the largest upper end keeps exp from overflowing here.
        top = np.where(seen, scores.hi, -np.inf).max(axis=-1, keepdims=True)
        own = 16 * OWN.unit * (1 + np.where(seen, scores.size, 0.0).max(axis=-1, keepdims=True))
        least = np.where(seen, np.exp(np.minimum(scores.lo - top, 0.0) - own), 0.0)
        most = np.where(seen, np.exp(np.minimum(scores.hi - top, 0.0) + own), 0.0)
        everything = (seen * count).sum(axis=-1, keepdims=True)
        below = (least * count).sum(axis=-1, keepdims=True)
        above = (most * count).sum(axis=-1, keepdims=True)
        depths = (most * count * (everything - (count - 1) / 2)).sum(axis=-1, keepdims=True)
        depths = np.minimum(depths / below, everything)
        reach = top - np.where(seen, scores.lo, np.inf).min(axis=-1, keepdims=True)
        relative, absolute = self.weight_error(everything, reach, depths)
        own = 16 * (count.shape[-1] + 2) * OWN.unit
        # A weight rises with its own score and falls with every other: both ends are reached at corners.
        others = above * (1 + own) - most, np.maximum(below * (1 - own) - least, 0.0)
        low = least / (others[0] + least) * (1 - relative - own) - absolute
        high = most / (others[1] + most) * (1 + relative + own) + absolute
        alone = seen & (everything == 1)  # exp(0) / exp(0)
        low, high = np.where(alone, 1.0, np.maximum(low, 0.0)), np.where(alone, 1.0, high)
        require(np.isfinite(np.where(seen, high - low, 0.0)), "softmax weights are not numbers", TOO_LARGE)
        return Real(np.where(seen, low, 0.0), np.where(seen, high, 0.0))

    def weight_error(self, count: Array, reach: Array, additions: Array) -> tuple[Array, Array]:
        """Relative and absolute error of a weight; ``additions``: those of the sum, in units of its size.

        Scores further apart than ``vanish`` have weights below the least normal number, computed and true.
        """
        far = np.minimum(reach, self.vanish)
        growth = np.exp((count + 1) * np.log1p(self.inner.unit))
        # s − m errs by u times its size, and so does e to it; a unit in the last place is two roundings at
        # most. Both stand above the bar and below it. Then the quotient, or a reciprocal and a product; 4 are
        # to spare.
        terms = SAFE * (self.inner.unit + OWN.unit) * (2 * far + 4 * EXP + additions * growth + 6)
        # All scores equal: exp(0) = 1, an exact count, and one quotient.
        equal = (reach == 0) & (count < 2.0**self.inner.bits)
        terms = np.expm1(np.where(equal, SAFE * (self.inner.unit + OWN.unit), terms))
        coarse = (SAFE * self.outer.unit, self.outer.tiny) if self.coarse else (0.0, 0.0)
        # Below the least normal number exp may be any number up to it. The sum is at least nearly 1: in the
        # numerator this moves a weight by one such number, in the sum by ``count`` of them, and the true
        # weight and the quotient may be below it, too: count + 3, and the factors are near 1.
        return ample(terms) + coarse[0], 4 * (count + 1) * self.normal + coarse[1]

    def averaged(self, size: Array, largest: Array, count: Array, terms: float) -> Array:
        """Error of Σ w v with ``count`` nonzero terms of at most ``largest``; ``size`` is their total size.

        Two bounds hold, so the smaller does. A term passes ``terms`` roundings. And a partial sum of j terms
        is at most j·largest: over any tree these add up to at most 2 + 3 + … + count, as in a chain, and with
        the products to less than count(count+3)/2. Computed partial sums have errors themselves: ``growth``.
        """
        off = self.inner.error(size, terms + 1.0, terms)
        growth = np.exp((count + 1) * np.log1p(self.inner.unit))
        tree = SAFE * (self.inner.unit + 4 * OWN.unit) * growth * largest * count * (count + 3) / 2
        tree = tree + terms * (self.inner.tiny + OWN.tiny)
        out: Array = np.where(np.isfinite(tree), np.minimum(off, tree), off)
        return out

    def mixed(self, weights: Real, values: Real) -> Real:
        """The weighted values of a head, from weights [t, n] and values [n, v]."""
        products = weights.reshape(*weights.lo.shape, 1) * values.reshape(1, *values.lo.shape)
        size, count = products.size.sum(axis=1), float(weights.lo.shape[1])
        single = (
            weights.known.all(axis=1) & (weights.hi.max(axis=1) == 1) & ((weights.hi != 0).sum(axis=1) == 1)
        )
        off = np.where(single[:, None], 0.0, self.inner.error(size, count + 1, count))
        return self.stored(whole(products.total(1).widen(off))).part

    def copied(self, size: Array, spread: Array, leak: float, count: int) -> Array:
        """Error of a head that gives all but ``leak`` of its weight to one position, before it is stored.

        Its weights are stored: each changes by a rounding, and together they are about 1.
        """
        relative, absolute = self.weight_error(*map(np.asarray, (float(count), self.vanish, float(count))))
        # What leaks reads a value at most ``spread`` away from the one that is copied.
        other = leak * (1 + float(relative)) * (1 + 8 * OWN.unit) * spread
        # A stored weight, a product and count − 1 additions are count + 1 roundings; a kernel that divides at
        # the end has those of the denominator, too.
        off = self.inner.error(size, 2.0 * count + 8, 2.0 * count)
        total = SAFE * (off + count * float(absolute) * size) + other
        return total + self.rounding(size + total)

    def certain(self, gap: float) -> bool:
        """Whether a lead in scores is so large that the weights are exactly 1 and 0."""
        return bool(gap > self.vanish * (1 + 16 * self.inner.unit) + 1)

    def stores(self, weights: Array, name: str) -> Array:
        """A matrix as the dtype holds it."""
        parts = np.array_split(weights, 1 + weights.size // LARGE)  # bounds memory: a file may be large
        same = all(np.array_equal(self.outer.cast(part), part) for part in parts)
        made = weights if same else np.concatenate([self.outer.cast(part) for part in parts])
        require(np.isfinite(made), f"a number of {name} does not fit into {self.name}", TOO_LARGE)
        if not self.coarse:
            return made
        # Some libraries convert through the inner type: both ways must give the same number.
        same = self.outer.cast(self.inner.cast(weights)) == made
        require(same, f"a number of {name} is rounded in two ways", f"round the weights to {self.name} first")
        return made


def ball(side: Real) -> tuple[Array, Array]:
    """The middle of each interval, and how far its ends are from it."""
    middle: Array = (side.lo + side.hi) / 2
    radius: Array = np.maximum(side.hi - middle, middle - side.lo)
    return middle, np.where(side.known, 0.0, radius + 4 * OWN.unit * side.size)


_SINGLE = Rounding(24, 2.0**-149, 3.4e38)
FORMATS = {
    "float64": Format("float64", OWN, OWN, 746.0, 2.0**-1022),
    "float32": Format("float32", _SINGLE, _SINGLE, 104.0, 2.0**-126),
    "bfloat16": Format("bfloat16", _SINGLE, Rounding(8, 2.0**-133, 3.38e38), 104.0, 2.0**-126),
    "float16": Format("float16", _SINGLE, Rounding(11, 2.0**-24, 65504.0), 104.0, 2.0**-126),
}


@dataclass(frozen=True)
class Norm:
    """y_i is within ``error(x)`` of ``scale_i`` (x_i − m), with one m per position, |m| ≤ ``mean``.

    m is not the mean itself: it also absorbs how far 1 / deviation is from its value in ``scale``.
    """

    fmt: Format
    scale: Array
    alike: Array  # error per size of x_i, from the deviation; its effect on the mean goes into m
    own: Array  # error per size of x_i − mean, from rounding
    faint: Array  # absolute error: products that underflow
    mean: float

    def __getitem__(self, channels: Any) -> "Norm":
        scale, alike, own, faint = (part[channels] for part in (self.scale, self.alike, self.own, self.faint))
        return Norm(self.fmt, scale, alike, own, faint, self.mean)

    def error(self, size: Array) -> Array:
        """How far y_i can be off where |x_i| is at most this."""
        return self.alike * size + self.own * (size + self.mean) + self.faint

    def shift(self, weight: Array) -> tuple[Array, Array]:
        """Bounds on what the mean adds to every channel, and to each column of y @ weight."""
        return np.abs(self.scale) * self.mean, self.mean * (point(self.scale) @ weight).size

    def apart(self, part: Real, beyond: Array) -> Box:
        """y without the mean, which goes to the part beyond."""
        made = (part * point(self.scale)).widen(self.error(part.size + beyond))
        return Box(made, np.abs(self.scale) * (beyond + self.mean))

    def linear(self, box: Box, weight: Array, bias: Array | None = None) -> Box:
        """y @ weight + bias. The part beyond x becomes its contribution to x @ (scale W)."""
        made = self.fmt.linear(self.apart(box.part, box.beyond), weight, bias)
        wide = (np.abs(self.scale) * box.beyond) @ np.abs(weight)
        return Box(made.part.widen(self.shift(weight)[1]), wide)


def normalise(fmt: Format, stream: Real, gain: Array | None, epsilon: float) -> Norm:
    """LayerNorm on all vectors of the stream; the identity if there is no gain."""
    if gain is None:
        nothing = np.zeros(len(stream))
        return Norm(fmt, np.ones(len(stream)), nothing, nothing, nothing, 0.0)
    mean, inverse = spread(fmt, stream, epsilon)
    return Norm(fmt, *scale_channels(fmt, stream.size, mean, gain, inverse))


def spread(fmt: Format, stream: Real, epsilon: float) -> tuple[float, Real]:
    """LayerNorm's statistics if channel i is in stream[i]: a bound on the mean, and 1 / deviation.

    The variance is Σx²/d − mean². It may be computed in two passes, in any order of sums: x − mean, the
    square, the quotient and ε pass 6 roundings besides those of the sum. Or by the updates of Welford and
    Chan, as torch does: MOMENTS leaves room for them, and the tests compare it with torch.
    """
    require(not fmt.coarse, "LayerNorm is proved in float32 and float64 only")
    d, sizes = float(len(stream)), stream.size
    total, whole = stream.total(0), sum_up(sizes)
    # Four times a plain sum's roundings, as ``ASSUMPTIONS['layer-norm']`` grants to running updates.
    off = ample(fmt.inner.error(whole, 4 * (d + 8), d) / d)
    mean = ample(total.size / d)
    squares = (stream * stream).total(0).hi
    # A channel whose sign is known has a square of at least the nearer end's; any other may be 0.
    least = np.where(stream.lo * stream.hi > 0, np.minimum(np.abs(stream.lo), np.abs(stream.hi)), 0.0)
    below = (point(least) * point(least)).total(0).lo - ample(d * mean * mean)
    above = squares + ample(d * off * off)
    centred = ample((sizes + mean + off) ** 2)
    slack = fmt.inner.error(sum_up(centred) + d * epsilon, MOMENTS, 2 * d) + positive_sum(fmt, centred)
    low, high = (below - slack) / d + epsilon, (above + slack) / d + epsilon
    require(low > 0, "LayerNorm may divide by 0", "let a pair of channels be far larger than the others")
    few = ROOT * (fmt.inner.unit + OWN.unit)
    return float(mean + off), Real((1 - few) / np.sqrt(high), (1 + few) / np.sqrt(low))


def positive_sum(fmt: Format, most: Array) -> Array:
    """Error of a sum of terms from 0 to ``most``, in any order, if few of them are large.

    Let k terms be large. An addition of two partial sums that both hold large terms errs by at most u times
    the total; there are k − 1 of these. An addition of a partial sum without large terms errs by at most
    that partial sum, since the other summand is itself a number of the format. Together these errors are at
    most the computed sum of the small terms, which is barely more than their exact sum.
    """
    falling = np.sort(most)[::-1]
    rest = np.concatenate([np.cumsum(falling[::-1])[::-1], np.zeros(1)])
    large = np.arange(len(rest), dtype=np.float64)
    bounds = SAFE * ((large + 1) * (fmt.inner.unit + OWN.unit) * rest[0] + SAFE * rest)
    out: Array = ample(bounds.min())
    return out


def scale_channels(
    fmt: Format, size: Array, mean: float, gain: Array, inverse: Real
) -> tuple[Array, Array, Array, Array, float]:
    """The fields of ``Norm`` for |x| up to ``size``: the factor of each channel; its error from the
    deviation; the rounding error, per size of x − mean; the loss to underflow; and a bound on what is
    subtracted from x: mean · inverse / (the number chosen for inverse).

    Any number may be chosen for ``inverse``; it is the middle.
    (x − mean) · inverse · gain, or (x · inverse − mean · inverse) · gain: at most 4 roundings each. oneDNN
    takes inverse · gain first, which may overflow or vanish where the result does not.
    """
    reach = size + mean
    most = reach * inverse.hi * (1 + np.abs(gain)) + reach + inverse.hi * np.abs(gain)
    require(most < fmt.inner.largest / 2, "LayerNorm can overflow", TOO_LARGE)
    # How far 1 / deviation can be from this choice is an error relative to x (``alike``), and for the mean it
    # is absorbed into m, which need not be the mean itself.
    chosen = float(inverse.lo + inverse.hi) / 2
    scale = gain * chosen
    alike = ample((inverse - point(chosen)).size / chosen) * np.abs(scale)
    own = 5 * (fmt.inner.unit + 4 * OWN.unit) * ample(np.abs(gain) * inverse.hi)
    faint = np.where(gain != 0, 4 * (1 + np.abs(gain) + reach) * fmt.inner.tiny, 0.0)
    return scale, alike, own, faint, float(ample(mean * inverse.hi / chosen))
