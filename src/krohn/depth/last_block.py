"""A last-block scheme: the witness that one layer needs ever more heads, where counting bits gives no bound.

Words are a prefix and then letters a and b. Two words that fill some block in the two different ways, and
then agree on b … b a … a until the end, lead to different states whatever precedes the block. Then additive
sums of few bits cannot tell two such words apart, and few heads cannot be made to attend to the right place
(statement and proof: docs/lower-bounds.md). The check reads only the transition table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Any

from krohn.base.portable import Budget
from krohn.depth.block_scheme import Table, Word, state_after
from krohn.depth.layer_size import LayerSize

LONGEST_LAST_BLOCK = 4


@dataclass(frozen=True)
class LastBlockScheme:
    """``after`` is (b, a): letters b follow the block, then letters a until the end."""

    prefix: Word
    fillings: tuple[Word, Word]
    after: tuple[int, int]
    layers = 2

    def beyond(self, size: LayerSize, letters: int = 0, states: int = 1) -> int:
        """The longest word not excluded for one layer of that size; for states only, not observations."""
        assert states == 1
        heads, length = size.heads, len(self.fillings[0])
        segments = heads**2 + 1
        return size.largest(
            lambda bits: (
                len(self.prefix) + segments * length * (heads * (size.head_dim + 1) * bits + 1 + heads) + 1
            )
        )

    def to_json(self, letter_names: tuple[str, ...]) -> dict[str, Any]:
        """Plain data with letter names."""
        words = (self.prefix, *self.fillings, self.after)
        prefix, *fillings, after = ([letter_names[x] for x in word] for word in words)
        return {"kind": "last-block scheme", "prefix": prefix, "fillings": fillings, "after": after}

    def describe(self, letter_names: tuple[str, ...]) -> str:
        """A one-line description."""
        named = [" ".join(letter_names[x] for x in word) for word in (self.prefix, *self.fillings)]
        between, end = (letter_names[x] for x in self.after)
        start = f"after {named[0]}, " if self.prefix else ""
        rest = f"before any number of {between} and then of {end}"
        return f"{start}whether the last block {rest} was {named[1]} or {named[2]} decides"


def check_last_block_scheme(table: Table, start: int, scheme: LastBlockScheme) -> str | None:
    """The fault of a scheme, ``None`` if it holds for words of every length."""
    fault = next(_faults(table, start, scheme), None)
    if fault is not None:
        return fault
    between, end = scheme.after
    reached = {state_after(table, start, scheme.prefix)}
    for state in (queue := sorted(reached)):
        fresh = {table[state][between], table[state][end]} - reached
        reached |= fresh
        queue += sorted(fresh)
    one, two = ([state_after(table, state, word) for state in reached] for word in scheme.fillings)
    pairs = set(product(one, two))
    for letter in scheme.after:
        for p, q in (waiting := sorted(pairs)):
            following = (table[p][letter], table[q][letter])
            if following not in pairs:
                pairs.add(following)
                waiting.append(following)
    return "the two fillings may lead to one state" if any(p == q for p, q in pairs) else None


def _faults(table: Table, start: int, scheme: LastBlockScheme) -> Iterator[str]:
    states, letters = len(table), len(table[0])
    if not 0 <= start < states or any(not 0 <= q < states for row in table for q in row):
        yield "the table names a state that is not there"
    if any(not 0 <= x < letters for word in (scheme.prefix, scheme.after) for x in word):
        yield "a letter of the scheme is not one of the automaton's"
    if len(set(scheme.after)) != 2:
        yield "two different letters must follow the block"
    one, two = scheme.fillings
    if len(one) != len(two) or not one or not {*one, *two} <= set(scheme.after):
        yield "the fillings must be words of one length, of the letters that follow"


def find_last_block_scheme(
    table: Table, start: int, prefixes: dict[int, Word], letters: Sequence[int], budget: Budget
) -> LastBlockScheme | None:
    """Tries short blocks first, all pairs of letters and fillings, from every state; the check decides."""
    for length in range(1, LONGEST_LAST_BLOCK + 1):
        for after in permutations(letters, 2):
            for fillings in combinations(product(after, repeat=length), 2):
                for prefix in prefixes.values():
                    budget.spend(3 * len(table) ** 2)
                    scheme = LastBlockScheme(prefix, fillings, after)
                    if check_last_block_scheme(table, start, scheme) is None:
                        return scheme
    return None
