"""Gridworlds before any matrix: recognition, and the padding that leads to the start."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.cascade.congruences import Partition, join, principal_congruence

# Is an automaton a gridworld, up to renaming? Letters move coordinates by −1, 0, +1 between walls.
#
# First by lines: if every letter moves one coordinate, the orbits of a letter are the lines of its axis.
# Otherwise by congruences: the coordinates of a product are among its quotients that are lines. Whatever is
# found is checked letter by letter, so a wrong guess is never returned; a grid may be missed only if its
# letters move several coordinates at once and it has more congruences or states than the limits below.


MAX_STATES_FOR_CONGRUENCES = 64
"""Above this the search by congruences (states² pairs) is not tried."""
MAX_CONGRUENCES = 300


@dataclass(frozen=True)
class Grid:
    """``coordinates[q][axis]`` in 0 … shape[axis]−1; ``moves[letter][axis]`` in {−1, 0, +1}."""

    shape: tuple[int, ...]
    coordinates: tuple[tuple[int, ...], ...]
    moves: tuple[tuple[int, ...], ...]

    @property
    def axes(self) -> int:
        """Number of coordinates."""
        return len(self.shape)

    def step(self, place: Sequence[int], letter: int) -> tuple[int, ...]:
        """The clamped move: what it means to be a gridworld."""
        return tuple(
            min(max(value + move, 0), size - 1)
            for value, move, size in zip(place, self.moves[letter], self.shape, strict=True)
        )


def recognise_grid(automaton: Semiautomaton) -> Grid | None:
    """The automaton as a grid, or ``None``."""
    if automaton.num_states < 2:
        return None
    axes = _axes_from_lines(automaton.letters)
    result = None if axes is None else _grid(automaton, axes)
    if result is None and automaton.num_states <= MAX_STATES_FOR_CONGRUENCES:
        return _grid_from_congruences(automaton)
    return result


def _grid(automaton: Semiautomaton, axes: Sequence[Sequence[int]]) -> Grid | None:
    """The grid with these coordinate functions, if every letter really is a clamped move."""
    shape = tuple(max(axis) + 1 for axis in axes)
    places = tuple(zip(*axes, strict=True))
    if not axes or math.prod(shape) != len(places) or len(set(places)) != len(places):
        return None
    moves = tuple(_move(letter, places, shape) for letter in automaton.letters)
    grid = Grid(shape, places, moves)
    for number, letter in enumerate(automaton.letters):
        if any(grid.step(places[q], number) != places[target] for q, target in enumerate(letter)):
            return None
    return grid


def _move(letter: Transformation, places: Sequence[tuple[int, ...]], shape: Sequence[int]) -> tuple[int, ...]:
    """The move seen where it is not clamped: from the lower end it goes up, from the upper end down."""
    low, high = places.index((0,) * len(shape)), places.index(tuple(size - 1 for size in shape))
    up = [b - a for a, b in zip(places[low], places[letter[low]], strict=True)]
    down = [b - a for a, b in zip(places[high], places[letter[high]], strict=True)]
    return tuple(max(-1, min(1, a + b)) for a, b in zip(up, down, strict=True))


def _axes_from_lines(letters: Sequence[Transformation]) -> list[list[int]] | None:
    """One coordinate function per set of letters with the same lines; ``None`` if a letter has none."""
    axes: dict[frozenset[frozenset[int]], list[int]] = {}
    for letter in letters:
        if all(q == target for q, target in enumerate(letter)):
            continue
        lines = _lines(letter)
        if lines is None:
            return None
        key = frozenset(frozenset(line) for line in lines)
        axes.setdefault(key, _positions(lines, len(letter)))
    return list(axes.values())


def _positions(lines: Sequence[Sequence[int]], states: int) -> list[int]:
    place = [0] * states
    for line in lines:
        for value, q in enumerate(line):
            place[q] = value
    return place


def _lines(letter: Transformation) -> list[list[int]] | None:
    """The orbits of the letter as paths to a fixed point; ``None`` unless all are paths of one length."""
    entered = [0] * len(letter)
    for q, target in enumerate(letter):
        entered[target] += q != target
    if max(entered) > 1:
        return None
    lines = []
    for first in (q for q, count in enumerate(entered) if not count):
        line = [first]
        while letter[line[-1]] != line[-1]:
            line.append(letter[line[-1]])
        lines.append(line)
    covered = sum(len(line) for line in lines) == len(letter)
    return lines if covered and len({len(line) for line in lines}) == 1 else None


def _grid_from_congruences(automaton: Semiautomaton) -> Grid | None:
    axes = list({tuple(axis): axis for axis in _line_quotients(automaton)}.values())
    states = automaton.num_states
    for count in range(1, states.bit_length()):
        for chosen in itertools.combinations(axes, count):
            if math.prod(max(axis) + 1 for axis in chosen) == states:
                grid = _grid(automaton, chosen)
                if grid is not None:
                    return grid
    return None


def _line_quotients(automaton: Semiautomaton) -> Iterable[list[int]]:
    """Coordinate functions of the quotients that are lines."""
    for labels in _congruences(automaton.letters):
        axes = _axes_from_lines(_quotient(automaton.letters, labels))
        if axes is not None and len(axes) == 1:
            yield [axes[0][label] for label in labels]


def _congruences(letters: Sequence[Transformation]) -> list[Partition]:
    """The proper congruences that joins of one-pair congruences give, as many as the limit allows."""
    pairs = itertools.combinations(range(len(letters[0])), 2)
    principal = list(dict.fromkeys(principal_congruence(letters, *pair) for pair in pairs))
    result = dict.fromkeys(labels for labels in principal if max(labels) > 0)
    queue = list(result)
    for labels in queue:
        for other in principal:
            joined = join(letters, labels, other)
            if max(joined) > 0 and joined not in result:
                result[joined] = None
                queue.append(joined)
            if len(result) >= MAX_CONGRUENCES:
                return list(result)
    return list(result)


def _quotient(letters: Sequence[Transformation], labels: Partition) -> list[Transformation]:
    first = {label: q for q, label in reversed(list(enumerate(labels)))}
    return [tuple(labels[letter[first[label]]] for label in range(max(labels) + 1)) for letter in letters]


# Preparation for Theorem 3: padding moves, the length they add, and the naive algorithm.
#
# Erratum 22: the network section never adds the padding that Algorithm 1 asks for, and Algorithm 1 starts at
# 0 only. S moves towards one wall and then min(q₀, S − q₀) back lead to q₀ from anywhere and visit S + 1
# prefix sums (the sum 0 of the first position counts). Erratum 23: S + 1 distinct sums span S, not S + 1.


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
