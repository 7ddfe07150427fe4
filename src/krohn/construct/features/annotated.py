"""Letters together with the features of the layer before: the symbols of the next layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.features.feature import Feature, Value, common_rhythm, folded, shown_by
from krohn.errors import LimitExceeded
from krohn.network.position_maps import Row

MAX_STATES = 20_000


@dataclass(frozen=True, eq=False)
class Annotated:
    """The symbols (letter, what the features show after it) that can occur, and the moves that go with each.

    ``moves[s]`` are the pairs (state before, state after) that occur with symbol s. In a state of ``ends``
    words end: what comes after does not matter.
    """

    automaton: Semiautomaton
    features: tuple[Feature, ...]
    rows: tuple[Row, ...]
    moves: tuple[frozenset[tuple[int, int]], ...]
    strict: bool = False
    ends: frozenset[int] = frozenset()

    @cached_property
    def number(self) -> dict[Row, int]:
        """Symbols by letter and shown values."""
        return {row: number for number, row in enumerate(self.rows)}

    def start(self) -> tuple[Value, ...]:
        """The values before the first letter."""
        return tuple(feature.start for feature in self.features)

    def step(self, values: tuple[Value, ...], letter: int, place: int) -> tuple[tuple[Value, ...], int]:
        """The values after a letter, and the symbol there."""
        after, row = _moved(self.features, values, letter, place, strict=self.strict)
        return after, self.number[row]

    def symbols_of(self, word: Sequence[int]) -> list[int]:
        """The symbols along a word."""
        values, found = self.start(), []
        for place, letter in enumerate(word, 1):
            values, symbol = self.step(values, letter, place)
            found.append(symbol)
        return found


def annotate(automaton: Semiautomaton, features: Sequence[Feature], *, strict: bool = False) -> Annotated:
    """All symbols that occur; refuses machines that are too large."""
    early, period = common_rhythm(features)
    start = (0, automaton.start, tuple(feature.start for feature in features))
    seen, queue = {start}, [start]
    moves: dict[Row, set[tuple[int, int]]] = {}
    for place, state, values in queue:
        here = folded(place + 1, early, period)
        for letter in range(automaton.num_letters):
            after, row = _moved(features, values, letter, here, strict=strict)
            target = automaton.step(state, letter)
            moves.setdefault(row, set()).add((state, target))
            following = (here, target, after)
            if following not in seen:
                seen.add(following)
                queue.append(following)
        if len(seen) > MAX_STATES:
            raise LimitExceeded(f"annotated letters need more than {MAX_STATES:,} states")
    rows = sorted(moves)
    found = tuple(frozenset(moves[row]) for row in rows)
    return Annotated(automaton, tuple(features), tuple(rows), found, strict)


def _moved(
    features: Sequence[Feature], values: tuple[Value, ...], letter: int, place: int, *, strict: bool
) -> tuple[tuple[Value, ...], Row]:
    after = tuple(f.step(value, letter, place) for f, value in zip(features, values, strict=True))
    steps = zip(features, values, after, strict=True)
    shown = (x for f, old, new in steps for x in shown_by(f, old, new, strict=strict))
    return after, (letter, *shown)
