"""Two words of equal length and equal last letter that lead to different states: some layer is needed.

Without a layer the output is a function of the position and the letter there, whatever the embedding and the
read-out are. If there are no such words, that function suffices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from krohn.depth.block_scheme import Table, Word
from krohn.depth.layer_size import LayerSize

MOST_PAIRS = 200_000


@dataclass(frozen=True)
class TwoWords:
    """A shortest pair of words that shows that one layer is needed."""

    words: tuple[Word, Word]
    layers = 1

    def beyond(self, size: LayerSize, letters: int = 0, states: int = 1) -> int:
        """The longest word not excluded for a network without layers, however wide."""
        return len(self.words[0]) - 1

    def to_json(self, letter_names: tuple[str, ...]) -> dict[str, Any]:
        """Plain data with letter names."""
        return {"kind": "two words", "words": [[letter_names[x] for x in word] for word in self.words]}

    def describe(self, letter_names: tuple[str, ...]) -> str:
        """A one-line description."""
        one, two = (" ".join(letter_names[x] for x in word) for word in self.words)
        return f"'{one}' and '{two}' end alike and lead to different states"


def find_two_words(table: Table, start: int, shown: Sequence[int] | None = None) -> TwoWords | None:
    """Breadth-first over the pairs of states reached by words that differ in one position; ``None`` if none.

    One position suffices: if words that differ in several positions lead to different states, then so do two
    words on the way between them, changed one position at a time.

    ``shown`` are the observations of the states, if the output is the observation and not the state.
    """
    letters, seen = range(len(table[0])), range(len(table)) if shown is None else shown
    words: dict[tuple[int, int], tuple[Word, Word]] = {(start, start): ((), ())}
    for p, q in (queue := [(start, start)]):
        one, two = words[p, q]
        for x in letters:
            if seen[table[p][x]] != seen[table[q][x]]:
                return TwoWords(((*one, x), (*two, x)))
        for x in letters:
            for y in letters if p == q else (x,):
                after = (table[p][x], table[q][y])
                if after not in words:
                    words[after] = ((*one, x), (*two, y))
                    queue.append(after)
        if len(queue) > MOST_PAIRS:
            return None
    return None
