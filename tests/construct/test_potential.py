"""Sums without looking back: u and ψ give the sum of all steps that count, on every path."""

import random

import numpy as np
import pytest

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import small_automata
from krohn.construct.tight.potential import potential
from krohn.network.program import interpret
from krohn.proving.verification import verify
from unproved import compile


def test_the_sum_is_that_of_all_steps_on_every_path() -> None:
    """Stage sets 0 … 2; letter 1 leads on, letter 0 leads back to 0 and counts if the set before was 2."""
    counted = {(q, 1, (q + 1) % 3): 0 for q in range(3)} | {(q, 0, 0): int(q == 2) for q in range(3)}
    result = potential(counted, {(0, 2, 0)}, 0, 2)
    assert result is not None
    dice = random.Random(0)
    for _ in range(50):
        stage, total, ahead = 0, 0, 0
        for _ in range(20):
            letter = dice.randrange(2)
            after = 0 if letter == 0 else (stage + 1) % 3
            total += counted[stage, letter, after]
            ahead += result.steps[letter, after]
            stage = after
            assert (ahead + result.level[stage] - result.level[0]) % 2 == total % 2


def test_steps_that_contradict_each_other_have_no_potential() -> None:
    """Two letters bring the same two sets together, and only one of them counts."""
    counted = {(0, 0, 0): 0, (1, 0, 0): 1, (0, 1, 1): 0, (1, 1, 1): 0}
    assert potential(counted, {(0, 2, 0)}, 0, 2) is None
    assert potential({**counted, (1, 1, 1): 1}, {(0, 2, 0)}, 0, 2) is not None


@pytest.mark.slow
def test_no_small_automaton_needs_more_than_three_layers() -> None:
    """All 121 with 2 or 3 states and 2 letters, against a naive simulation of every word of 8 letters."""
    words = np.array([[n >> place & 1 for place in range(8)] for n in range(256)])
    for automaton in (*small_automata(2, 2), *small_automata(3, 2)):
        network = compile(automaton, 8, method="cascade")
        assert network.transformer.depth <= 3
        naive = [automaton.run(word) for word in words.tolist()]
        assert network.program is not None
        assert interpret(network.program, words).tolist() == naive


@pytest.mark.parametrize(
    "table", [((0, 1), (0, 2), (1, 0)), ((0, 1), (1, 2), (0, 2)), ((0, 1), (2, 0), (0, 2))]
)
def test_three_layers_are_certified(table: tuple[tuple[int, int], ...]) -> None:
    network = compile(Semiautomaton(np.array(table, dtype=np.int32)), 20, method="cascade", effort=0.1)
    assert network.transformer.depth == 3
    assert verify(network, second_opinion=False).certified
