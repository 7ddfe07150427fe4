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
