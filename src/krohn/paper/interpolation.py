"""The paper's lemmas on finite tables as MLPs: of one number, of several, and a threshold."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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
    """The two-layer network R → R^d that maps ``points[i] ± gap/4`` to ``values[i]``.

    Lemma "1D discrete function interpolation with an MLP": a finite table of one number, 4 ReLU a point.

    The indicator of a point is a trapezium with plateau [x−Δ/4, x+Δ/4] and feet at x±Δ/2, so the network
    equals the table on every input that is within Δ/4 of a point. Integer points at distance 1 give integer
    weights, hence exact arithmetic in any float type that holds 4·B_x/Δ + 2.
    """
    table = table_rows(points, values)
    slope, bias = indicator_units(points, separation(points) if gap is None else gap)
    first = np.full((1, len(bias)), slope)
    second = np.repeat(table, UNITS_PER_POINT, axis=0) * np.tile(SIGNS, len(points))[:, None]
    return Mlp((first, second), (bias, np.zeros(table.shape[1])))


def table_rows(points: Sequence[float], values: npt.ArrayLike) -> npt.NDArray[Any]:
    """The values as a matrix with one row for each point."""
    table = np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if not len(points) or len(table) != len(points):
        raise InvalidInput(f"a table needs one value per point; got {len(points)} and {len(table)}")
    return table


def threshold(gap: float) -> Mlp:
    """ψ(x) = ((x + Δ/2)/Δ)_+ − ((x − Δ/2)/Δ)_+.

    Lemma "Threshold with an MLP": 1[x > 0] for |x| ≥ Δ, with inputs perturbed by up to Δ/4. Erratum 2: the
    printed ramp runs over [−Δ, Δ] and gives 0.875 at x = Δ, ξ = −Δ/4; over [−Δ/2, Δ/2] it has the stated
    norms.
    """
    if gap <= 0:
        raise InvalidInput(f"the gap of a threshold must be positive; got {gap}")
    first = np.array([[1 / gap, 1 / gap]])
    return Mlp((first, np.array([[1.0], [-1.0]])), (np.array([0.5, -0.5]), np.zeros(1)))


def interpolate_nd(points: npt.ArrayLike, values: npt.ArrayLike, match_bias: float | None = None) -> Mlp:
    """The three-layer network that maps every ``points[i] ± 1/4`` (∞-norm) to ``values[i]``.

    Values of one coordinate must be equal or 1 apart. ``match_bias`` replaces −(d_in − 1).

    Lemma "General discrete function interpolation with an MLP": a finite table of several numbers.

    First layer: indicators of every value of every coordinate (Lemma 1D). Second layer: one unit per row of
    the table that counts matching coordinates. Third layer: sums the values of the rows that fire.

    Erratum 1: the printed bias −d_in of the second layer gives relu(d_in − d_in) = 0 at a match, so the
    printed network is constantly 0; the bias must be −(d_in − 1).
    """
    rows, table = validate(points, values)
    distinct = _distinct(rows)
    slope, first_bias = indicator_units([value for _, value in distinct], 1.0)
    first, second = np.zeros((rows.shape[1], len(first_bias))), np.zeros((len(first_bias), len(rows)))
    for number, (coordinate, value) in enumerate(distinct):
        units = slice(UNITS_PER_POINT * number, UNITS_PER_POINT * (number + 1))
        first[coordinate, units] = slope
        second[units, rows[:, coordinate] == value] = SIGNS[:, None]
    bias = -(rows.shape[1] - 1.0) if match_bias is None else match_bias
    biases = (first_bias, np.full(len(rows), bias), np.zeros(table.shape[1]))
    return Mlp((first, second, table), biases)


def _distinct(rows: Matrix) -> list[tuple[int, float]]:
    """Each coordinate with each of its values."""
    return [(i, float(value)) for i, column in enumerate(rows.T) for value in np.unique(column)]


def saturating_nd(points: npt.ArrayLike, values: npt.ArrayLike) -> Mlp:
    """The same function of integer points by indicators (1 − 4(|x − v| − ¼)_+)_+, exactly 0 or 1.

    One hidden layer more and half the units of the first; what follows adds whole numbers, so that the
    output is exact in short formats too, where the printed ramps cancel only up to rounding.
    """
    rows, table = validate(points, values)
    distinct = _distinct(rows)
    first, first_bias = np.zeros((rows.shape[1], 2 * len(distinct))), np.zeros(2 * len(distinct))
    match = np.zeros((len(distinct), len(rows)))
    for number, (coordinate, value) in enumerate(distinct):
        pair = slice(2 * number, 2 * number + 2)
        first[coordinate, pair] = [4.0, -4.0]
        first_bias[pair] = [-4.0 * value - 1.0, 4.0 * value - 1.0]
        match[number, rows[:, coordinate] == value] = 1.0
    cut: Matrix = np.repeat(-np.eye(len(distinct)), 2, axis=0)
    row_bias = np.full(len(rows), 1.0 - rows.shape[1])
    biases = (first_bias, np.ones(len(distinct)), row_bias, np.zeros(table.shape[1]))
    return Mlp((first, cut, match, table), biases)


def table_mlp(points: npt.ArrayLike, values: npt.ArrayLike, counting: str) -> Mlp:
    """The lemma as printed, or saturating if the counters are."""
    return saturating_nd(points, values) if counting == "steps" else interpolate_nd(points, values)


def validate(points: npt.ArrayLike, values: npt.ArrayLike) -> tuple[Matrix, Matrix]:
    """Points and values as matrices; a table that does not fit is refused."""
    rows, table = np.asarray(points, dtype=np.float64), np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if rows.ndim != 2 or not rows.size or len(rows) != len(table):
        raise InvalidInput(f"a table needs rows and one value per row; got {rows.shape} and {table.shape}")
    if len(np.unique(rows, axis=0)) != len(rows):
        raise InvalidInput("the rows of a table must be distinct")
    for column in rows.T:
        steps = np.diff(np.unique(column))
        if len(steps) and steps.min() < 1 - 1e-9:
            raise InvalidInput(f"values of one coordinate must be 1 apart; got {steps.min()}")
    return rows, table
