"""The size of a layer, and a block scheme: the witness that it fails on words beyond some length.

Words are a prefix and then blocks of one length. Player A fills some places of every block in one of two
ways, player B fills the others with letters of a list, freely or in one of a few ways. If for every number of
blocks and any two choices of A some choice of B tells them apart, then one layer would have to carry one bit
for each block (statement and proof: docs/lower-bounds.md).

The check is a finite computation for every number of blocks. Two choices S ≠ S′ of player A are told apart
if some choice of B leads to two different states. The set of pairs of states that S and S′ reach under a
common choice of B depends only on the set after one block less, so finitely many sets occur; the scheme
holds if none after S and S′ first differ lies in the diagonal. The check shares no code with the search
(``lower_bound``) and reads only the transition table, letter by letter.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
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

        If the output is the observation of a minimal automaton with this many ``letters`` and ``states``, up
        to ``states`` − 1 further letters tell states apart, and A's notes (docs/lower-bounds.md) are needed
        for each of these positions.
        """
        alphabet = max(letters, len({*self.letters, *self.fillings[0], *self.fillings[1]}))
        notes = states * alphabet * size.heads * (size.head_dim + 2)
        more = max(0, alphabet.bit_length() - size.bits)  # bits to name a letter
        start = len(self.prefix) + states - 1
        return size.largest(lambda bits: start + self.length * (notes * (bits + more) + 1))

    def to_json(self, letter_names: tuple[str, ...]) -> dict[str, Any]:
        """Plain data with letter names; places count from 1."""
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


MOST_SETS = 20_000
MOST_BLOCKS = 200_000

Table = Sequence[Sequence[int]]
Pairs = frozenset[tuple[int, int]]


def check_block_scheme(table: Table, start: int, scheme: BlockScheme) -> str | None:
    """The fault of a scheme, ``None`` if it holds; ``table[q][a]`` is the state after letter a in state q."""
    fault = next(_faults(table, start, scheme), None)
    if fault is not None:
        return fault
    moves = [_moves(table, scheme, filling) for filling in scheme.fillings]
    state = state_after(table, start, scheme.prefix)
    first: tuple[Pairs, bool] = (frozenset({(state, state)}), False)
    blocks = {first: 0}
    waiting = [first]
    for pairs, differed in waiting:
        number = blocks[pairs, differed] + 1
        for s, t in product((0, 1), repeat=2):
            both = list(zip(moves[s], moves[t], strict=True))
            after = frozenset((f[p], g[q]) for p, q in pairs for f, g in both)
            apart = differed or s != t
            if apart and all(p == q for p, q in after):
                return f"no choice of B tells two choices of A apart: blocks {number}"
            if (after, apart) not in blocks:
                blocks[after, apart] = number
                waiting.append((after, apart))
        if len(blocks) > MOST_SETS:
            return f"more than {MOST_SETS:,} sets of pairs: not decided"
    return None


def _faults(table: Table, start: int, scheme: BlockScheme) -> Iterator[str]:
    letters = len(table[0])
    words = (scheme.prefix, *scheme.fillings, scheme.letters, *scheme.answers)
    if not 0 <= start < len(table) or any(not 0 <= q < len(table) for row in table for q in row):
        yield "the table names a state that is not there"
    if any(not 0 <= x < letters for word in words for x in word):
        yield "a letter of the scheme is not one of the automaton's"
    if len(scheme.fillings) != 2 or any(len(word) != len(scheme.owned) for word in scheme.fillings):
        yield "two fillings of A's places are needed"
    if sorted(set(scheme.owned)) != list(scheme.owned) or not all(
        0 <= i < scheme.length for i in scheme.owned
    ):
        yield "A's places must be places of the block, in order"
    if not scheme.letters:
        yield "B needs letters"
    free = scheme.length - len(scheme.owned)
    if any(len(word) != free or not set(word) <= set(scheme.letters) for word in scheme.answers):
        yield "an answer of B must fill its places with its letters"
    if not scheme.answers and len(scheme.letters) ** max(free, 0) > MOST_BLOCKS:
        yield f"more than {MOST_BLOCKS:,} fillings of B's places: not decided"


def state_after(table: Table, state: int, word: Sequence[int]) -> int:
    """The state after a word."""
    for letter in word:
        state = table[state][letter]
    return state


def _moves(table: Table, scheme: BlockScheme, filling: Word) -> list[Word]:
    """The maps of a block with this filling of A, for every filling of B, in a fixed order."""
    mine = dict(zip(scheme.owned, filling, strict=True))
    free = [place for place in range(scheme.length) if place not in mine]
    result = []
    for others in scheme.answers or product(scheme.letters, repeat=len(free)):
        letters = mine | dict(zip(free, others, strict=True))
        word = [letters[place] for place in range(scheme.length)]
        result.append(tuple(state_after(table, state, word) for state in range(len(table))))
    return result
