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
    unsure = ~active & ~(value.centre < -radius)  # also where the radius is not a number
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


@dataclass(frozen=True, eq=False)
class Factors:
    """``weight = ways @ scales``, exactly: the different sums a matrix forms, and who takes how much.

    Steps of one staircase all read the same sum, so an error of the sum moves them together.
    """

    ways: Array  # inputs × ways
    scales: Array  # ways × outputs, one entry per column


def factor(weight: Array) -> Factors:
    """Columns grouped by direction."""
    if not weight.size:
        return Factors(np.zeros((weight.shape[0], 1)), np.zeros((1, weight.shape[1])))
    lead = np.abs(weight).argmax(axis=0)
    scale = weight[lead, np.arange(weight.shape[1])]
    unit = weight / np.where(scale == 0, 1.0, scale)
    _, first, where = np.unique(np.round(unit, 12), axis=1, return_index=True, return_inverse=True)
    ways = unit[:, first]
    scales = np.zeros((len(first), weight.shape[1]))
    scales[where.reshape(-1), np.arange(weight.shape[1])] = scale
    # Nearly parallel is not parallel: a column that is not met exactly stands for itself.
    odd = np.flatnonzero((weight != ways @ scales).any(axis=0))
    scales[:, odd] = 0.0
    alone = np.zeros((len(odd), weight.shape[1]))
    alone[np.arange(len(odd)), odd] = 1.0
    return Factors(np.concatenate([ways, weight[:, odd]], axis=1), np.concatenate([scales, alone]))


def apply(value: Affine, weight: Array, bias: Array, arith: Arithmetic, *, share: bool = False) -> Affine:
    """One matrix and its bias, rounding included; ``share`` ties errors of outputs that read the same sum."""
    radius = value.radius()
    centre, rounding = linear(arith, value.centre, radius, weight, bias)
    tied = value.tied @ weight
    if not share:
        return Affine(centre, tied, value.loose @ np.abs(weight) + rounding)
    factors = factor(weight)
    return Affine(centre, with_shared(tied, value.loose @ np.abs(factors.ways), factors.scales), rounding)


def with_shared(tied: Array, loose: Array, scales: Array) -> Array:
    """Symbols for errors ``loose[row, way]`` that outputs share by ``scales[way, output]``."""
    shared = loose.T[:, :, None] * scales[:, None, :]
    wide = np.broadcast_to(tied, (len(tied), *shared.shape[1:]))
    return np.concatenate([wide, shared])
