"""Units of an MLP by affine arithmetic: errors of units that read the same sum cancel as they do in reality.

x = centre + Σ_e tied[e] + own: one symbol e in [−1, 1] per input and per unit of an earlier layer, and what a
unit has for itself (its rounding, its unknown sign), up to ``own``. ``box`` bounds the same numbers by plain
intervals; both hold, so what they have in common does.
"""

from dataclasses import dataclass

import numpy as np

from krohn.check.format import Format, whole
from krohn.check.real import (
    Array,
    Flags,
    Real,
    affine_error,
    ample,
    common_unit,
    known_sums,
    summed_up,
)


@dataclass(frozen=True)
class Affine:
    """Rows × units; ``tied``: symbols × rows × units."""

    box: Real
    centre: Array
    tied: Array
    own: Array

    @property
    def reach(self) -> Array:
        """The size of what the form holds."""
        out: Array = np.abs(self.centre) + np.abs(self.tied).sum(axis=0) + self.own
        return out

    def shared(self) -> "Affine":
        """The box, narrowed to what the affine form allows."""
        radius = summed_up(np.concatenate([self.tied, self.own[None]]))
        form = Real(self.centre, self.centre).widened(radius)
        box = self.box.where(self.box.known, self.box.within(form))
        return Affine(box, self.centre, self.tied, self.own)

    def linear(self, fmt: Format, weight: Array, bias: Array) -> "Affine":
        """The next sums: those of the form, and what the network and this checker round."""
        box = whole(self.box)
        off = fmt.off(box, weight, bias)
        own = np.where(off + self.reach @ np.abs(weight) > 0, affine_error(self.reach, weight, bias), 0.0)
        own = np.where(self._constant(weight) & (off == 0), 0.0, own)
        some = self.own.any(axis=0)  # what a unit had for itself is now shared by all that read it
        parts = self.own.T[some][:, :, None] * weight[some][:, None]
        return Affine(
            fmt.linear(box, weight, bias).part,
            self.centre @ weight + bias,
            np.concatenate([self.tied @ weight, parts]),
            off + own,
        ).shared()

    def _constant(self, weight: Array) -> Flags:
        """Sums of numbers that are known: their box is the number itself, and the form is not used."""
        out: Flags = (~self.box.known).astype(np.float64) @ (weight != 0).astype(np.float64) == 0
        return out

    def activated(self, fmt: Format, sine: Flags) -> "Affine":
        """ReLU, or the sine where ``sine`` says so."""
        on, off = (self.box.lo >= 0) & ~sine, (self.box.hi <= 0) & ~sine
        box = self.box.positive()
        if sine.any():
            box = fmt.sine(self.box).where(np.broadcast_to(sine, on.shape), box)
        middle = (box.lo + box.hi) / 2
        unsure = np.where(on | off, 0.0, ample(np.maximum(box.hi - middle, middle - box.lo)))
        centre = np.where(on, self.centre, np.where(off, 0.0, middle))
        return Affine(box, centre, self.tied * on, np.where(on, self.own, unsure))

    def grain(self, weight: Array) -> Array:
        """Per column of x @ weight: a power of two that divides every term; 0 where one is not known."""
        unsure = (~self.box.known).any(axis=0).astype(np.float64) @ (weight != 0).astype(np.float64) > 0
        return np.where(unsure, 0.0, common_unit(self.box.lo, weight))

    def sums(self, weight: Array) -> Real:
        """x @ weight in real numbers, by the form alone unless they are known."""
        off = affine_error(self.reach, weight, np.zeros(weight.shape[1]))
        radius = summed_up(np.concatenate([self.tied @ weight, (self.own @ np.abs(weight))[None], off[None]]))
        made = Real(self.centre @ weight, self.centre @ weight).widened(radius)
        return known_sums(self.box, weight, self.grain(weight), made)

    def trimmed(self, first: int) -> "Affine":
        """Without the symbols that nothing holds; the first ones stay, so that inputs keep theirs."""
        some = (self.tied != 0).any(axis=(1, 2))
        some[:first] = True
        return Affine(self.box, self.centre, self.tied[some], self.own)


def entering(box: Real) -> Affine:
    """Inputs: a symbol each."""
    centre = (box.lo + box.hi) / 2
    radius = ample(np.maximum(box.hi - centre, centre - box.lo))
    return Affine(box, centre, diagonal(radius), np.zeros_like(radius))


def diagonal(radius: Array) -> Array:
    """[row, unit] to [symbol, row, unit]: one symbol per unit."""
    out = np.zeros((radius.shape[1], *radius.shape))
    index = np.arange(radius.shape[1])
    out[index, :, index] = radius.T
    return out
