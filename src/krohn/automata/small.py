"""All small automata up to isomorphism: reachable from the start, up to renaming states and letters."""

from itertools import permutations, product

import numpy as np

from krohn.automata.graph import explore
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import LimitExceeded

IN_VAIN = 10_000
"""Draws in a row without a new automaton, after which a sample is taken to have all there are."""
MOST_TABLES = 2_000_000
MOST_STATES, MOST_LETTERS = 8, 6
"""Beyond these, finding isomorphic automata takes too long."""

Table = tuple[tuple[int, ...], ...]


def small_automata(states: int, letters: int) -> list[Semiautomaton]:
    """Every automaton of exactly that many states, all reachable from state 0, one per isomorphism class."""
    require_listable(states, letters)
    tables = product(product(range(states), repeat=letters), repeat=states)
    result = {canonical(table) for table in tables if _reaches_all(table)}
    return [Semiautomaton(np.array(table), 0) for table in sorted(result)]


def require_listable(states: int, letters: int) -> None:
    """Refuses sizes with too many tables."""
    count = states ** (states * letters)
    if count > MOST_TABLES:
        raise LimitExceeded(
            f"automata can be listed up to {MOST_TABLES:,} tables; {states} states and {letters} letters "
            f"have {count:.3g}: take fewer, or draw a sample (--sample)"
        )


def sample_automata(states: int, letters: int, count: int, seed: int) -> list[Semiautomaton]:
    """Random pairwise non-isomorphic automata with distinct letters and all states reachable.

    They are fewer than ``count`` where there are no more.
    """
    dice = np.random.default_rng(seed)
    result: dict[Table, None] = {}
    if count > MOST_TABLES:
        raise LimitExceeded(f"a sample may have at most {MOST_TABLES:,} automata; got {count:,}: take fewer")
    known, in_vain = 0, 0
    while len(result) < count and in_vain < IN_VAIN:
        in_vain = in_vain + 1 if len(result) == known else 0
        known = len(result)
        table = dice.integers(states, size=(states, letters))
        if len({tuple(column) for column in table.T.tolist()}) == letters and _reaches_all(table.tolist()):
            result[canonical(tuple(map(tuple, table.tolist())))] = None
    return [Semiautomaton(np.array(table), 0) for table in result]


def _reaches_all(rows: Table | list[list[int]]) -> bool:
    return len(explore(0, rows.__getitem__)[0]) == len(rows)


def canonical(table: Table) -> Table:
    """The least table over all orders of the letters, with states numbered in the order they are reached.

    This numbering of the states leaves no freedom but the order of the letters.
    """
    orders = permutations(range(len(table[0])))
    columns = ([[row[letter] for letter in order] for row in table] for order in orders)
    return min(tuple(map(tuple, explore(0, rows.__getitem__)[1])) for rows in columns)
