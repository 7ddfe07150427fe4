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
    """``weight = ways @ scales``: the different sums a matrix forms, and who takes how much of each.

    Steps of one staircase all read the same sum, so an error of the sum moves them together. A column is its
    way times its scale up to one rounding of a float64, which whoever uses the factors counts.
    """

    ways: Array  # inputs × ways
    scales: Array  # ways × outputs, one entry per column


def factor(weight: Array) -> Factors:
    """Columns grouped by direction; each way is one of the columns, so that equal columns always share it."""
    if not weight.size:
        return Factors(np.zeros((weight.shape[0], 1)), np.zeros((1, weight.shape[1])))
    ways: list[Array] = []
    scales: list[Array] = []
    left = np.arange(weight.shape[1])
    while len(left):
        columns, scale, taken = _parallel(weight[:, left])
        part = np.zeros((columns.shape[1], weight.shape[1]))
        part[:, left[taken]] = scale[:, taken]
        ways.append(columns)
        scales.append(part)
        left = left[~taken]
    return Factors(np.concatenate(ways, axis=1), np.concatenate(scales))


def _parallel(weight: Array) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """One column per direction, how much of it each column is, and which columns that meets exactly.

    Nearly parallel is not parallel: a column that is not met waits for the next round; the columns chosen
    meet themselves, so every round takes some.
    """
    count = weight.shape[1]
    lead = np.abs(weight).argmax(axis=0)
    size = weight[lead, np.arange(count)]
    unit = weight / np.where(size == 0, 1.0, size)
    _, first, where = np.unique(np.round(unit, 12), axis=1, return_index=True, return_inverse=True)
    where = where.reshape(-1)
    base = size[first][where]
    ratio = np.where(base == 0, 1.0, size / np.where(base == 0, 1.0, base))
    scales = np.zeros((len(first), count))
    scales[where, np.arange(count)] = ratio
    columns = weight[:, first]
    return columns, scales, (columns[:, where] * ratio == weight).all(axis=0)


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
