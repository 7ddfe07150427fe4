"""The search for a block scheme: short blocks first, all places of A, all pairs of fillings, all prefixes."""

from collections.abc import Iterator
from itertools import combinations, product

from krohn.automata.quotients import words_to_states
from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.base.portable import Budget, BudgetSpent
from krohn.depth.block_scheme import BlockScheme, Word, check_block_scheme

LONGEST_BLOCK = 6


MOST_WORDS = 20_000


FILTER_SETS = 300


SCHEME_UNITS = 2_000_000
"""Default budget of a search: less than a second."""


MOST_STATES = 5_000
"""Automata of more states are not searched for a witness."""


MANY_STATES, NEAR = 60, 8
"""Beyond MANY_STATES states, only prefixes to the NEAR states closest to the start are tried."""

Moves = tuple[tuple[int, int], ...]
"""Pairs of maps of a block, by their numbers: what A's two fillings do for each answer of B."""


def find_block_scheme(automaton: Semiautomaton, budget: Budget | None = None) -> BlockScheme | None:
    """A scheme that the independent check confirms, ``None`` if the search finds none within its budget."""
    budget = budget or Budget(SCHEME_UNITS)
    if automaton.num_states > MOST_STATES:
        return None
    try:
        for scheme in _schemes(automaton, budget):
            if check_block_scheme(automaton.table.tolist(), automaton.start, scheme) is None:
                return scheme
    except BudgetSpent:
        pass
    return None


def distinct_letters(automaton: Semiautomaton) -> list[int]:
    """One letter for each distinct action."""
    return list({action: letter for letter, action in reversed(list(enumerate(automaton.letters)))}.values())[
        ::-1
    ]


def _schemes(automaton: Semiautomaton, budget: Budget) -> Iterator[BlockScheme]:
    """Candidate schemes; with many states B has only two answers, so that few pairs are reached."""
    letters, many = distinct_letters(automaton), automaton.num_states > MANY_STATES
    words = words_to_states(automaton, letters)
    starts = list(words.items())[: NEAR if many else None]
    maps_of = _BlockMaps(automaton, letters)
    rows: dict[tuple[int, ...], int] = {}
    tried: set[Moves] = set()
    seen: set[tuple[int, int]] = set()
    for length in range(2, LONGEST_BLOCK + 1):
        if len(letters) ** length > MOST_WORDS:
            return
        for size in range(1, length):
            for owned in combinations(range(length), size):
                maps = maps_of.fillings(length, owned, budget)
                answers = list(product(letters, repeat=length - size))
                row = {filling: rows.setdefault(tuple(own), len(rows)) for filling, own in maps.items()}
                for first, second in combinations(maps, 2):
                    if (row[first], row[second]) in seen:
                        continue
                    seen.add((row[first], row[second]))
                    ways = list(zip(maps[first], maps[second], strict=True))
                    for chosen in combinations(range(len(ways)), 2) if many else [range(len(ways))]:
                        moves = tuple(dict.fromkeys(ways[n] for n in chosen))
                        if moves in tried or all(f == g for f, g in moves):
                            continue
                        tried.add(moves)
                        given = tuple(answers[n] for n in chosen) if many else ()
                        pairs = [(maps_of.distinct[f], maps_of.distinct[g]) for f, g in moves]
                        for state, prefix in starts:
                            if _tells_apart(state, pairs, budget):
                                fillings = (first, second)
                                yield BlockScheme(prefix, length, owned, fillings, tuple(letters), given)


class _BlockMaps:
    """The maps of all words of a length; equal maps share a number, which is compared instead."""

    def __init__(self, automaton: Semiautomaton, letters: list[int]) -> None:
        self.distinct: list[Transformation] = [tuple(range(automaton.num_states))]
        self._numbers = {self.distinct[0]: 0}
        self._letters = {letter: automaton.letters[letter] for letter in letters}
        self._length = 0
        self._words: dict[Word, int] = {(): 0}

    def fillings(self, length: int, owned: tuple[int, ...], budget: Budget) -> dict[Word, list[int]]:
        """For each filling of A the numbers of the block's maps, with B's fillings in a fixed order."""
        budget.spend(len(self._letters) ** length * length * len(self.distinct[0]))
        while self._length < length:
            self._words = {
                (*word, letter): self._number(tuple(action[q] for q in self.distinct[number]))
                for word, number in self._words.items()
                for letter, action in self._letters.items()
            }
            self._length += 1
        result: dict[Word, list[int]] = {}
        for word, number in self._words.items():
            result.setdefault(tuple([word[place] for place in owned]), []).append(number)
        return result

    def _number(self, image: Transformation) -> int:
        if image not in self._numbers:
            self._numbers[image] = len(self.distinct)
            self.distinct.append(image)
        return self._numbers[image]


def _tells_apart(state: int, moves: list[tuple[Transformation, Transformation]], budget: Budget) -> bool:
    """A quick filter before the check: the same sets of pairs, fewer of them."""
    # Until the two choices differ, (1, 0) is the mirror image of (0, 1).
    start = frozenset({(state, state)})
    ways = {(0, 0): [(f, f) for f, _ in moves], (1, 1): [(g, g) for _, g in moves], (0, 1): moves}
    seen = {(start, False)}
    todo = [(start, False)]
    for pairs, differed in todo:
        for (s, t), maps in ways.items():
            budget.spend(len(pairs) * len(maps) + 1)
            after = frozenset([(f[p], g[q]) for p, q in pairs for f, g in maps])
            apart = differed or s != t
            if apart and all(p == q for p, q in after):
                return False
            flipped = [(after, apart)]
            if differed:  # the two choices may swap roles later
                budget.spend(len(pairs) * len(maps))
                other = frozenset([(g[p], f[q]) for p, q in pairs for f, g in maps])
                if all(p == q for p, q in other):
                    return False
                flipped.append((other, True))
            for item in flipped:
                if item not in seen:
                    if len(seen) > FILTER_SETS:
                        return False
                    seen.add(item)
                    todo.append(item)
    return True
