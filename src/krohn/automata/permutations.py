"""Permutation groups Sₙ and Aₙ acting on themselves, and Sₙ with resets.

A state is an arrangement of n people on n chairs, in lexicographic order; the letter ``a`` seats the
person of chair ``a[i]`` on chair ``i``: ``new[i] = state[a[i]]``. This is the regular action of the group.
"""

import math

import numpy as np
import numpy.typing as npt

from krohn.automata.generator_sets import Permutation, arrangements, even_rows, generator_set, one_line
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.sizes import capped_factorial, check_size
from krohn.errors import InvalidInput


def symmetric(n: int, letters: str = "paper") -> Semiautomaton:
    """Sₙ on its n! elements; ``letters`` names a generator set or lists permutations."""
    if n < 1:
        raise InvalidInput(f"a symmetric group Sn must have n ≥ 1; got S{n}: write S3, S4, S5")
    check_size(f"S{n}", capped_factorial(n), 1)
    return _acting_on_itself(f"S{n}", arrangements(n), generator_set("S", n, letters))


def alternating(n: int, letters: str = "paper") -> Semiautomaton:
    """Aₙ on its n!/2 even permutations; ``letters`` names a generator set or lists even permutations."""
    if n < 3:
        raise InvalidInput(f"an alternating group An must have n ≥ 3; got A{n}: write A4, A5")
    check_size(f"A{n}", capped_factorial(n) // 2, 1)
    everyone = arrangements(n)
    return _acting_on_itself(f"A{n}", everyone[even_rows(everyone)], generator_set("A", n, letters))


def permutation_reset(n: int, letters: str = "minimal") -> Semiautomaton:
    """Sₙ with, besides generators, one reset letter per element (the releases' permutation_reset task).

    A generator ``g`` renames people, ``new[i] = g[state[i]]``; a reset letter ``=p`` leads every state to p.
    """
    if n < 1:
        raise InvalidInput(f"PermResetn must have n ≥ 1; got PermReset{n}: write PermReset5")
    check_size(f"PermReset{n}", capped_factorial(n), capped_factorial(n))
    states = arrangements(n)
    chosen = generator_set("S", n, letters)
    columns = [_rank(np.array(g)[states]) for g in chosen]
    resets = [np.full(len(states), target) for target in range(len(states))]
    names = tuple(map(one_line, states.tolist()))
    return Semiautomaton(
        np.stack([*resets, *columns], axis=1),
        state_names=names,
        letter_names=(*(f"={p}" for p in names), *map(one_line, chosen)),
        name=f"PermReset{n}",
    )


def _rank(rows: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """The rank of each row in lexicographic order (by its Lehmer code)."""
    n = rows.shape[1]
    rank = np.zeros(len(rows), dtype=np.int64)
    for i in range(n):
        smaller_later = (rows[:, i + 1 :] < rows[:, i : i + 1]).sum(axis=1)
        rank += smaller_later * math.factorial(n - 1 - i)
    return rank


def _acting_on_itself(name: str, states: npt.NDArray[np.int32], letters: list[Permutation]) -> Semiautomaton:
    check_size(name, len(states), len(letters))
    place = np.full(math.factorial(states.shape[1]), -1, dtype=np.int64)
    place[_rank(states)] = np.arange(len(states))
    columns = [place[_rank(states[:, list(letter)])] for letter in letters]
    return Semiautomaton(
        np.stack(columns, axis=1),
        state_names=tuple(map(one_line, states.tolist())),
        letter_names=tuple(map(one_line, letters)),
        name=name,
    )
