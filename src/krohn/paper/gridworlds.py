"""Is an automaton a gridworld, up to renaming? Letters move coordinates by −1, 0, +1 between walls.

First by lines: if every letter moves one coordinate, the orbits of a letter are the lines of its axis.
Otherwise by congruences: the coordinates of a product are among its quotients that are lines. Whatever is
found is checked letter by letter, so a wrong guess is never returned; a grid may be missed only if its
letters move several coordinates at once and it has more congruences or states than the limits below.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from krohn.automata.quotients import forget_observation, quotient
from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.base.portable import UNITS, Budget, BudgetSpent
from krohn.cascade.congruences import congruences, principal_congruences
from krohn.cascade.known_shapes import clamped_line
from krohn.errors import LimitExceeded

MAX_STATES_FOR_CONGRUENCES = 64
"""Above this the search by congruences (states² pairs) is not tried."""
MAX_CONGRUENCES = 300


@dataclass(frozen=True)
class Grid:
    """``coordinates[q][axis]`` in 0 … shape[axis]−1; ``moves[letter][axis]`` in {−1, 0, +1}."""

    shape: tuple[int, ...]
    coordinates: tuple[tuple[int, ...], ...]
    moves: tuple[tuple[int, ...], ...]

    def step(self, place: Sequence[int], letter: int) -> tuple[int, ...]:
        """The clamped move, which defines a gridworld."""
        return tuple(
            min(max(value + move, 0), size - 1)
            for value, move, size in zip(place, self.moves[letter], self.shape, strict=True)
        )


def recognise_grid(automaton: Semiautomaton) -> Grid | None:
    """The automaton as a grid, or ``None``; with too many quotients to tell it raises ``LimitExceeded``."""
    if automaton.num_states < 2:
        return None
    axes = _axes_from_lines(automaton.letters)
    result = None if axes is None else _grid(automaton, axes)
    if result is None and automaton.num_states <= MAX_STATES_FOR_CONGRUENCES:
        return _grid_from_congruences(automaton)
    return result


def _grid(automaton: Semiautomaton, axes: Sequence[Sequence[int]]) -> Grid | None:
    """The grid with these coordinate functions, if every letter really is a clamped move.

    Each axis is counted from the wall nearer to the start.
    """
    start = automaton.start
    axes = [axis if 2 * axis[start] <= max(axis) else [max(axis) - v for v in axis] for axis in axes]
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
    try:
        axes = list({tuple(axis): axis for axis in _line_quotients(automaton)}.values())
    except BudgetSpent as error:  # no option gives this search more
        raise LimitExceeded(
            f"whether this automaton is a grid was not decided within {UNITS:,} units of work"
        ) from error
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
    letters, bare, budget = automaton.letters, forget_observation(automaton), Budget(UNITS)
    principal = principal_congruences(letters, MAX_STATES_FOR_CONGRUENCES**2, budget)
    for labels in congruences(letters, principal, (), MAX_CONGRUENCES, budget):
        line = clamped_line(quotient(bare, labels))
        if line is not None:
            yield [line[0][label] for label in labels]
