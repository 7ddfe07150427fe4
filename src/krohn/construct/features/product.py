"""The proof that features determine the state, for words of every length: a product of finite machines.

The automaton and all features read the same letters. They determine the state if no two reachable states of
the product show the same values and differ in the automaton's state. Otherwise two words show it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from krohn.construct.features.annotated import Annotated
from krohn.construct.features.feature import Feature, Value, common_rhythm, folded, shown_by
from krohn.errors import LimitExceeded
from krohn.network.position_maps import Row

Word = tuple[int, ...]
State = tuple[int, int, tuple[Value, ...], tuple[Value, ...]]

MAX_STATES = 60_000


@dataclass(frozen=True, eq=False)
class Determined:
    """``rows[symbol, *shown]`` is the wanted value (of the state); ``size``: states of the product."""

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
    queue = [start]
    for item in queue:
        place, state, values, held = item
        here = folded(place + 1, early, period)
        for letter in range(automaton.num_letters):
            after, symbol = annotated.step(values, letter, here)
            now = tuple(f.step(value, symbol, here) for f, value in zip(features, held, strict=True))
            following: State = (here, automaton.step(state, letter), after, now)
            # The row is one of the step, not of the state: other letters may lead to the same state.
            steps = zip(features, held, now, strict=True)
            row = (symbol, *(x for f, a, b in steps for x in shown_by(f, a, b, strict=annotated.strict)))
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


def shown_after(feature: Feature, symbols: Sequence[int], *, strict: bool = False) -> Row:
    """What a feature shows after a word of symbols."""
    before = value = feature.start
    for place, symbol in enumerate(symbols, 1):
        before, value = value, feature.step(value, symbol, place)
    return shown_by(feature, before, value, strict=strict)
