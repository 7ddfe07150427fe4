"""Verdicts on all small automata, against orders of maps that are found by multiplying them."""

import itertools
from functools import cache

import numpy as np
import pytest

from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.recurrent.capability import capability

Map = tuple[int, ...]
FAMILIES = [
    "diagonal [0, 1]",
    "diagonal [-1, 1]",
    "diagonal complex",
    "DeltaNet [0, 2]",
    "DeltaProduct",
    "GRU",
]


def small() -> list[Semiautomaton]:
    """Every automaton with two letters on two states, and some on three and four, whatever can be reached."""
    result = [
        Semiautomaton.from_letters(pair, start=start)
        for pair in itertools.product(itertools.product(range(2), repeat=2), repeat=2)
        for start in range(2)
    ]
    dice = np.random.default_rng(5)
    more = [dice.integers(size, size=(2, size)).tolist() for size in (3, 3, 3, 3, 3, 3, 4, 4, 4)]
    more += [[(1, 2, 0)], [(1, 2, 3, 0), (1, 0, 3, 2)]]
    return result + [Semiautomaton.from_letters(letters) for letters in more]


AUTOMATA = small()


def then(first: Map, second: Map) -> Map:
    return tuple(second[image] for image in first)


@cache
def reached(automaton: Semiautomaton) -> list[int]:
    seen = [automaton.start]
    for state in seen:
        seen += [q for q in dict.fromkeys(map(int, automaton.table[state])) if q not in seen]
    return seen


def elements(automaton: Semiautomaton) -> set[Map]:
    """What words do to the states that are reached, by multiplying until nothing new comes."""
    place = {state: number for number, state in enumerate(reached(automaton))}
    letters = [tuple(place[letter[state]] for state in place) for letter in automaton.letters]
    result = set(letters)
    while True:
        more = {then(one, letter) for one in result for letter in letters} - result
        if not more:
            return result
        result |= more


def periods(automaton: Semiautomaton) -> set[int]:
    """The lengths of the cycles that the powers of elements run into."""
    result = set()
    for one in elements(automaton):
        powers = [one]
        while (power := then(powers[-1], one)) not in powers:
            powers.append(power)
        result.add(len(powers) - powers.index(power))
    return result


@every("number", range(len(AUTOMATA)))
def test_gates_remember_count_by_twos_or_turn(number: int) -> None:
    """Groups on four states are solvable, and 2-groups if every element has a power of two as its period."""
    automaton = AUTOMATA[number]
    orders = periods(automaton)
    two = all(order & (order - 1) == 0 for order in orders)
    can = {family: capability(automaton, family, 50, 50)[0] for family in FAMILIES}
    assert can["diagonal [0, 1]"] is (orders == {1})
    assert can["diagonal [-1, 1]"] is two
    assert can["diagonal complex"] is can["DeltaNet [0, 2]"] is can["DeltaProduct"] is can["GRU"] is True


@pytest.mark.parametrize("family", FAMILIES)
def test_more_layers_and_steps_never_do_less(family: str) -> None:
    rank = {False: 0, None: 1, True: 2}
    for automaton in AUTOMATA[::3]:
        answers = {
            (layers, steps): rank[capability(automaton, family, layers, steps)[0]]
            for layers in (1, 2, 3, 6)
            for steps in (1, 2, 3)
        }
        for (layers, steps), answer in answers.items():
            more = [answers[place] for place in answers if place[0] >= layers and place[1] >= steps]
            assert min(more) == answer, (automaton.table.tolist(), layers, steps)


def test_states_that_no_word_reaches_do_not_count() -> None:
    """Two states that swap, and three beside them that turn: from the start it is parity."""
    parity, more = Semiautomaton.from_letters([(1, 0)]), Semiautomaton.from_letters([(1, 0, 3, 4, 2)])
    turning = Semiautomaton.from_letters([(1, 0, 3, 4, 2)], start=2)
    for family in FAMILIES:
        assert capability(more, family, 1, 1) == capability(parity, family, 1, 1)
    assert capability(turning, "diagonal [-1, 1]", 9, 9)[0] is False
