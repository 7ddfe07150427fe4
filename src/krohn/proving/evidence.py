"""What running words shows about a network: a word that it gets wrong, or every short word."""

from dataclasses import dataclass, field
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton


@dataclass(frozen=True)
class Counterexample:
    """A word whose last letter the network gets wrong, found by running it.

    ``at``: the number of the letter that is answered wrong, from 1 on, if it is another than the last: such a
    network looks ahead.
    """

    word: tuple[int, ...]
    expected: int
    got: int
    at: int | None = field(default=None, repr=False)  # of few networks

    def to_json(self, automaton: Semiautomaton) -> dict[str, Any]:
        """Numbers and names."""
        return {
            "word": list(self.word),
            "letters": [automaton.letter_names[letter] for letter in self.word],
            "expected": automaton.output_names[self.expected],
            "got": automaton.output_names[self.got] if self.got >= 0 else "another token",
            **({} if self.at is None else {"at": self.at}),
        }


@dataclass(frozen=True)
class SecondOpinion:
    """Every word of one length, run on the real network: independent of the proof.

    ``dtype`` is the float format of the run, which need not be that of the claim; ``limit`` says why longer
    words were not run; empty if these are the longest there are.
    """

    length: int
    words: int
    wrong: int
    dtype: str
    limit: str = ""

    def to_json(self) -> dict[str, int | str]:
        """Plain values."""
        return {**self.exact(), "dtype": self.dtype, "limit": self.limit}

    def exact(self) -> dict[str, int]:
        """The numbers alone."""
        return {"length": self.length, "words": self.words, "wrong": self.wrong}
