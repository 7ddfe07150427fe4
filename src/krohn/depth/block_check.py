"""The check of a block scheme, for every number of blocks, by a finite computation of its own.

Two choices S ≠ S′ of player A are told apart if some choice of B leads to two different states. The set of
pairs of states that S and S′ reach under a common choice of B depends only on the set after one block less,
so finitely many sets occur; the scheme holds if none after S and S′ first differ lies in the diagonal.
This file shares no code with the search: it reads only the transition table, letter by letter.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from krohn.depth.block_scheme import BlockScheme, Word

MOST_SETS = 20_000
MOST_BLOCKS = 200_000

Table = Sequence[Sequence[int]]
Pairs = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class SchemeReport:
    """Whether the scheme holds; if not, the reason, with two choices of A that no choice of B tells apart."""

    holds: bool
    reason: str
    choices: tuple[Word, Word] | None = None


def check_block_scheme(table: Table, start: int, scheme: BlockScheme) -> SchemeReport:
    """``table[q][a]`` is the state after letter a in state q."""
    fault = next(_faults(table, start, scheme), None)
    if fault is not None:
        return SchemeReport(False, fault)
    moves = [_moves(table, scheme, filling) for filling in scheme.fillings]
    state = _after(table, start, scheme.prefix)
    first: tuple[Pairs, bool] = (frozenset({(state, state)}), False)
    came: dict[tuple[Pairs, bool], tuple[Word, Word]] = {first: ((), ())}
    waiting = [first]
    for pairs, differed in waiting:
        one, two = came[pairs, differed]
        for s, t in product((0, 1), repeat=2):
            both = list(zip(moves[s], moves[t], strict=True))
            after = frozenset((f[p], g[q]) for p, q in pairs for f, g in both)
            apart = differed or s != t
            if apart and all(p == q for p, q in after):
                return SchemeReport(
                    False, "no choice of B tells two choices of A apart", ((*one, s), (*two, t))
                )
            if (after, apart) not in came:
                came[after, apart] = ((*one, s), (*two, t))
                waiting.append((after, apart))
        if len(came) > MOST_SETS:
            return SchemeReport(False, f"more than {MOST_SETS:,} sets of pairs: not decided")
    return SchemeReport(
        True, f"all choices of A differ, for every number of blocks ({len(came)} sets of pairs)"
    )


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


def _after(table: Table, state: int, word: Sequence[int]) -> int:
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
        result.append(tuple(_after(table, state, word) for state in range(len(table))))
    return result
