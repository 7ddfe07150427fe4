"""Gridworlds on a line, in the plane and beyond: moves that stop at the walls (Theorem 3)."""

import math

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.sizes import check_size
from krohn.errors import InvalidInput


def grid(*sides: int, noop: bool = False) -> Semiautomaton:
    """A box of cells with two letters per axis, one step down and one step up; start in the corner 0.

    On a line the letters are L, R; in the plane L, R (first axis), D, U (second); beyond, ``-i`` and ``+i``.
    """
    label = "x".join(map(str, sides))
    if not sides or min(sides) < 1:
        raise InvalidInput(f"every side of a grid must be ≥ 1; got Grid{label}: write Grid4, Grid3x4")
    check_size(f"Grid{label}", math.prod(sides), 2 * len(sides) + noop)
    cells = np.indices(sides).reshape(len(sides), -1)
    columns: list[npt.ArrayLike] = []
    for axis, side in enumerate(sides):
        for step in (-1, 1):
            moved = cells.copy()
            moved[axis] = np.clip(moved[axis] + step, 0, side - 1)
            columns.append(np.ravel_multi_index(tuple(moved), sides))
    letters = _letter_names(len(sides))
    if noop:
        columns.append(np.arange(math.prod(sides)))
        letters = (*letters, "noop")
    return Semiautomaton(
        np.stack(columns, axis=1),
        state_names=tuple(",".join(map(str, cell)) for cell in cells.T.tolist()),
        letter_names=letters,
        name=f"Grid{label}" + (":noop" if noop else ""),
    )


def _letter_names(axes: int) -> tuple[str, ...]:
    if axes <= 2:
        return ("L", "R", "D", "U")[: 2 * axes]
    return tuple(f"{sign}{axis}" for axis in range(1, axes + 1) for sign in "-+")
