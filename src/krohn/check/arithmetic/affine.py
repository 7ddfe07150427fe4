"""Affine arithmetic: errors with a common source cancel when matrices add them up.

x = centre + Σ_e tied[e]·e ± own: one noise symbol e in [−1, 1] per channel of the stream before, and ``own``,
a bound on the error of the unit alone (its rounding, its unknown sign). ``box`` bounds the same numbers by
plain intervals, and in every row x is a multiple of ``grain``, a power of two (0: nothing is known). All
three bounds hold, so their intersection does. Sums of multiples of a grain that are small enough for the
format are exact, whatever the numbers are.
"""

from dataclasses import dataclass

import numpy as np

from krohn.check.arithmetic.format import Box, Format, whole
from krohn.check.arithmetic.real import (
    Array,
    Flags,
    Integers,
    Real,
    affine_error,
    ample,
    dividing,
    lowest_bit,
    point,
    sum_up,
)
from krohn.check.transformer.layer_norm import Norm


@dataclass(frozen=True)
class Affine:
    """Rows × units; ``tied``: symbols × rows × units; ``grain``: units."""

    box: Real
    centre: Array
    tied: Array
    own: Array
    grain: Array

    @property
    def reach(self) -> Array:
        """The largest absolute value that the form allows."""
        out: Array = np.abs(self.centre) + np.abs(self.tied).sum(axis=0) + self.own
        return out

    def shared(self) -> "Affine":
        """The box, narrowed to what form and grain allow; a number that is known has no error."""
        radius = sum_up(self.tied, self.own)
        form = Real(self.centre, self.centre).widen(radius)
        box = snap(self.box.where(self.box.known, self.box.within(form)), self.grain)
        centre, own = np.where(box.known, box.lo, self.centre), np.where(box.known, 0.0, self.own)
        return Affine(box, centre, self.tied * ~box.known, own, self.grain)

    def linear(self, fmt: Format, weight: Array, bias: Array, norm: Norm | None = None) -> "Affine":
        """x @ weight + bias as a form, with the rounding errors of the network and of this checker.

        After a LayerNorm the form leaves out the mean; what the mean contributes to each sum is added here.
        """
        box = whole(self.box)
        if norm is not None:
            beyond, shift = norm.shift(weight)
            box = Box(self.box, beyond)
        computed, off = fmt.measured(box, weight, bias)
        made, sizes = computed.part, np.abs(weight)
        unit = np.minimum(dividing(self.grain, weight), lowest_bit(bias))
        # Every partial sum, in whatever order, is a multiple of ``unit``, and no larger than all terms are.
        exact = fmt.outer.holds(unit, ample(self.box.size @ sizes + np.abs(bias)))
        # LayerNorm divides: its outputs are multiples of nothing.
        exact = exact & (norm is None)
        off = np.where(exact, 0.0, off)  # no partial sum is rounded, and no store
        size = self.reach @ sizes
        own = np.where(off + size > 0, affine_error(size + np.abs(bias), len(weight)), 0.0)
        own = own + ample(self.own @ sizes)  # own errors of inputs add to the sum's own error
        if norm is not None:
            made, own = made.widen(shift), ample(own + shift)
        centre, grain = self.centre @ weight + bias, np.where(exact.all(axis=0), unit, 0.0)
        return Affine(made, centre, self.read(weight), off + own, grain).shared()

    def read(self, weight: Array) -> Array:
        """The coefficient of each symbol in x @ weight."""
        symbols, rows, units = self.tied.shape
        return (self.tied.reshape(symbols * rows, units) @ weight).reshape(symbols, rows, weight.shape[1])

    def kept(self, flags: Array, place: Integers) -> "Affine":
        """The product of the units at some places with 0 or 1."""
        some = np.flatnonzero(flags)

        def spread(part: Array, other: float = 0.0) -> Array:
            made = np.full((*part.shape[:-1], len(flags)), other)
            made[..., some] = part[..., place[some]]
            return made

        box, grain = Real(spread(self.box.lo), spread(self.box.hi)), spread(self.grain, np.inf)
        return Affine(box, spread(self.centre), spread(self.tied), spread(self.own), grain)

    def activate(self, fmt: Format, sine: Flags) -> "Affine":
        """ReLU, or the sine where ``sine`` says so."""
        on, off = (self.box.lo >= 0) & ~sine, (self.box.hi <= 0) & ~sine
        box = self.box.positive()
        if sine.any():
            box = fmt.sine(self.box).where(np.broadcast_to(sine, on.shape), box)
        # A unit that is on all over its box is linear there and keeps its symbols. One of unknown sign,
        # or a sine, forgets them: it is its middle, up to an error of its own.
        middle = (box.lo + box.hi) / 2
        unsure = np.where(on | off, 0.0, ample(np.maximum(box.hi - middle, middle - box.lo)))
        centre = np.where(on, self.centre, np.where(off, 0.0, middle))
        grain = np.where(sine, 0.0, self.grain)
        return Affine(box, centre, self.tied * on, np.where(on, self.own, unsure), grain)

    def paired(self, made: "Affine", pairs: Integers, sine: Flags) -> "Affine":
        """``made`` of these sums, where of a pair relu(s), relu(s') the first unit stands for s; the second
        bounds how far s' is from −s. See ``mirrors``.
        """
        first, second = pairs[:, 0], pairs[:, 1]
        unsure = (self.box.lo < 0) & (self.box.hi > 0) & ~sine
        unsure = unsure[:, first] & unsure[:, second]
        if not unsure.any():
            return made
        # |s + s'| bounds what the pair loses if the first unit counts as s and the second as 0.
        tied, centre = (part[..., first] + part[..., second] for part in (self.tied, self.centre))
        gap = ample(sum_up(tied, centre, self.own[:, first], self.own[:, second]))
        use = unsure & (gap < made.own[:, first] + made.own[:, second])
        centre, tied, own = made.centre.copy(), made.tied.copy(), made.own.copy()
        centre[:, first] = np.where(use, self.centre[:, first], centre[:, first])
        tied[..., first] = np.where(use, self.tied[..., first], tied[..., first])
        own[:, first] = np.where(use, self.own[:, first], own[:, first])
        centre[:, second], own[:, second] = (
            np.where(use, 0.0, centre[:, second]),
            np.where(use, gap, own[:, second]),
        )
        return Affine(made.box, centre, tied, own, made.grain)

    def leads(self, rows: Integers, units: Integers) -> Array:
        """How far each row's chosen unit is above every unit, at least: by the boxes, or by the form."""
        own = [part[..., rows, units][..., None] for part in (self.centre, self.tied, self.own)]
        apart = point(own[0]) - point(self.centre)
        radius = sum_up(own[1] - self.tied, own[2] + self.own)
        boxes = point(self.box.lo[rows, units][:, None]) - point(self.box.hi)
        return np.maximum((apart - point(ample(radius))).lo, boxes.lo)

    def normalise(self, norm: Norm) -> "Affine":
        """LayerNorm of these numbers, without the mean; its error is added to ``own``."""
        own = ample(self.own * np.abs(norm.scale) + norm.error(self.box.size))
        box = norm.apart(self.box, np.zeros(1)).part
        return Affine(box, self.centre * norm.scale, self.tied * norm.scale, own, np.zeros(len(norm.scale)))

    def plus(self, fmt: Format, stream: "Affine") -> "Affine":
        """One addition, of numbers with the same symbols: errors that they share can cancel."""
        if not stream.box.size.any():
            return self
        box = fmt.add(whole(stream.box), whole(self.box)).part
        grain = np.minimum(self.grain, stream.grain)
        exact = fmt.outer.holds(grain, ample(stream.box.size + self.box.size))
        off = np.where(exact, 0.0, fmt.off_sum(stream.box.size, self.box.size))
        centre, tied = self.centre + stream.centre, self.tied + stream.tied
        old = self.own + stream.own
        own = affine_error(np.abs(centre) + np.abs(tied).sum(axis=0) + old, len(grain))
        grain = np.where(exact.all(axis=0), grain, 0.0)
        return Affine(box, centre, tied, old + 2 * off + own, grain).shared()


