"""The observation maps φ of the paper's table of indirect supervision."""

from collections.abc import Callable

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


def relative(automaton: Semiautomaton) -> list[int]:
    """Permutations: the arrangement but for a rotation of the people's numbers, 0-based.

    A letter acts on what is seen: n elements with one view are a coset of the rotations. Of the 60 elements
    of A5 twelve views are left, as many as A4 has elements.
    """
    separator = "." if "." in automaton.state_names[0] else None
    rows = np.array([name.split(separator) if separator else [*name] for name in automaton.state_names], int)
    views = (rows - rows[:, :1]) % rows.shape[1]
    return [int(view) for view in np.unique(views, axis=0, return_inverse=True)[1].ravel()]


def by_number(show: Callable[[int, int], int]) -> Callable[[Semiautomaton], list[int]]:
    """A function of a state's number and of how many states there are."""
    return lambda automaton: [show(q, automaton.num_states) for q in range(automaton.num_states)]
