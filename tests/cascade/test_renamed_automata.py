"""A plain cascade does not depend on names: other numbers of states and letters give the same shape."""

import random

import pytest

from cascade.random_automata import random_automaton
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.cascade_data import plan_as_dict
from krohn.cascade.holonomy import holonomy_cascade
from krohn.cascade.plan import HolonomyPlan
from krohn.construct.decomposing import decompose


def renamed(automaton: Semiautomaton, seed: int) -> tuple[Semiautomaton, list[int], list[int]]:
    """The automaton under other numbers; the new number of each state, and the old one of each letter."""
    dice = random.Random(seed)
    new = dice.sample(range(automaton.num_states), automaton.num_states)
    old = dice.sample(range(automaton.num_letters), automaton.num_letters)
    letters = []
    for letter in old:
        images = [0] * automaton.num_states
        for state in range(automaton.num_states):
            images[new[state]] = new[automaton.step(state, letter)]
        letters.append(images)
    return Semiautomaton.from_letters(letters, start=new[automaton.start]), new, old


def shape(automaton: Semiautomaton) -> list[tuple[object, ...]]:
    parts = HolonomyPlan(automaton, holonomy_cascade(automaton)).components
    return sorted((part.level, part.tiles, part.group_order, part.group, part.has_resets) for part in parts)


@every("seed", range(12))
def test_levels_tiles_and_groups_do_not_depend_on_names(seed: int) -> None:
    automaton = random_automaton(seed, largest=6)
    other, _, _ = renamed(automaton, seed)
    levels = holonomy_cascade(automaton).num_levels
    assert holonomy_cascade(other).num_levels == levels
    assert shape(other) == shape(automaton)


@every("seed", range(12, 20))
def test_every_word_from_every_state_is_run_as_under_the_old_names(seed: int) -> None:
    automaton = random_automaton(seed, largest=5)
    other, new, old = renamed(automaton, seed)
    there = decompose(other, plain=True)
    dice = random.Random(seed)
    words = [dice.choices(range(other.num_letters), k=9) for _ in range(6)]
    for state in range(automaton.num_states):
        expected = [
            [new[q] for q in automaton.run([old[letter] for letter in word], start=state)] for word in words
        ]
        assert there.simulate(words, start=new[state]).tolist() == expected
        coordinates = there.coordinates(new[state])
        assert there.state(coordinates) == new[state]
        for letter, seen in zip(words[0], expected[0], strict=True):
            coordinates = there.step(coordinates, letter)
            assert there.state(coordinates) == seen


@pytest.mark.parametrize("seed", range(20, 26))
def test_data_of_a_cascade_are_the_same_twice_and_name_every_state(seed: int) -> None:
    automaton = random_automaton(seed, largest=5)
    first, second = (plan_as_dict(decompose(automaton, plain=True).plan) for _ in range(2))
    assert first == second
    for part in first["components"]:
        covered = {name for tile in part["tile_states"] for name in tile}
        assert covered == set(part["representative"])
        assert len(part["tile_states"]) == part["tiles"]
