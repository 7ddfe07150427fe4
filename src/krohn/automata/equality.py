"""Do two automata show the same after every word? Patterns are compared over the characters of both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from krohn.automata.diagram import accepts_words
from krohn.automata.patterns.characters import Runs, classes, name_of
from krohn.automata.quotients import difference_word
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.typed import plainly
from krohn.errors import InvalidInput


@dataclass(frozen=True)
class Equality:
    """Whether two automata show the same after every word, and a shortest word after which they do not."""

    equal: bool
    word: tuple[str, ...] | None
    shown: tuple[str, str] | None

    def __bool__(self) -> bool:
        return self.equal

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "equal": self.equal,
            "word": None if self.word is None else list(self.word),
            "shown": self.shown,
        }

    def text(self) -> str:
        """One sentence."""
        if self.word is None or self.shown is None:
            return "equal: they show the same after every word"
        word = " ".join(self.word) or "the empty word"
        return f"not equal: after {word} the first shows {self.shown[0]}, the second {self.shown[1]}"


@plainly
def equal(one: AutomatonLike, other: AutomatonLike) -> Equality:
    """Whether two automata show the same after every word: observations, or states where they show none.

    Letters go by their names. Patterns are compared character by character: one that does not read a
    character does not match.

    Example:
        >>> krohn.equal("regex:(ab)*a", "regex:a(ba)*").equal, krohn.equal("regex:a*", "regex:a+").word
        (True, ())
    """
    return compared(as_automaton(one), as_automaton(other))


def compared(one: Semiautomaton, other: Semiautomaton) -> Equality:
    """Whether they are equal; if not, a shortest word and what each shows after it."""
    if (one.observe is None) != (other.observe is None):
        raise InvalidInput(
            "automata must both show something, or neither; give accepting states by a name with @, or a file"
        )
    if set(one.letter_names) != set(other.letter_names) or one.characters or other.characters:
        one, other = _alike(one, other)
    shows = [each.observed if each.observe is not None else each.state_names for each in (one, other)]
    word = difference_word(one, other, *shows)
    if word is None:
        return Equality(True, None, None)
    names = tuple(one.letter_names[letter] for letter in word)
    ends = [(each.run(list(names)) or [each.start])[-1] for each in (one, other)]
    return Equality(False, names, (shows[0][ends[0]], shows[1][ends[1]]))


def _alike(one: Semiautomaton, other: Semiautomaton) -> tuple[Semiautomaton, Semiautomaton]:
    """Both over the same letters: classes of characters that neither of them tells apart."""
    mine, theirs = (_characters_of(each, one, other) for each in (one, other))
    shared = [(holders, runs) for holders, runs in classes([*mine, *theirs]).items() if holders]
    # Bit i of the holders is the i-th of mine, then of theirs: of each automaton at most one bit is set.
    first = [(holders & ((1 << len(mine)) - 1)).bit_length() - 1 for holders, _ in shared]
    second = [(holders >> len(mine)).bit_length() - 1 for holders, _ in shared]
    names = [runs for _, runs in shared]
    return _reading(one, first, names), _reading(other, second, names)


def _characters_of(each: Semiautomaton, *both: Semiautomaton) -> list[Runs]:
    """The characters of each letter of a pattern."""
    alone = all(len(name) == 1 for name in each.letter_names)
    if not accepts_words(each) or not (each.characters or alone):
        first, second = (" ".join(automaton.letter_names[:8]) for automaton in both)
        raise InvalidInput(
            f"automata must have the same letters, or both be patterns; one has {first}, the other {second}"
        )
    codes = each.characters or tuple((ord(name), ord(name)) for name in each.letter_names)
    return [tuple(zip(runs[::2], runs[1::2], strict=True)) for runs in codes]


def _reading(automaton: Semiautomaton, letters: Sequence[int], runs: Sequence[Runs]) -> Semiautomaton:
    """The pattern over other letters, by the number of its own; −1 for what it fails on, for good."""
    fails = automaton.num_states
    columns = [automaton.table[:, letter] if letter >= 0 else np.full(fails, fails) for letter in letters]
    return replace(
        automaton,
        table=np.vstack([np.array(columns).T, np.full(len(letters), fails)]),
        state_names=(),
        letter_names=tuple(map(name_of, runs)),
        observe=(*(automaton.observe or ()), 0),
        characters=tuple(tuple(code for run in each for code in run) for each in runs),
    )
