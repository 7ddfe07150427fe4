"""The best lower bound found: two layers by a block or last-block scheme, one layer by two words."""

from functools import lru_cache
from itertools import combinations

import numpy as np

from krohn.automata.quotients import reachable, words_to_states
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import Budget, BudgetSpent
from krohn.depth.block_scheme import BlockScheme
from krohn.depth.block_search import MOST_STATES, SCHEME_UNITS, distinct_letters, find_block_scheme
from krohn.depth.group_scheme import find_group_scheme, has_abelian_differences
from krohn.depth.last_block import LastBlockScheme, find_last_block_scheme
from krohn.depth.two_words import TwoWords, find_two_words

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
