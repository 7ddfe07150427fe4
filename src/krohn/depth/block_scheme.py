"""A block scheme: the witness that one layer of a given size fails on words beyond some length.

Words are a prefix and then blocks of one length. Player A fills some places of every block in one of two
ways, player B fills the others with letters of a list, freely or in one of a few ways. If any two choices of
A are told apart by some choice of B, for every number of blocks, then one layer would have to carry one bit
for each block (statement and proof: docs/depth.md).
"""

from dataclasses import dataclass
from typing import Any

from krohn.depth.layer_size import LayerSize

Word = tuple[int, ...]


@dataclass(frozen=True)
class BlockScheme:
    """``owned`` are A's places in a block of ``length`` letters; ``fillings`` its two ways to fill them.

    ``letters`` are those that B may use; if there are ``answers``, B fills its places in one of these ways.
    """

    prefix: Word
    length: int
    owned: tuple[int, ...]
    fillings: tuple[Word, Word]
    letters: tuple[int, ...]
    answers: tuple[Word, ...] = ()
    layers = 2

    def beyond(self, size: LayerSize, letters: int = 0, states: int = 1) -> int:
        """The longest word not excluded for one layer of that size: ⌊(T − |z|)/L⌋ ≤ |Σ|·H·(d + 2)·b.

        If the output is the observation of a minimal automaton of these ``letters`` and ``states``, it tells
        states apart after fewer than ``states`` more letters, and there are notes for each of these places.
        """
        asked = max(letters, len({*self.letters, *self.fillings[0], *self.fillings[1]}))
        notes = states * asked * size.heads * (size.head_dim + 2)
        more = max(0, asked.bit_length() - size.bits)  # bits to name a letter
        start = len(self.prefix) + states - 1
        return size.largest(lambda bits: start + self.length * (notes * (bits + more) + 1))

    def to_json(self, letter_names: tuple[str, ...]) -> dict[str, Any]:
        """With the names of letters; places count from 1."""
        named = [[letter_names[x] for x in word] for word in (self.prefix, *self.fillings)]
        answers = [[letter_names[x] for x in word] for word in self.answers]
        return {
            "kind": "block scheme",
            "prefix": named[0],
            "block_length": self.length,
            "places": [place + 1 for place in self.owned],
            "fillings": named[1:],
            "letters": [letter_names[x] for x in self.letters],
            **({"answers": answers} if answers else {}),
        }

    def describe(self, letter_names: tuple[str, ...]) -> str:
        """A one-line description."""
        first, second = (" ".join(letter_names[x] for x in word) for word in self.fillings)
        places = ", ".join(str(place + 1) for place in self.owned)
        after = f"after {' '.join(letter_names[x] for x in self.prefix)}, " if self.prefix else ""
        choice = f"place {places} holds {first} or {second}"
        return f"{after}in blocks of {self.length} letters, {choice}: the other places can ask for each block"
