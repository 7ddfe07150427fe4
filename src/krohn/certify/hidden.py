"""Affine arithmetic through ReLU and sine layers: errors of one input stay tied together.

Each row carries its nominal vector, a linear map from the errors of the noisy inputs (one symbol each,
scaled to ±1) and a box of independent rounding errors. While no unit changes sign inside the box the MLP
is affine there and the propagation is exact, which is why the steep steps of a staircase cost nothing on
its treads. A unit that may change sign adds its whole uncertainty to the box.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.certify.arithmetic import Arithmetic, Array, linear
from krohn.network.transformer import SIN


@dataclass(frozen=True, eq=False)
class Affine:
    """``centre[row, unit] + Σ_s ±tied[s, row, unit] ± loose[row, unit]``; ``tied`` may have a single row."""

    centre: Array
    tied: Array
    loose: Array

    def radius(self) -> Array:
        """The total uncertainty of every entry."""
        out: Array = np.abs(self.tied).sum(axis=0) + self.loose
        return out


def activate(value: Affine, codes: npt.NDArray[np.int64], arith: Arithmetic) -> Affine:
    """The activation functions of one hidden layer."""
    radius = value.radius()
    active = value.centre > radius
    unsure = ~active & (value.centre > -radius)
    centre = np.maximum(value.centre, 0)
    tied = np.where(active[None], value.tied, 0.0)
    loose = np.where(active, value.loose, 0.0) + np.where(unsure, radius, 0.0)
    sine = codes == SIN
    if sine.any():
        at = value.centre[:, sine]
        # sin(x + δ) = sin x + δ cos x − …; the rest is at most δ²/2, and the library is good to a few ulp.
        centre[:, sine] = np.sin(at)
        tied[:, :, sine] = value.tied[:, :, sine] * np.cos(at)
        spill = radius[:, sine] ** 2 / 2 + 8 * (arith.unit + 2.0**-52)
        loose[:, sine] = value.loose[:, sine] + spill
    return Affine(centre, tied, loose)


def apply(value: Affine, weight: Array, bias: Array, arith: Arithmetic) -> Affine:
    """One matrix and its bias, rounding included."""
    centre, rounding = linear(arith, value.centre, value.radius(), weight, bias)
    tied = value.tied @ weight
    return Affine(centre, tied, value.loose @ np.abs(weight) + rounding)
