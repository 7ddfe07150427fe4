"""Reachable part, congruences and minimisation against naive definitions."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krohn.automata.quotients import coarsest_congruence, minimize, quotient, reachable
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo


@st.composite
def observed(draw: st.DrawFn) -> Semiautomaton:
    states, letters = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    entries = st.lists(st.integers(0, states - 1), min_size=states * letters, max_size=states * letters)
    seen = draw(st.lists(st.integers(0, 2), min_size=states, max_size=states))
    table = np.array(draw(entries)).reshape(states, letters)
    return Semiautomaton(table, start=draw(st.integers(0, states - 1)), observe=tuple(seen))


def reached(automaton: Semiautomaton) -> set[int]:
    """States reached, by closing a set under all letters."""
    states = {automaton.start}
    while True:
        more = states | {automaton.step(q, a) for q in states for a in range(automaton.num_letters)}
        if more == states:
            return states
        states = more


def equivalent_pairs(automaton: Semiautomaton) -> set[tuple[int, int]]:
    """Pairs that no word tells apart: drop pairs until nothing changes (Moore)."""
    assert automaton.observe is not None
    pairs = {
        (p, q)
        for p, q in itertools.product(range(automaton.num_states), repeat=2)
        if automaton.observe[p] == automaton.observe[q]
    }
    while True:
        pairs_left = {
            (p, q)
            for p, q in pairs
            if all(
                (automaton.step(p, a), automaton.step(q, a)) in pairs for a in range(automaton.num_letters)
            )
        }
        if pairs_left == pairs:
            return pairs
        pairs = pairs_left


@given(observed())
def test_the_reachable_part_has_the_reached_states_and_runs_alike(automaton: Semiautomaton) -> None:
    part = reachable(automaton)
    assert set(part.state_names) == {automaton.state_names[q] for q in reached(automaton)}
    for word in itertools.product(range(automaton.num_letters), repeat=3):
        expected = [automaton.state_names[q] for q in automaton.run(word)]
        assert [part.state_names[q] for q in part.run(word)] == expected


@given(observed())
def test_hopcroft_finds_the_pairs_that_no_word_tells_apart(automaton: Semiautomaton) -> None:
    assert automaton.observe is not None
    classes = coarsest_congruence(automaton, automaton.observe)
    together = {
        (p, q)
        for p, q in itertools.product(range(automaton.num_states), repeat=2)
        if classes[p] == classes[q]
    }
    assert together == equivalent_pairs(automaton)


@given(observed())
def test_the_minimal_automaton_is_small_and_observes_alike(automaton: Semiautomaton) -> None:
    small = minimize(automaton)
    assert automaton.observe is not None
    assert small.observe is not None
    pairs = equivalent_pairs(automaton)
    states = reached(automaton)
    assert small.num_states == len({frozenset(p for p in states if (p, q) in pairs) for q in states})
    for word in itertools.product(range(automaton.num_letters), repeat=4):
        seen = [automaton.observe[q] for q in automaton.run(word)]
        assert [small.observe[q] for q in small.run(word)] == seen


@pytest.mark.parametrize(
    ("name", "states"), [("C4@zero", 4), ("D8@toggle", 2), ("Dyck4,2@top", 32), ("abab@accept", 5)]
)
def test_minimal_sizes_of_observed_zoo_automata(name: str, states: int) -> None:
    assert minimize(zoo(name)).num_states == states


def test_without_observations_only_unreachable_states_go() -> None:
    automaton = Semiautomaton(np.array([[0], [0]]))
    assert minimize(automaton).num_states == 1
    assert minimize(zoo("S4")) == zoo("S4")


def test_a_quotient_of_c4_by_its_even_part_is_c2() -> None:
    assert quotient(zoo("C4:01"), [0, 1, 0, 1]).table.tolist() == zoo("C2").table.tolist()
    assert quotient(zoo("C4:01"), [7, 3, 7, 3]).table.tolist() == zoo("C2").table.tolist()
