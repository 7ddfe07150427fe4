"""Do two automata show the same after every word? Patterns are compared over the characters of both."""

from dataclasses import dataclass
from typing import Any

from krohn.automata.letters_of_both import alike
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
    one, other = alike(one, other)
    shows = [each.observed if each.observe is not None else each.state_names for each in (one, other)]
    word = difference_word(one, other, *shows)
    if word is None:
        return Equality(True, None, None)
    names = tuple(one.letter_names[letter] for letter in word)
    ends = [(each.run(list(names)) or [each.start])[-1] for each in (one, other)]
    return Equality(False, names, (shows[0][ends[0]], shows[1][ends[1]]))
