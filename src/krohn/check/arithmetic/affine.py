"""Affine arithmetic: errors with a common source cancel when matrices add them up.

x = centre + Σ_e tied[e]·e ± own: one noise symbol e in [−1, 1] per channel of the stream before, and ``own``,
a bound on the error of the unit alone (its rounding, its unknown sign). ``box`` bounds the same numbers by
plain intervals; both bounds hold, so their intersection does.
"""

from dataclasses import dataclass, replace

import numpy as np

from krohn.check.arithmetic.format import Box, Format, whole
from krohn.check.arithmetic.real import (
    Array,
    Flags,
    Integers,
    Real,
    affine_error,
    ample,
    common_unit,
    joined,
    known_sums,
    point,
    summed_up,
)
from krohn.check.transformer.layer_norm import Norm


@dataclass(frozen=True)
class Affine:
    """Rows × units; ``tied``: symbols × rows × units."""

    box: Real
    centre: Array
    tied: Array
    own: Array

    @property
    def reach(self) -> Array:
        """The largest absolute value that the form allows."""
        out: Array = np.abs(self.centre) + np.abs(self.tied).sum(axis=0) + self.own
        return out

    def shared(self) -> "Affine":
        """The box, narrowed to what the affine form allows."""
        radius = summed_up(self.tied, self.own)
        form = Real(self.centre, self.centre).widened(radius)
        box = self.box.where(self.box.known, self.box.within(form))
        return Affine(box, self.centre, self.tied, self.own)

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
        size = self.reach @ sizes
        sure = self._constant(weight) & (off == 0)
        own = np.where((off + size > 0) & ~sure, affine_error(size + np.abs(bias), len(weight)), 0.0)
        own = own + ample(self.own @ sizes)  # own errors of inputs add to the sum's own error
        if norm is not None:
            made, own = made.widened(shift), ample(own + shift)
        # A known sum replaces its form, which may be off by this checker's own rounding.
        sure = sure & made.known
        centre, tied = np.where(sure, made.lo, self.centre @ weight + bias), self.read(weight)
        tied *= ~sure
        return Affine(made, centre, tied, off + own).shared()

    def read(self, weight: Array) -> Array:
        """The coefficient of each symbol in x @ weight."""
        symbols, rows, units = self.tied.shape
        return (self.tied.reshape(symbols * rows, units) @ weight).reshape(symbols, rows, weight.shape[1])

    def _constant(self, weight: Array) -> Flags:
        """[row, column]: whether x @ weight adds up known numbers only."""
        out: Flags = (~self.box.known).astype(np.float64) @ (weight != 0).astype(np.float64) == 0
        return out

    def activated(self, fmt: Format, sine: Flags, pairs: Integers | None = None) -> "Affine":
        """ReLU, or the sine where ``sine`` says so; ``pairs``: see ``mirrors``."""
        on, off = (self.box.lo >= 0) & ~sine, (self.box.hi <= 0) & ~sine
        box = self.box.positive()
        if sine.any():
            box = fmt.sine(self.box).where(np.broadcast_to(sine, on.shape), box)
        middle = (box.lo + box.hi) / 2
        unsure = np.where(on | off, 0.0, ample(np.maximum(box.hi - middle, middle - box.lo)))
        centre = np.where(on, self.centre, np.where(off, 0.0, middle))
        made = Affine(box, centre, self.tied * on, np.where(on, self.own, unsure))
        return made if pairs is None or not len(pairs) else self._paired(made, pairs, ~(on | off | sine))

    def _paired(self, made: "Affine", pairs: Integers, unsure: Flags) -> "Affine":
        """Of a pair relu(s), relu(s') the first unit becomes s; the second bounds how far s' is from −s."""
        first, second = pairs[:, 0], pairs[:, 1]
        unsure = unsure[:, first] & unsure[:, second]
        if not unsure.any():
            return made
        tied, centre = (part[..., first] + part[..., second] for part in (self.tied, self.centre))
        gap = ample(summed_up(tied, centre, self.own[:, first], self.own[:, second]))
        use = unsure & (gap < made.own[:, first] + made.own[:, second])
        centre, tied, own = made.centre.copy(), made.tied.copy(), made.own.copy()
        centre[:, first] = np.where(use, self.centre[:, first], centre[:, first])
        tied[..., first] = np.where(use, self.tied[..., first], tied[..., first])
        own[:, first] = np.where(use, self.own[:, first], own[:, first])
        centre[:, second], own[:, second] = (
            np.where(use, 0.0, centre[:, second]),
            np.where(use, gap, own[:, second]),
        )
        return Affine(made.box, centre, tied, own)

    def grain(self, weight: Array) -> Array:
        """Per column of x @ weight: a power of two that divides every term; 0 where one is not known."""
        unsure = (~self.box.known).any(axis=0).astype(np.float64) @ (weight != 0).astype(np.float64) > 0
        return np.where(unsure, 0.0, common_unit(self.box.lo, weight))

    def sums(self, weight: Array) -> Real:
        """x @ weight in real numbers, bounded by the form, or exact where all terms are known."""
        sizes = np.abs(weight)
        off = affine_error(self.reach @ sizes, len(weight))
        radius = summed_up(self.read(weight), self.own @ sizes, off)
        made = Real(self.centre @ weight, self.centre @ weight).widened(radius)
        return known_sums(self.box, weight, self.grain(weight), made)

    def summary(self, weight: Array) -> Real:
        """Side by side: x @ weight, the size of its terms (as upper ends), and their common unit."""
        size = self.box.size @ np.abs(weight)
        grain = point(self.grain(weight)).spread(*size.shape)
        return joined([self.sums(weight), Real(-size, size), grain], axis=1)

    def leads(self, rows: Integers, units: Integers) -> Array:
        """How far each row's chosen unit is above every unit, at least: by the boxes, or by the form."""
        own = [part[..., rows, units][..., None] for part in (self.centre, self.tied, self.own)]
        apart = point(own[0]) - point(self.centre)
        radius = summed_up(own[1] - self.tied, own[2] + self.own)
        boxes = point(self.box.lo[rows, units][:, None]) - point(self.box.hi)
        return np.maximum((apart - point(ample(radius))).lo, boxes.lo)

    def normed(self, norm: Norm) -> "Affine":
        """LayerNorm of these numbers, without the mean; its error is added to ``own``."""
        own = ample(self.own * np.abs(norm.scale) + norm.error(self.box.size))
        box = norm.apart(self.box, np.zeros(1)).part
        return Affine(box, self.centre * norm.scale, self.tied * norm.scale, own)

    def plus(self, fmt: Format, stream: "Affine", place: Integers, keep: Array) -> "Affine":
        """Adds the residual stream: it has the same symbols as these sums, so shared errors can cancel."""
        if not keep.any():
            return self
        kept = Real(stream.box.lo[:, place] * keep, stream.box.hi[:, place] * keep)
        box = fmt.add(whole(kept), whole(self.box)).part
        off = fmt.off_sum(kept.size, self.box.size)
        tied = self.tied.copy()
        tied[: len(stream.tied)] += stream.tied[:, :, place] * keep
        centre = self.centre + stream.centre[:, place] * keep
        old = self.own + stream.own[:, place] * keep
        own = affine_error(np.abs(centre) + np.abs(tied).sum(axis=0) + old, len(keep))
        return Affine(box, centre, tied, old + 2 * off + own).shared()

    def opened(self) -> "Affine":
        """Turns the own error of each unit into a symbol, so that later sums share it."""
        tied = np.concatenate([self.tied, diagonal(self.own)])
        return Affine(self.box, self.centre, tied, np.zeros_like(self.own))

    def chosen(self, units: Integers) -> "Affine":
        """Some of the units."""
        return Affine(self.box[:, units], self.centre[:, units], self.tied[..., units], self.own[:, units])

    def trimmed(self, stream: "Affine") -> tuple["Affine", "Affine"]:
        """Both forms without the symbols that neither of them uses."""
        some, first = np.any(self.tied, axis=(1, 2)), len(stream.tied)
        some[:first] |= np.any(stream.tied, axis=(1, 2))
        if some.all():
            return self, stream
        return replace(self, tied=self.tied[some]), replace(stream, tied=stream.tied[some[:first]])


def beside(units: Affine, stream: Affine) -> Affine:
    """Both, side by side; the symbols of the stream are the first ones of the units."""
    more = np.zeros((len(units.tied) - len(stream.tied), *stream.centre.shape))
    tied = np.concatenate([units.tied, np.concatenate([stream.tied, more])], axis=2)
    centre, own = (
        np.concatenate(both, axis=1) for both in ((units.centre, stream.centre), (units.own, stream.own))
    )
    return Affine(joined([units.box, stream.box], axis=1), centre, tied, own)


def entering(box: Real) -> Affine:
    """The form of inputs: one symbol for each that is not known."""
    centre = (box.lo + box.hi) / 2
    radius = ample(np.maximum(box.hi - centre, centre - box.lo))
    return Affine(box, centre, diagonal(radius), np.zeros_like(radius))


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
