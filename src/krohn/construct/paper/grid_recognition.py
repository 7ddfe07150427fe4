"""Is an automaton a gridworld, up to renaming? Letters move coordinates by −1, 0, +1 between walls.

First by lines: if every letter moves one coordinate, the orbits of a letter are the lines of its axis.
Otherwise by congruences: a clamped line with moves in both directions has no proper congruence, so the
coordinates of a product are among the quotients by congruences that one pair of states generates. Whatever
is found is checked letter by letter, so a wrong guess is never returned.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from krohn.automata.semiautomaton import Semiautomaton, Transformation

MAX_STATES_FOR_CONGRUENCES = 64
"""Above this the search by congruences (states² pairs) is not tried."""


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
    """The grid the automaton is, or ``None``."""
    if automaton.num_states < 2:
        return None
    axes = _axes_from_lines(automaton.letters)
    found = None if axes is None else _grid(automaton, axes)
    if found is None and automaton.num_states <= MAX_STATES_FOR_CONGRUENCES:
        return _grid_from_congruences(automaton)
    return found


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
    """Coordinate functions of the quotients by one-pair congruences that are lines."""
    seen: set[tuple[int, ...]] = set()
    for first, second in itertools.combinations(range(automaton.num_states), 2):
        blocks = _congruence(automaton.letters, first, second)
        if blocks in seen or max(blocks) == 0:
            continue
        seen.add(blocks)
        quotient = _quotient(automaton.letters, blocks)
        axes = _axes_from_lines(quotient)
        if axes is not None and len(axes) == 1:
            yield [axes[0][block] for block in blocks]


def _congruence(letters: Sequence[Transformation], first: int, second: int) -> tuple[int, ...]:
    """Block number of every state in the least congruence with first ~ second."""
    parent = list(range(len(letters[0])))

    def root(q: int) -> int:
        while parent[q] != q:
            q = parent[q]
        return q

    pending = [(first, second)]
    while pending:
        p, q = pending.pop()
        a, b = root(p), root(q)
        if a != b:
            # The images of the pairs that merged blocks generate all there is to merge.
            parent[max(a, b)] = min(a, b)
            pending += [(letter[p], letter[q]) for letter in letters]
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(root(q), len(numbers)) for q in range(len(parent)))


def _quotient(letters: Sequence[Transformation], blocks: tuple[int, ...]) -> list[Transformation]:
    first = {block: q for q, block in reversed(list(enumerate(blocks)))}
    return [tuple(blocks[letter[first[block]]] for block in range(max(blocks) + 1)) for letter in letters]
