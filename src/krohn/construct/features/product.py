"""The proof that features determine the state, for words of every length: a product of finite machines.

The automaton and all features read the same letters. They determine the state if no two reachable states of
the product show the same values and differ in the automaton's state. Otherwise two words are a witness.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.features.feature import Feature, Value, common_rhythm, folded, shown_by
from krohn.errors import LimitExceeded
from krohn.network.position_maps import Row

Word = tuple[int, ...]
State = tuple[int, int, tuple[Value, ...], tuple[Value, ...]]

MAX_STATES, MAX_ANNOTATED = 60_000, 20_000


@dataclass(frozen=True, eq=False)
class Annotated:
    """The symbols (letter, what the features show after it) that can occur, and the moves that go with each.

    ``moves[s]`` are the pairs (state before, state after) that occur with symbol s. In a state of ``ends``
    words end: what follows does not matter.
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
        values, result = self.start(), []
        for place, letter in enumerate(word, 1):
            values, symbol = self.step(values, letter, place)
            result.append(symbol)
        return result


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
        if len(seen) > MAX_ANNOTATED:
            raise LimitExceeded(f"annotated letters need more than {MAX_ANNOTATED:,} states")
    rows = sorted(moves)
    result = tuple(frozenset(moves[row]) for row in rows)
    return Annotated(automaton, tuple(features), tuple(rows), result, strict)


def _moved(
    features: Sequence[Feature], values: tuple[Value, ...], letter: int, place: int, *, strict: bool
) -> tuple[tuple[Value, ...], Row]:
    after = tuple([f.step(value, letter, place) for f, value in zip(features, values, strict=True)])
    steps = zip(features, values, after, strict=True)
    return after, (letter, *[x for f, old, new in steps for x in shown_by(f, old, new, strict=strict)])


@dataclass(frozen=True, eq=False)
class Determined:
    """``rows[symbol, *shown]`` is the required value (of the state); ``size``: states of the product."""

    rows: dict[Row, int]
    size: int


@dataclass(frozen=True)
class Conflict:
    """Two words that look alike and lead to different values; ``size``: states seen before it was found."""

    first: Word
    second: Word
    size: int


def determine(
    annotated: Annotated, features: Sequence[Feature], wanted: Sequence[int]
) -> Determined | Conflict:
    """Searches the product breadth first; ``wanted[q]`` is what must be known of state q."""
    automaton = annotated.automaton
    early, period = common_rhythm([*annotated.features, *features])
    start: State = (0, automaton.start, annotated.start(), tuple(f.start for f in features))
    came: dict[State, tuple[State, int] | None] = {start: None}
    rows: dict[Row, tuple[int, State, int]] = {}
    moved: dict[tuple[int, tuple[Value, ...]], list[tuple[tuple[Value, ...], int]]] = {}
    queue = [start]
    for item in queue:
        place, state, values, held = item
        here = folded(place + 1, early, period)
        if (here, values) not in moved:
            letters = range(automaton.num_letters)
            moved[here, values] = [annotated.step(values, letter, here) for letter in letters]
        for letter, (after, symbol) in enumerate(moved[here, values]):
            now = tuple([f.step(value, symbol, here) for f, value in zip(features, held, strict=True)])
            following: State = (here, automaton.step(state, letter), after, now)
            # The row belongs to the step, not to the state: other letters may lead to the same state.
            steps = zip(features, held, now, strict=True)
            row = (symbol, *[x for f, a, b in steps for x in shown_by(f, a, b, strict=annotated.strict)])
            value = wanted[following[1]]
            known, other, last = rows.setdefault(row, (value, item, letter))
            if known != value:
                words = (*_word(came, other), last), (*_word(came, item), letter)
                return Conflict(*words, len(came))
            if following not in came and following[1] not in annotated.ends:
                came[following] = (item, letter)
                queue.append(following)
        if len(came) > MAX_STATES:
            raise LimitExceeded(f"the product of features has more than {MAX_STATES:,} states")
    return Determined({row: value for row, (value, _, _) in rows.items()}, len(came))


def _word(came: dict[State, tuple[State, int] | None], state: State) -> Word:
    letters = []
    while (step := came[state]) is not None:
        state, letter = step
        letters.append(letter)
    return tuple(reversed(letters))
