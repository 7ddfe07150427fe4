"""Errata of Theorem 2 and of the background it uses."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from every import every
from krohn.algebra.counters import prime_tower
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transition_semigroup import TransitionSemigroup
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.cascade.holonomy import holonomy_cascade
from krohn.network.forward import visible
from krohn.network.transformer import Layer
from krohn.paper.bounds import cascade_bounds
from krohn.paper.component_cascade import PermutationReset, component_cascade
from krohn.paper.group_products import (
    GroupSimulator,
    cyclic_simulator,
    semidirect_product,
    solvable_simulator,
    wreath_product,
)
from krohn.paper.permutation_reset import SHARED, reset_simulator
from krohn.paper.theorem2 import build_paper
from paper.group_oracles import cyclic, wreath
from paper.paper_oracles import all_words, assert_simulates, cascade_step, naive_states
from paper.printed_versions import error_rate, with_heads
from paper.test_group_products import GROUPS, LENGTH, assert_multiplies, prefix_codes

# Six states: the last of three letters, and the parity of its changes.
LAST_AND_PARITY = Semiautomaton.from_letters(
    [
        [2 * letter + (p if last == letter else 1 - p) for last in range(3) for p in range(2)]
        for letter in range(3)
    ]
)


def test_erratum_28_wiring_must_read_the_states_before_the_letter() -> None:
    net = build_paper(LAST_AND_PARITY, 6)
    words = all_words(3, 6)
    assert_simulates(net, words)
    wiring = [i for i, heads in enumerate(net.layout.heads) if any("from 1 back" in h.text for h in heads)]
    assert wiring
    printed = with_heads(
        net.transformer, lambda layer, _n, head: replace(head, key=head.query) if layer in wiring else head
    )
    assert error_rate(net, printed, words) > 0.2


def test_erratum_28_no_function_of_the_states_after_the_letter_can_do_it() -> None:
    whole = component_cascade(holonomy_cascade(LAST_AND_PARITY))
    needed: dict[tuple[int, int], set[object]] = {}
    for (values, letter), actions in whole.moves.items():
        after = cascade_step(whole, values, letter)
        needed.setdefault((after[0], letter), set()).add(actions[1])
    assert any(len(actions) > 1 for actions in needed.values())


def test_erratum_29_without_a_position_for_the_start_a_word_without_reset_never_leaves_it() -> None:
    automaton = Semiautomaton.from_letters([[1, 2, 0], [1, 1, 1]], start=2)
    net = build_paper(automaton, 5)
    assert_simulates(net, all_words(2, 5))
    names = [channel.register for channel in net.layout.moments[0]]
    padding, embedding = np.array(net.transformer.padding), np.array(net.transformer.embedding)
    padding[0, names.index("0 idle")] = 1.0
    embedding[0, names.index("0 target")] = automaton.start
    printed = replace(net.transformer, padding=padding, embedding=embedding)
    rotations = np.zeros((1, 5), dtype=np.int64)
    assert error_rate(net, printed, rotations) > 0.5
    assert naive_states(automaton, rotations).tolist() == [[0, 1, 2, 0, 1]]


def test_erratum_30_the_printed_mask_shows_the_future() -> None:
    printed = np.array([[not t > s for s in range(4)] for t in range(4)])
    assert printed[0, 3]
    assert not visible(4)[0, 3]
    assert visible(4).sum(axis=1).tolist() == [1, 2, 3, 4]


def test_erratum_31_the_condition_of_the_wreath_lemma_never_holds() -> None:
    normal, quotient = cyclic_simulator(2, LENGTH), cyclic_simulator(3, LENGTH)
    whole = wreath_product(normal, quotient, 3)
    assert whole.rep_dim == 3 * normal.rep_dim + 1 != 1
    assert quotient.rep_dim == 1
    mixing = whole.layers[1].mlp
    assert mixing.hidden_widths[1] == 3 * 3 * normal.rep_dim


def test_erratum_32_the_printed_product_of_the_wreath_background_is_the_action() -> None:
    whole = wreath_product(cyclic_simulator(2, LENGTH), cyclic_simulator(3, LENGTH), 3)
    f, one = (1, 0, 0), (0, 0, 0)
    assert_multiplies(whole, [(f, 0), (one, 1)], wreath(cyclic(2), 3))
    assert wreath(cyclic(2), 3)((one, 1), (f, 0)) == (f, 1)
    assert wreath(cyclic(2), 3)((f, 0), (one, 1)) == ((0, 1, 0), 1)
    # The embedding that is only cited, on all pairs of Q8, which is no semidirect product.
    tower = prime_tower(GROUPS["Q8"], 8)
    words = np.array(list(itertools.product(range(8), repeat=2)))
    codes = prefix_codes(solvable_simulator(tower, LENGTH), list(tower.vectors), words)
    for (a, b), code in zip(words, codes[:, 1], strict=True):
        first, second = list(tower.vectors)[a], list(tower.vectors)[b]
        assert np.allclose(code, tower.vectors[tuple(second[x] for x in first)], atol=0.02)


def test_erratum_33_group_vectors_are_longer_than_the_sizes_allow() -> None:
    part = PermutationReset(0, 4, 0, frozenset([*GROUPS["S4"], 0]))
    simulator = reset_simulator(part, 10)
    assert simulator.rep_dim == 21 > 4
    printed = 24 + 4 + 4
    assert len(simulator.channels) + len(SHARED) > printed
    assert len(simulator.channels) + len(SHARED) <= 4 * 24 + 5
    assert simulator.layers[-2].heads[-1].width > 4 + 3
    bounds = cascade_bounds(4, 3, 24, 10, levels=1)
    assert simulator.layers[-2].heads[-1].width <= bounds.corrected.head_dim


@pytest.mark.parametrize(
    ("letters", "levels"),
    [
        (((3, 0, 3, 2), (3, 1, 3, 2), (0, 1, 3, 3)), 7),
        (((0, 3, 2, 3, 1), (3, 1, 0, 4, 4), (1, 2, 4, 2, 2)), 10),
        (((5, 5, 3, 1, 4, 0), (3, 5, 4, 2, 0, 2)), 14),
    ],
)
def test_erratum_34_the_holonomy_height_can_exceed_the_number_of_states(letters, levels) -> None:
    automaton = Semiautomaton.from_letters(letters)
    cascade = holonomy_cascade(automaton)
    assert cascade.num_levels == levels > automaton.num_states
    assert_covered_by_smaller_and_smaller_sets(automaton)


def assert_covered_by_smaller_and_smaller_sets(automaton: Semiautomaton) -> None:
    """A cascade of |Q| − 1 levels without the condition on groups: level i has sets of |Q| − i states.

    Each level chooses, inside the set B of the level above, the state to leave out. What a letter does to the
    choice, given what happens above, is a permutation where it is a bijection of B, and constant elsewhere.
    """
    size, tracked = automaton.num_states, 0
    whole = tuple(range(size))
    todo = [((whole, whole), 0, letter) for letter in range(automaton.num_letters)]
    for (before, after), depth, letter in todo:
        assert len(before) == len(after) == size - depth
        image = {automaton.step(q, letter) for q in before}
        assert image <= set(after)
        if len(before) == 1:
            tracked += 1
            assert (automaton.step(before[0], letter),) == after
            continue
        moves = []
        for left in before:
            chosen = automaton.step(left, letter) if len(image) == len(before) else max(set(after) - image)
            moves.append(after.index(chosen))
            smaller = tuple(q for q in before if q != left), tuple(q for q in after if q != chosen)
            todo.append((smaller, depth + 1, letter))
        assert sorted(moves) == list(range(len(after))) or len(set(moves)) == 1
        assert len(moves) <= size
    assert tracked >= size * automaton.num_letters


def test_erratum_35_the_group_of_a_component_is_a_quotient_of_a_subgroup() -> None:
    # A group of order 8 on four states; a rank-2 letter makes two tiles, on which it acts with order 2.
    automaton = Semiautomaton.from_letters([[1, 0, 2, 3], [2, 3, 0, 1], [0, 1, 0, 1]])
    cascade = holonomy_cascade(automaton)
    whole = PermutationGroup([(1, 0, 2, 3), (2, 3, 0, 1)], 4).order
    assert whole == 8
    assert cascade.components[0].group.order == 2


def test_erratum_36_the_middle_layers_simulate_the_normal_subgroup() -> None:
    normal, quotient = cyclic_simulator(5, LENGTH), cyclic_simulator(2, LENGTH)

    def flip(h: int, g: int) -> int:
        return (-g) % 5 if h else g

    right = semidirect_product(normal, quotient, flip)
    layers = list(right.layers)
    printed_normal = quotient.place([0], [2, 3], 4)
    layers[2:3] = printed_normal
    printed = GroupSimulator(tuple[Layer, ...](layers), 2, 5, right.encode, right.elements)
    words = np.random.default_rng(0).integers(0, 10, (20, LENGTH))
    good, bad = (prefix_codes(sim, list(right.elements), words) for sim in (right, printed))
    assert abs(good - np.round(good)).max() < 0.02
    assert abs(good - bad).max() > 0.9


def test_erratum_37_the_depth_of_a_solvable_group_grows_with_its_series() -> None:
    tower = prime_tower(GROUPS["S4"], 4)
    depth = len(solvable_simulator(tower, 2).layers)
    assert depth == 3 * 4 - 2 != len(cyclic_simulator(2, 2).layers) + 3
    assert len(tower.moduli) > math.floor(math.log2(2))
    assert len(tower.moduli) <= math.log2(len(tower.vectors))


def test_erratum_38_five_states_suffice_for_a_non_solvable_automaton() -> None:
    automaton = Semiautomaton.from_letters([(1, 2, 3, 4, 0), (1, 2, 0, 3, 4)])
    assert automaton.num_states == 5 < 60
    assert not holonomy_cascade(automaton).is_solvable
    assert TransitionSemigroup(automaton.letters).size == 60


@every("name", ["S4", "T3", "T4", "abab", "Dyck4,2", "A5", "T5", "PermReset5"])
def test_erratum_39_solvability_does_not_depend_on_the_decomposition(name) -> None:
    automaton = parse_spec(name)
    groups = TransitionSemigroup(automaton.letters).subgroups
    assert holonomy_cascade(automaton).is_solvable == all(part.group.is_solvable for part in groups)
