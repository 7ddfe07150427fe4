"""Theorem 2: permutation-reset components, the cascade, and whole automata, within the (corrected) bounds."""

import itertools
import math

import numpy as np
import pytest

import krohn
from every import every
from krohn.algebra.counters import prime_tower
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.cascade.holonomy import holonomy_cascade
from krohn.paper.bounds import memory_bounds
from krohn.paper.component_cascade import PermutationReset, component_cascade
from krohn.paper.group_products import solvable_simulator
from krohn.paper.permutation_reset import SHARED, reset_simulator, table_rows
from krohn.paper.theorem2 import build_paper
from paper.group_oracles import sizes
from paper.lemmas import permutation_reset_meaning
from paper.paper_oracles import (
    all_words,
    assert_simulates,
    cascade_run,
    naive_states,
    random_automaton,
    random_words,
    started,
)
from paper.recipe_sizes import component_recipe, paper_recipe_size, theorem2_bounds

SOLVABLE = ["C2", "C4", "C6", "C2xC2", "D6", "D8", "Q8", "A4", "FlipFlop", "Grid4", "abab", "T3", "Add"]


@every("name", SOLVABLE)
def test_short_words_are_simulated_from_every_start_state(name) -> None:
    automaton = parse_spec(name)
    length = 4 if automaton.num_letters <= 4 else 3
    for start in range(min(automaton.num_states, 4)):
        net = build_paper(started(automaton, start), length)
        assert_simulates(net, all_words(automaton.num_letters, length))


@every("name", [*SOLVABLE, "S4", "Dyck4,2", "Grid9", "Grid3x4"])
def test_long_words_are_simulated_within_the_bounds(name) -> None:
    automaton = parse_spec(name)
    cascade = holonomy_cascade(automaton)
    net = build_paper(automaton, 50)
    assert_simulates(net, random_words(automaton.num_letters, 50, 4))
    bounds = theorem2_bounds(automaton, 50, cascade.num_levels)
    recipe = paper_recipe_size(cascade)
    sizes = net.sizes()
    assert recipe is not None
    assert sizes["depth"] <= recipe.depth <= bounds.stated.depth
    assert recipe.depth <= bounds.corrected.depth
    for key in ("dim", "heads", "head_dim", "mlp_width", "max_weight"):
        assert sizes[key] <= getattr(bounds.corrected, key)
    for key in ("dim", "heads", "mlp_width", "max_weight"):
        assert sizes[key] <= getattr(bounds.stated, key)


@every("seed", range(12))
def test_random_solvable_automata_are_simulated(seed) -> None:
    automaton = random_automaton(3 + seed % 3, 2, seed, seed % 3)
    assert holonomy_cascade(automaton).is_solvable
    assert_simulates(build_paper(automaton, 6), all_words(2, 6))
    assert_simulates(build_paper(automaton, 40), random_words(2, 40, 5))


@every("seed", range(20))
def test_the_component_cascade_means_the_automaton(seed) -> None:
    automaton = random_automaton(4 + seed % 3, 3, 100 + seed, seed % 4)
    whole = component_cascade(holonomy_cascade(automaton))
    for word in random_words(3, 60, 5, seed):
        assert cascade_run(whole, word) == automaton.run(word)


def test_sine_counters_remove_the_length_from_the_width() -> None:
    automaton = parse_spec("S4")
    narrow, wide = build_paper(automaton, 60, "sin"), build_paper(automaton, 60)
    assert narrow.transformer.mlp_width < 400 < wide.transformer.mlp_width
    assert_simulates(narrow, random_words(automaton.num_letters, 60, 3))


@every("groups", [[], [(1, 0, 2)], [(1, 2, 0)], [(1, 2, 0), (1, 0, 2)]])
@every("resets", [[], [0], [1, 2]])
def test_a_permutation_reset_component_is_simulated(groups, resets) -> None:
    actions = [tuple(range(3)), *groups, *resets]
    letters = [action if isinstance(action, tuple) else (action,) * 3 for action in actions]
    for start in range(3):
        part = PermutationReset(0, 3, start, frozenset(actions))
        for word in itertools.islice(itertools.product(range(len(actions)), repeat=4), 200):
            chosen = [actions[letter] for letter in word]
            meaning = permutation_reset_meaning(part, chosen)
            assert meaning == Semiautomaton.from_letters(letters, start=start).run(word)
        net = build_paper(Semiautomaton.from_letters(letters, start=start), 4)
        assert_simulates(net, all_words(len(letters), 4))


