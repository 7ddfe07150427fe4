"""A code for each state and last letter that the gates of a cell can follow, whatever the automaton.

A unit represents a class of a quotient and the last letter, and is on where both hold; one more is on from
the first letter on. After letter b the unit of (class, b) must be on if some unit of a class that b maps into
it was on: a threshold, computed by one gate. Quotients that together separate all states need fewer units
than the states themselves: those of A5 have 12 and 6 states.
"""

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.budget import UNITS, Budget, BudgetSpent
from krohn.cascade.congruences import Partition, principal_congruences, subdirect_parts
from krohn.trained.box_search import Contexts

MAX_PAIRS = 800
"""Pairs of states from which congruences are made."""

Code = npt.NDArray[np.bool_]


def code_of(automaton: Semiautomaton, found: Contexts) -> Code:
    """Which units are on in each context [contexts, units]; none for the empty word."""
    count = len(found.state)
    columns = [(np.arange(count) > 0)[:, None]]
    for labels in quotients(automaton):
        pair = np.array(labels)[found.state[1:]] * automaton.num_letters + found.last[1:]
        _, unit = np.unique(pair, return_inverse=True)
        on = np.zeros((count, int(unit.max()) + 1), dtype=bool)
        on[np.arange(1, count), unit] = True
        columns.append(on)
    return np.concatenate(columns, axis=1)


def quotients(automaton: Semiautomaton) -> list[Partition]:
    """Congruences that together separate all states; the states themselves if these are no more."""
    states = automaton.num_states
    letters = [tuple(map(int, letter)) for letter in automaton.letters]
    budget = Budget(UNITS)
    try:
        parts = list(subdirect_parts(letters, principal_congruences(letters, MAX_PAIRS, budget), budget))
    except BudgetSpent:
        parts = []
    for part in list(parts):
        rest = [other for other in parts if other is not part]
        if len(set(zip(*rest, strict=True))) == states:
            parts = rest
    size = sum(max(part) + 1 for part in parts)
    return parts if 0 < size < states else [tuple(range(states))]
