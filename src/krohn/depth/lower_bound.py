"""The best lower bound found: two layers by a block or last-block scheme, one layer by two words.

If two words of equal length and equal last letter lead to different states, some layer is needed. Without a
layer the output is a function of the position and the letter there, whatever the embedding and the
read-out are. If there are no such words, that function suffices.

A last-block scheme is the witness that one layer needs ever more heads, where counting bits gives no bound.
Words are a prefix and then letters a and b. Two words that fill some block in the two different ways, and
then agree on b … b a … a until the end, lead to different states whatever precedes the block. Then additive
sums of few bits cannot tell two such words apart, and few heads cannot be made to attend to the right place
(statement and proof: docs/lower-bounds.md). The check reads only the transition table.

Block schemes (``block_scheme``) are searched here: short blocks first, all places of A, all pairs of
fillings, all prefixes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from krohn.automata.quotients import reachable, words_to_states
from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.base.portable import Budget, BudgetSpent
from krohn.depth.block_scheme import BlockScheme, Table, Word, check_block_scheme, state_after
from krohn.depth.group_scheme import find_group_scheme, has_abelian_differences
from krohn.depth.layer_size import LayerSize

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


def distinct_letters(automaton: Semiautomaton) -> list[int]:
    """One letter for each distinct action."""
    return list({action: letter for letter, action in reversed(list(enumerate(automaton.letters)))}.values())[
        ::-1
    ]


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


Witness = TwoWords | BlockScheme | LastBlockScheme
"""Each has ``layers``, how many are needed, and ``beyond(size)``, the length beyond which they are."""

MOST_LETTERS = 20
"""With more letters, only those that keep most states distinct are tried in pairs."""

FEW_STATES = 40
"""Most states for a last-block scheme search: its check follows pairs of them."""


@lru_cache(maxsize=64)  # called by every command that shows a network, often for the same few automata
def find_two_layer_witness(automaton: Semiautomaton) -> BlockScheme | LastBlockScheme | None:
    """A scheme that its check confirms; ``None`` if none is found within the search budget.

    Pairs of letters are tried first: two are enough for a scheme, and often reach few states. A product of
    automata has the schemes of each factor, by letters that fix the states of the other factors. A group has
    a scheme if and only if its words of equal length do not commute.
    """
    if automaton.num_states > MOST_STATES or has_abelian_differences(automaton):
        return None
    letters = distinct_letters(automaton)
    return (
        _of_two_letters(automaton, letters)
        or find_block_scheme(automaton)
        or find_group_scheme(automaton)
        or _last_block(automaton, letters)
    )


def _of_two_letters(automaton: Semiautomaton, letters: list[int]) -> BlockScheme | None:
    """A scheme over two of the letters, pairs that reach few states first."""
    if len(letters) == 2:
        return None  # ``find_block_scheme`` tries these
    wide = sorted(letters, key=lambda letter: -len(set(automaton.letters[letter])))[:MOST_LETTERS]
    parts = {
        pair: reachable(Semiautomaton(np.ascontiguousarray(automaton.table[:, pair]), automaton.start))
        for pair in combinations(wide, 2)
    }
    budget = Budget(2 * SCHEME_UNITS)
    for pair, part in sorted(parts.items(), key=lambda item: item[1].num_states):
        result = find_block_scheme(part, budget.part(SCHEME_UNITS)) if budget.left >= 1 else None
        if result is not None:
            words = (result.prefix, *result.fillings, result.letters, *result.answers)
            prefix, one, two, chosen, *answers = (tuple(pair[x] for x in word) for word in words)
            return BlockScheme(prefix, result.length, result.owned, (one, two), chosen, tuple(answers))
    return None


def _last_block(automaton: Semiautomaton, letters: list[int]) -> LastBlockScheme | None:
    part = reachable(automaton)
    if part.num_states > FEW_STATES:
        return None
    try:
        prefixes = words_to_states(part, letters)
        return find_last_block_scheme(
            part.table.tolist(), part.start, prefixes, letters, Budget(SCHEME_UNITS)
        )
    except BudgetSpent:
        return None


def find_witness(
    automaton: Semiautomaton, *, most: int | None = None, observed: bool = False
) -> Witness | None:
    """The witness of the largest lower bound found; ``most`` is a number of layers known to suffice.

    With ``observed``, the output is a minimal automaton's observation, not its state; a last-block scheme
    proves nothing about observations.
    """
    if most is None or most >= 2:
        result = find_two_layer_witness(automaton)
        if result is not None and not (observed and isinstance(result, LastBlockScheme)):
            return result
    shown = automaton.observe if observed else None
    return None if most == 0 else find_two_words(automaton.table.tolist(), automaton.start, shown)
