"""The atlas: all kinds of automata once, classes against their definitions, entries against simulation."""

from itertools import permutations, product

import numpy as np
import pytest

from krohn import compile
from krohn.algebra.varieties import varieties
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import canonical, sample_automata, small_automata
from krohn.construct.small_atlas import atlas


def renamed(
    table: np.ndarray, states: tuple[int, ...], letters: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    new = np.empty_like(table)
    for q, x in product(range(table.shape[0]), range(table.shape[1])):
        new[states[q], letters[x]] = states[table[q, x]]
    return tuple(map(tuple, new.tolist()))


def test_every_kind_is_listed_once() -> None:
    assert [len(small_automata(n, k)) for n, k in ((2, 2), (3, 2), (2, 3))] == [7, 114, 16]
    for automaton in small_automata(3, 2)[::9]:
        table = automaton.table
        for states in [(0, *rest) for rest in permutations(range(1, 3))]:
            for letters in permutations(range(2)):
                assert canonical(renamed(table, states, letters)) == tuple(map(tuple, table.tolist()))


def naive_definite(automaton: Semiautomaton) -> bool:
    """Words of |Q|² letters lead all states to one."""
    length = min(automaton.num_states**2, 9)
    words = product(range(automaton.num_letters), repeat=length)
    return all(len({automaton.run(w, q)[-1] for q in range(automaton.num_states)}) == 1 for w in words)


def test_classes_agree_with_their_definitions() -> None:
    for automaton in small_automata(3, 2):
        result = varieties(automaton)
        assert ("definite" in result) == naive_definite(automaton)
        a, b = automaton.letters
        assert ("commutative" in result) == (tuple(b[q] for q in a) == tuple(a[q] for q in b))
        assert ("group" in result) == (len(set(a)) == len(set(b)) == 3)
        assert "aperiodic" in result or "R-trivial" not in result
        assert "aperiodic" in result or "locally testable" not in result
        assert "locally testable" in result or "definite" not in result


@pytest.mark.parametrize("automaton", small_automata(3, 2)[5::23], ids=lambda a: str(a.table.tolist()))
def test_built_depth_is_the_atlas_depth_and_certified(automaton: Semiautomaton) -> None:
    (entry,) = atlas([automaton], 0.2)
    network = compile(automaton, 17, effort=0.2)
    assert network.transformer.depth == entry["depth"]
    assert entry["lower"] <= network.transformer.depth
    assert network.proved == "float32"
    words = np.array(list(product(range(2), repeat=8)))
    assert network.run(words).tolist() == [automaton.run(word) for word in words.tolist()]


def test_a_sample_is_seeded_and_of_different_kinds() -> None:
    first, second = (sample_automata(4, 2, 8, seed=3) for _ in range(2))
    tables = [automaton.table.tolist() for automaton in first]
    assert tables == [automaton.table.tolist() for automaton in second]
    assert len({str(table) for table in tables}) == 8
