"""The search for a block scheme: short blocks first, all places of A, all pairs of fillings, all prefixes."""

from collections.abc import Iterator
from itertools import combinations, product

from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.budget import Budget, BudgetSpent
from krohn.depth.block_scheme import BlockScheme, Word, check_block_scheme

LONGEST = 6
MOST_WORDS = 20_000
MOST_SETS = 300
UNITS = 2_000_000
"""Default budget of a search: less than a second."""

MOST_STATES = 5_000
"""Automata of more states are not searched for a witness."""

MANY_STATES, NEAR = 60, 8
"""With more states than the first number, only prefixes to the second number of them are tried."""

Moves = tuple[tuple[Transformation, Transformation], ...]


def find_block_scheme(automaton: Semiautomaton, budget: Budget | None = None) -> BlockScheme | None:
    """A scheme that the independent check confirms, ``None`` if the search finds none within its budget."""
    budget = budget or Budget(UNITS)
    if automaton.num_states > MOST_STATES:
        return None
    try:
        for scheme in _schemes(automaton, budget):
            if check_block_scheme(automaton.table.tolist(), automaton.start, scheme).holds:
                return scheme
    except BudgetSpent:
        pass
    return None


def _schemes(automaton: Semiautomaton, budget: Budget) -> Iterator[BlockScheme]:
    """Where there are many states, B has two answers, so that few pairs of states are reached."""
    letters, many = distinct_letters(automaton), automaton.num_states > MANY_STATES
    words = words_to_states(automaton, letters)
    starts = list(words.items())[: NEAR if many else None]
    tried: set[Moves] = set()
    for length in range(2, LONGEST + 1):
        if len(letters) ** length > MOST_WORDS:
            return
        for size in range(1, length):
            for owned in combinations(range(length), size):
                maps = _maps(automaton, letters, length, owned, budget)
                answers = list(product(letters, repeat=length - size))
                for first, second in combinations(maps, 2):
                    ways = list(zip(maps[first], maps[second], strict=True))
                    for chosen in combinations(range(len(ways)), 2) if many else [range(len(ways))]:
                        moves = tuple(dict.fromkeys(ways[n] for n in chosen))
                        if moves in tried or all(f == g for f, g in moves):
                            continue
                        tried.add(moves)
                        given = tuple(answers[n] for n in chosen) if many else ()
                        for state, prefix in starts:
                            if _tells_apart(state, moves, budget):
                                fillings = (first, second)
                                yield BlockScheme(prefix, length, owned, fillings, tuple(letters), given)


def distinct_letters(automaton: Semiautomaton) -> list[int]:
    """One letter for each distinct action."""
    return list({action: letter for letter, action in reversed(list(enumerate(automaton.letters)))}.values())[
        ::-1
    ]


def words_to_states(automaton: Semiautomaton, letters: list[int]) -> dict[int, Word]:
    """A shortest word to every state reachable by these letters."""
    words: dict[int, Word] = {automaton.start: ()}
    for state in (queue := [automaton.start]):
        for letter in letters:
            target = automaton.step(state, letter)
            if target not in words:
                words[target] = (*words[state], letter)
                queue.append(target)
    return words


def _maps(
    automaton: Semiautomaton, letters: list[int], length: int, owned: tuple[int, ...], budget: Budget
) -> dict[Word, list[Transformation]]:
    """Per filling of A the maps of the block, with B's fillings in a fixed order."""
    budget.spend(len(letters) ** length * length * automaton.num_states)
    result: dict[Word, list[Transformation]] = {}
    rest = [place for place in range(length) if place not in owned]
    for others in product(letters, repeat=len(rest)):
        for filling in product(letters, repeat=len(owned)):
            at = dict(zip((*owned, *rest), (*filling, *others), strict=True))
            image: Transformation = tuple(range(automaton.num_states))
            for place in range(length):
                letter = automaton.letters[at[place]]
                image = tuple(letter[q] for q in image)
            result.setdefault(filling, []).append(image)
    return result


def _tells_apart(state: int, moves: Moves, budget: Budget) -> bool:
    """A quick filter before the check: the same sets of pairs, fewer of them."""
    start = frozenset({(state, state)})
    ways = {
        (0, 0): [(f, f) for f, _ in moves],
        (1, 1): [(g, g) for _, g in moves],
        (0, 1): list(moves),
    }
    seen = {(start, False)}
    todo = [(start, False)]
    for pairs, differed in todo:
        for (s, t), maps in ways.items():
            budget.spend(len(pairs) * len(maps) + 1)
            after = frozenset((f[p], g[q]) for p, q in pairs for f, g in maps)
            apart = differed or s != t
            if apart and all(p == q for p, q in after):
                return False
            flipped = [(after, apart)]
            if differed:  # the two choices may swap their parts later
                budget.spend(len(pairs) * len(maps))
                other = frozenset((g[p], f[q]) for p, q in pairs for f, g in maps)
                if all(p == q for p, q in other):
                    return False
                flipped.append((other, True))
            for item in flipped:
                if item not in seen:
                    if len(seen) > MOST_SETS:
                        return False
                    seen.add(item)
                    todo.append(item)
    return True