def test_sizes_of_a_component_are_those_of_the_lemma() -> None:
    part = PermutationReset(0, 3, 0, frozenset([(1, 2, 0), (1, 0, 2), 1]))
    tower = prime_tower(part.permutations, 3)
    simulator = reset_simulator(part, 20)
    assert len(simulator.layers) == (3 * 2 - 2) + 2 == component_recipe(tower.moduli[::-1]).depth
    assert table_rows(part, tower) == 6 * 6 * 3
    assert simulator.layers[-1].mlp.hidden_widths[1] == 6 * 6 * 3
    assert len(simulator.channels) + 4 <= component_recipe(tower.moduli[::-1]).dim


@pytest.mark.parametrize(
    ("states", "permutations"),
    [(2, [(1, 0)]), (3, [(1, 2, 0), (1, 0, 2)]), (4, [(1, 2, 3, 0), (0, 3, 2, 1)]), (5, [(1, 2, 3, 4, 0)])],
)
def test_a_permutation_reset_component_keeps_the_bounds_of_the_lemma(states, permutations) -> None:
    length = 20
    simulator = reset_simulator(PermutationReset(0, states, 0, frozenset([*permutations, 1])), length)
    order = len(prime_tower(permutations, states).listed)
    group = solvable_simulator(prime_tower(permutations, states), length)
    memory = memory_bounds(states, length).corrected
    dim = len(simulator.channels) + len(SHARED)
    heads = [head for layer in simulator.layers for head in layer.heads]
    widths = [width for layer in simulator.layers for width in layer.mlp.hidden_widths]
    norm = max(abs(array).max(initial=0.0) for array in _arrays(simulator.layers))
    assert len(simulator.layers) == len(group.layers) + 2 <= 3 * math.log2(order) + 2
    # Erratum 33: 4|G| + 4 (and the copy of ⊥ and one) where |G| + |Q| + 4 is printed.
    assert dim <= sizes(group).dim + group.rep_dim + memory.dim <= 4 * order + 4 + 2
    assert max(len(layer.heads) for layer in simulator.layers) <= 2 * order + 1
    assert max(head.query.shape[1] for head in heads) <= 2 * order + 3
    assert max(head.value.shape[1] for head in heads) <= 2 * order + 3
    assert max(widths) <= 20 * states * length * order + 4 * states + order**2 * states
    assert norm <= max(sizes(group).max_weight, memory.max_weight, 6 * states)


def _arrays(layers):
    for layer in layers:
        yield from (*layer.mlp.weights, *layer.mlp.biases)
        for head in layer.heads:
            yield from (head.query, head.key, head.value, head.output)


def test_an_automaton_that_never_leaves_its_start_needs_no_component() -> None:
    automaton = Semiautomaton.from_letters([[0, 0, 1], [0, 1, 1]], start=0)
    assert_simulates(build_paper(automaton, 3), all_words(2, 3))


def test_a_component_that_never_changes_is_dropped() -> None:
    automaton = Semiautomaton.from_letters([[1, 0, 2, 2], [0, 1, 3, 3]], start=0)
    whole = component_cascade(holonomy_cascade(automaton))
    words = random_words(2, 30, 10)
    assert all(len({values[i] for values in whole.state}) > 1 for i in range(len(whole.components)))
    assert (np.array([cascade_run(whole, word) for word in words]) == naive_states(automaton, words)).all()


def test_the_recipe_has_the_depths_of_the_recursion() -> None:
    depths = {"C2": 3, "C4": 6, "C8": 9, "A4": 9, "S4": 12, "Grid4": 8, "Grid9": 23, "FlipFlop": 2, "abab": 6}
    for name, depth in depths.items():
        recipe = paper_recipe_size(holonomy_cascade(parse_spec(name)))
        assert recipe is not None
        assert recipe.depth == depth
    assert paper_recipe_size(holonomy_cascade(parse_spec("A5"))) is None


def test_the_layout_names_heads_and_leaves_unwritten_channels_free() -> None:
    net = build_paper(parse_spec("T3"), 6)
    texts = [text.text for heads in net.layout.heads for text in heads]
    assert "component 0: copies value and group vector of the latest reset" in texts
    assert "component 1: prefix sum" in texts
    assert "copies the states of level 0 from 1 back" in texts
    first, last = net.layout.moments[0], net.layout.moments[-1]
    assert "state" not in [channel.register for channel in first]
    assert last[-1].register == "state"
    word = (0, 1, 2, 1, 0, 2)
    seen = krohn.explain(net, word)
    assert np.round(seen.moments[-1]["state"][1:]).astype(int).tolist() == net.automaton.run(word)
