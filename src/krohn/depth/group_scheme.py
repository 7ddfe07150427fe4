"""Block schemes of group automata: they exist where G₀ is not abelian (docs/lower-bounds.md, Theorem 6).

G₀ are the elements g·h⁻¹ of words of equal length. If m is large and divisible by the order of G/G₀, the
words of m letters represent exactly G₀. A block is three such words: B, A, B. Player A fills its part with a
word for the identity or for a, player B its two parts with words for e and e, or for b and b⁻¹, where a and b
do not commute on the orbit of the start. Where this does not tell two choices of A apart on the start itself,
B may first move the start about this orbit. The check of ``block_scheme`` decides what is enough.
"""

from collections.abc import Iterator
from itertools import islice

from krohn.algebra.equal_lengths import EqualLengths, equal_lengths
from krohn.algebra.transformation import Permutation, compose, identity, inverse
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import Budget, BudgetSpent
from krohn.depth.block_scheme import BlockScheme, Word, check_block_scheme

MOST_POINTS = 200
"""Most states of an automaton whose blocks are listed."""
MOST_MAPS = 5_000
"""Most maps of words of one length that are kept."""
LONGEST = 60
"""Letters of a third of a block."""
PAIRS_OF_WORDS = 20
"""Pairs that do not commute, tried for each length."""
UNITS = 4_000_000


def has_abelian_differences(automaton: Semiautomaton) -> bool:
    """Whether it is a group automaton whose G₀ is abelian: then one layer is enough, and no scheme exists."""
    seen = equal_lengths(automaton) if automaton.num_states <= MOST_POINTS else None
    return seen is not None and seen.group.is_abelian


def find_group_scheme(automaton: Semiautomaton) -> BlockScheme | None:
    """A scheme of a group automaton that the check confirms; ``None`` if there is none or the search ends.

    Thirds of least length are tried first.
    """
    if automaton.num_states > MOST_POINTS:
        return None
    seen = equal_lengths(automaton)
    if seen is None or seen.group.is_abelian:
        return None
    try:
        for scheme in _schemes(seen, Budget(UNITS)):
            if check_block_scheme(automaton.table.tolist(), automaton.start, scheme) is None:
                return scheme
    except BudgetSpent:
        pass
    return None


def _schemes(seen: EqualLengths, budget: Budget) -> Iterator[BlockScheme]:
    """Without and with moves of the start."""
    automaton = seen.automaton
    letters = tuple(dict.fromkeys(automaton.letters.index(letter) for letter in automaton.letters))
    one = identity(automaton.num_states)
    words: dict[Permutation, Word] = {one: ()}
    for length in range(1, LONGEST + 1):
        following: dict[Permutation, Word] = {}
        for element, word in words.items():
            for letter in letters:
                if len(following) < MOST_MAPS:
                    following.setdefault(compose(element, automaton.letters[letter]), (*word, letter))
        budget.spend(len(words) * len(letters) * automaton.num_states)
        words = following
        if one not in words:
            continue
        for a, b in islice(_pairs(seen, words, budget), PAIRS_OF_WORDS):
            answers = [words[one] + words[one], words[b] + words[inverse(b)]]
            moves = _moves(seen, words, b)
            owned = tuple(range(length, 2 * length))
            for more in ([], moves) if moves else ([],):
                ways = tuple(dict.fromkeys([*answers, *more]))
                budget.spend(len(ways) ** 2 * automaton.num_states**2)
                yield BlockScheme((), 3 * length, owned, (words[one], words[a]), letters, ways)


def _pairs(
    seen: EqualLengths, words: dict[Permutation, Word], budget: Budget
) -> Iterator[tuple[Permutation, Permutation]]:
    """Elements a and b of words of one length, with b⁻¹ beside them, that do not commute on the orbit."""
    for b in words:
        if inverse(b) in words:
            for a in words:
                budget.spend(len(seen.points))
                if any(b[a[point]] != a[b[point]] for point in seen.points):
                    yield a, b


def _moves(seen: EqualLengths, words: dict[Permutation, Word], b: Permutation) -> list[Word]:
    """Answers that first move the start to each point of its orbit, with and without b."""
    start, one = seen.automaton.start, identity(seen.automaton.num_states)
    result: list[Word] = []
    for point in seen.points:
        mover = next((g for g in words if g[start] == point and compose(g, b) in words), None)
        if mover is not None:
            result.append(words[mover] + words[one])
            result.append(words[compose(mover, b)] + words[inverse(b)])
    return result
