"""Observation maps φ of the paper's indirect-supervision table, by name."""

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton


def stack_top(automaton: Semiautomaton) -> list[int]:
    """Dyck: 0 for the empty stack, 1…k for the bracket on top, k + 1 for the sink."""
    kinds = automaton.num_letters // 2
    tops = [0]
    # Stacks are numbered by length and lexicographically, so the top runs fastest.
    tops += [1 + stack % kinds for stack in range(automaton.num_states - 2)]
    return [*tops, kinds + 1]


def boundary(automaton: Semiautomaton) -> list[int]:
    """Grid: 1 where a wall stops some move."""
    stopped = automaton.table == np.arange(automaton.num_states)[:, None]
    moves = [name != "noop" for name in automaton.letter_names]
    return [int(value) for value in stopped[:, moves].any(axis=1)]


def first_element(automaton: Semiautomaton) -> list[int]:
    """Permutations: who sits on the first chair, 0-based (the paper counts from 1)."""
    separator = "." if "." in automaton.state_names[0] else None
    return [int(name.split(separator)[0] if separator else name[0]) for name in automaton.state_names]


def is_zero(automaton: Semiautomaton) -> list[int]:
    """Cyclic groups: 1 at state 0."""
    return [int(state == 0) for state in range(automaton.num_states)]


def dihedral_place(automaton: Semiautomaton) -> list[int]:
    """Dihedral groups: the place on the ring, without the direction."""
    return [state % (automaton.num_states // 2) for state in range(automaton.num_states)]


def dihedral_toggle(automaton: Semiautomaton) -> list[int]:
    """Dihedral groups: the direction, without the place."""
    return [state // (automaton.num_states // 2) for state in range(automaton.num_states)]


def accepted(automaton: Semiautomaton) -> list[int]:
    """(abab)*: 1 at the accepting state 3."""
    return [int(state == 3) for state in range(automaton.num_states)]


def digit(automaton: Semiautomaton) -> list[int]:
    """Adder: the digit just written."""
    return [state % 2 for state in range(automaton.num_states)]


def carry(automaton: Semiautomaton) -> list[int]:
    """Adder: the carry into the next digit."""
    return [state // 2 for state in range(automaton.num_states)]
