"""Lemma "General discrete function interpolation with an MLP": a finite table of several numbers.

First layer: indicators of every value of every coordinate (Lemma 1D). Second layer: one unit per row of the
table that counts matching coordinates. Third layer: sums the values of the rows that fire.

Erratum 1: the printed bias −d_in of the second layer gives relu(d_in − d_in) = 0 at a match, so the printed
network is constantly 0; the bias must be −(d_in − 1).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from krohn.construct.paper.interpolation_1d import SIGNS, UNITS_PER_POINT, indicator_units
from krohn.construct.paper.mlp_bound import MlpBound
from krohn.errors import InvalidInput
from krohn.network.transformer import Matrix, Mlp


def interpolate_nd(
    points: npt.ArrayLike, values: npt.ArrayLike, gap: float = 1.0, match_bias: float | None = None
) -> Mlp:
    """The three-layer network that maps every ``points[i] ± gap/4`` (∞-norm) to ``values[i]``.

    Values of one coordinate must be equal or ``gap`` apart. ``match_bias`` replaces −(d_in − 1).
    """
    rows, table = _validated(points, values, gap)
    d_in = rows.shape[1]
    first, first_bias, columns = _indicators(rows, gap)
    second = np.zeros((first.shape[1], len(rows)))
    for coordinate in range(d_in):
        for value, start in columns[coordinate].items():
            hit = rows[:, coordinate] == value
            second[start : start + UNITS_PER_POINT, hit] += SIGNS[:, None]
    bias = -(d_in - 1.0) if match_bias is None else match_bias
    biases = (first_bias, np.full(len(rows), bias), np.zeros(table.shape[1]))
    return Mlp((first, second, table), biases)


def saturating_nd(points: npt.ArrayLike, values: npt.ArrayLike) -> Mlp:
    """The same function of integer points by indicators (1 − 4(|x − v| − ¼)_+)_+, exactly 0 or 1.

    One hidden layer more and half the units of the first; what follows adds whole numbers, so that the
    output is exact in short formats too, where the printed ramps cancel only up to rounding.
    """
    rows, table = _validated(points, values, 1.0)
    coordinates = [(i, float(v)) for i, column in enumerate(rows.T) for v in np.unique(column)]
    first, first_bias = np.zeros((rows.shape[1], 2 * len(coordinates))), np.zeros(2 * len(coordinates))
    match = np.zeros((len(coordinates), len(rows)))
    for number, (coordinate, value) in enumerate(coordinates):
        pair = slice(2 * number, 2 * number + 2)
        first[coordinate, pair] = [4.0, -4.0]
        first_bias[pair] = [-4.0 * value - 1.0, 4.0 * value - 1.0]
        match[number, rows[:, coordinate] == value] = 1.0
    cut: Matrix = np.repeat(-np.eye(len(coordinates)), 2, axis=0)
    row_bias = np.full(len(rows), 1.0 - rows.shape[1])
    biases = (first_bias, np.ones(len(coordinates)), row_bias, np.zeros(table.shape[1]))
    return Mlp((first, cut, match, table), biases)


def table_mlp(points: npt.ArrayLike, values: npt.ArrayLike, counting: str) -> Mlp:
    """The lemma as printed, or saturating beside counters that do."""
    return saturating_nd(points, values) if counting == "steps" else interpolate_nd(points, values)


def interpolation_nd_meaning(
    points: npt.ArrayLike, values: npt.ArrayLike, inputs: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """The value of the row nearest in ∞-norm."""
    rows, table = np.asarray(points, dtype=np.float64), np.asarray(values, dtype=np.float64)
    distances = np.abs(np.asarray(inputs, dtype=np.float64)[:, None, :] - rows[None, :, :]).max(axis=2)
    nearest: npt.NDArray[np.float64] = table[distances.argmin(axis=1)]
    return nearest


def interpolation_nd_bound(points: npt.ArrayLike, values: npt.ArrayLike, gap: float = 1.0) -> MlpBound:
    """Widths and ∞-norms as the lemma states them; they hold after the correction too."""
    rows, table = _validated(points, values, gap)
    radius = float(np.abs(rows).max(initial=0.0))
    distinct = sum(len(np.unique(column)) for column in rows.T)
    widths = (UNITS_PER_POINT * distinct, len(rows))
    biases = (4 * radius / gap + 2, float(rows.shape[1]), 0.0)
    return MlpBound(widths, (4 / gap, 1.0, float(np.abs(table).max(initial=0.0))), biases)


def _indicators(rows: Matrix, gap: float) -> tuple[Matrix, Matrix, Sequence[dict[float, int]]]:
    """First layer, its bias, and per coordinate the first unit of each value."""
    blocks, biases, columns = [], [], []
    start = 0
    for coordinate, column in enumerate(rows.T):
        distinct = np.unique(column)
        slope, bias = indicator_units([float(value) for value in distinct], gap)
        block = np.zeros((rows.shape[1], len(bias)))
        block[coordinate] = slope
        blocks.append(block)
        biases.append(bias)
        columns.append({float(v): start + UNITS_PER_POINT * i for i, v in enumerate(distinct)})
        start += len(bias)
    return np.concatenate(blocks, axis=1), np.concatenate(biases), columns


def _validated(points: npt.ArrayLike, values: npt.ArrayLike, gap: float) -> tuple[Matrix, Matrix]:
    rows, table = np.asarray(points, dtype=np.float64), np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if rows.ndim != 2 or not rows.size or len(rows) != len(table):
        raise InvalidInput(f"a table needs rows and one value per row; got {rows.shape} and {table.shape}")
    if len(np.unique(rows, axis=0)) != len(rows):
        raise InvalidInput("the rows of a table must be distinct")
    for column in rows.T:
        steps = np.diff(np.unique(column))
        if len(steps) and steps.min() < gap * (1 - 1e-9):
            raise InvalidInput(f"values of one coordinate must be {gap} apart; got {steps.min()}")
    return rows, table
