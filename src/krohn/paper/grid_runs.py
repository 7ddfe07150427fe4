"""Preparation for Theorem 3: padding moves, the length they add, and the naive algorithm.

Erratum 22: the network section never adds the padding that Algorithm 1 asks for, and Algorithm 1 starts at
0 only. S moves towards one wall and then min(q₀, S − q₀) back lead to q₀ from anywhere and visit S + 1
prefix sums (the sum 0 of the first position counts). Erratum 23: S + 1 distinct sums span S, not S + 1.
"""

from dataclasses import dataclass

from krohn.automata.semiautomaton import Semiautomaton
from krohn.paper.gridworlds import Grid


@dataclass(frozen=True)
class GridRun:
    """A grid, its start and the padding moves per axis; position 0 is ⊥, then padding, then letters."""

    grid: Grid
    start: tuple[int, ...]
    padding: tuple[tuple[int, ...], ...]  # [padding position after ⊥][axis]
    length: int

    @property
    def total(self) -> int:
        """T′ = padding moves + T, the length used in every formula of the construction."""
        return len(self.padding) + self.length


def grid_run(automaton: Semiautomaton, grid: Grid, length: int) -> GridRun:
    """Padding for all axes at once; the shorter ones end with no-ops."""
    start = grid.coordinates[automaton.start]
    columns = [padding_moves(size - 1, q) for size, q in zip(grid.shape, start, strict=True)]
    count = max(len(column) for column in columns)
    filled = [[*column, *([0] * (count - len(column)))] for column in columns]
    return GridRun(grid, start, tuple(zip(*filled, strict=True)), length)


def padding_moves(walls: int, start: int) -> list[int]:
    """Moves that lead to ``start`` on 0 … walls and visit walls + 1 distinct prefix sums."""
    if start <= walls - start:
        return [-1] * walls + [1] * start
    return [1] * walls + [-1] * (walls - start)