def entering(box: Real, grain: Array | float = 0.0) -> Affine:
    """The form of inputs: one symbol for each that is not known, and is a multiple of ``grain`` then."""
    centre = np.where(box.known, box.lo, (box.lo + box.hi) / 2)
    radius = np.where(box.known, 0.0, ample(np.maximum(box.hi - centre, centre - box.lo)))
    every = np.where(box.known, lowest_bit(box.lo), grain).min(axis=0, initial=np.inf)
    return Affine(box, centre, diagonal(radius), np.zeros_like(radius), every)


def snap(box: Real, grain: Array) -> Real:
    """The multiples of the grain in a box: quotients by a power of two are exact, up to 2^52 of them."""
    some = (grain > 0) & np.isfinite(grain) & ~box.known
    some = some & (box.size < np.where(some, grain, 1.0) * 2.0**52)
    step = np.where(some, grain, 1.0)
    lo, hi = np.ceil(box.lo / step) * step, np.floor(box.hi / step) * step
    return Real(lo, hi).where(some & (lo <= hi), box)


def mirrors(into: Array, out: Array) -> Integers:
    """Pairs of units with opposite weights, before and after: x = relu(x) − relu(−x).

    Soundness needs only the output weights: relu(s) − relu(s') is within |s + s'| of s, for any s and s'.
    """
    waiting: dict[bytes, int] = {}
    found = []
    for unit, row in enumerate(np.concatenate([into.T, out], axis=1)):
        other = waiting.pop((0.0 - row).tobytes(), None)
        if other is None:
            waiting[(0.0 + row).tobytes()] = unit
        else:
            found.append((other, unit))
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def diagonal(radius: Array) -> Array:
    """[row, unit] to [symbol, row, unit]: one symbol for each unit that is not known."""
    units = np.flatnonzero(np.any(radius, axis=0))
    out = np.zeros((len(units), *radius.shape))
    out[np.arange(len(units)), :, units] = radius[:, units].T
    return out
