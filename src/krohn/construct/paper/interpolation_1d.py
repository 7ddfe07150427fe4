"""Lemma "1D discrete function interpolation with an MLP": a finite table of one number, 4 ReLU a point.

The indicator of a point is a trapezium with plateau [x−Δ/4, x+Δ/4] and feet at x±Δ/2, so the network
equals the table on every input that is within Δ/4 of a point. Integer points at distance 1 give integer
weights, hence exact arithmetic in any float type that holds 4·B_x/Δ + 2.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.construct.paper.mlp_bound import MlpBound
from krohn.errors import InvalidInput
from krohn.network.transformer import Matrix, Mlp

UNITS_PER_POINT = 4
CORNERS = np.array([-2.0, -1.0, 1.0, 2.0])
"""Corners of the trapezium around a point, in units of Δ/4."""
SIGNS = np.array([1.0, -1.0, -1.0, 1.0])


def separation(points: Sequence[float]) -> float:
    """Δ: the least distance of two points; 1 when there are fewer than two."""
    ordered = np.sort(np.asarray(points, dtype=np.float64))
    if len(ordered) < 2:
        return 1.0
    gap = float(np.diff(ordered).min())
    if gap <= 0:
        raise InvalidInput("the points of a table must be distinct")
    return gap


def indicator_units(points: Sequence[float], gap: float) -> tuple[float, Matrix]:
    """Slope (the same for all) and biases of the 4·|X| units; unit 4i+j is corner j of point i."""
    slope = 4.0 / gap
    centres = np.repeat(np.asarray(points, dtype=np.float64), UNITS_PER_POINT)
    return slope, -(slope * centres + np.tile(CORNERS, len(points)))


def interpolate_1d(points: Sequence[float], values: npt.ArrayLike, gap: float | None = None) -> Mlp:
    """The two-layer network R → R^d that maps ``points[i] ± gap/4`` to ``values[i]``."""
    table = _rows(points, values)
    slope, bias = indicator_units(points, separation(points) if gap is None else gap)
    first = np.full((1, len(bias)), slope)
    second = np.repeat(table, UNITS_PER_POINT, axis=0) * np.tile(SIGNS, len(points))[:, None]
    return Mlp((first, second), (bias, np.zeros(table.shape[1])))


def interpolation_1d_meaning(
    points: Sequence[float], values: npt.ArrayLike, inputs: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """What the network must compute: the value of the nearest point, for inputs within Δ/4 of one."""
    table = _rows(points, values)
    distances = np.abs(np.asarray(inputs, dtype=np.float64)[:, None] - np.asarray(points)[None, :])
    nearest: npt.NDArray[np.float64] = table[distances.argmin(axis=1)]
    return nearest


def interpolation_1d_bound(points: Sequence[float], values: npt.ArrayLike) -> MlpBound:
    """Widths and ∞-norms as the lemma states them."""
    gap, radius = separation(points), float(np.abs(np.asarray(points)).max())
    size = float(np.abs(_rows(points, values)).max())
    return MlpBound((UNITS_PER_POINT * len(points),), (4 / gap, size), (4 * radius / gap + 2, 0.0))


def _rows(points: Sequence[float], values: npt.ArrayLike) -> npt.NDArray[Any]:
    table = np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if not len(points) or len(table) != len(points):
        raise InvalidInput(f"a table needs one value per point; got {len(points)} and {len(table)}")
    return table
