"""A block scheme: the witness that one layer of constant size and logarithmic precision is not enough.

Words are a prefix and then blocks of one length. Player A fills some places of every block in one of two
ways, player B fills the others freely. If any two choices of A are told apart by some choice of B, for every
number of blocks, then one layer would have to carry one bit per block (statement and proof: docs/depth.md).
"""

from dataclasses import dataclass
from typing import Any

Word = tuple[int, ...]


@dataclass(frozen=True)
class BlockScheme:
    """``owned`` are A's places in a block of ``length`` letters; ``fillings`` its two ways to fill them."""

    prefix: Word
    length: int
    owned: tuple[int, ...]
    fillings: tuple[Word, Word]

    def to_json(self, letter_names: tuple[str, ...]) -> dict[str, Any]:
        """With the names of letters; places count from 1."""
        named = [[letter_names[x] for x in word] for word in (self.prefix, *self.fillings)]
        return {
            "kind": "block scheme",
            "prefix": named[0],
            "block_length": self.length,
            "places": [place + 1 for place in self.owned],
            "fillings": named[1:],
        }

    def describe(self, letter_names: tuple[str, ...]) -> str:
        """One line for people."""
        first, second = (" ".join(letter_names[x] for x in word) for word in self.fillings)
        places = ", ".join(str(place + 1) for place in self.owned)
        after = f"after {' '.join(letter_names[x] for x in self.prefix)}, " if self.prefix else ""
        return f"{after}blocks of {self.length} letters, place {places} holds {first} or {second}"
