"""Theorem 1: exhaustive on small automata, random on the paper's, all start states, both float types."""

import itertools

import numpy as np
import pytest

from every import every
from krohn.automata.zoo import parse_spec
from krohn.network.forward import apply_mlp, logits
from krohn.paper.composition import GADGETS, composition_mlp, composition_width
from krohn.paper.theorem1 import build_scan, scan_depth
from paper.lemmas import composition_meaning
from paper.paper_oracles import (
    all_words,
    assert_simulates,
    line,
    random_automaton,
    random_words,
    started,
)


@every("gadget", GADGETS)
@every("states", [1, 2, 3])
def test_every_pair_of_maps_is_composed(states, gadget) -> None:
    maps = list(itertools.product(range(states), repeat=states))
    mlp = composition_mlp(states, gadget)
    pairs = np.array([(*left, *right) for left in maps for right in maps], dtype=np.float64)
    wanted = np.array([composition_meaning(left, right) for left in maps for right in maps])
    for dtype in (np.float64, np.float32, np.float16):
        assert (apply_mlp(mlp, pairs.astype(dtype)) == wanted).all()
    assert mlp.hidden_widths[0] == composition_width(states, gadget)


@pytest.mark.parametrize("gadget", ["direct", "plateau"])
def test_composition_tolerates_a_quarter_in_the_map_that_comes_first(gadget) -> None:
    rng = np.random.default_rng(3)
    states = 6
    left, right = rng.integers(0, states, (200, states)), rng.integers(0, states, (200, states))
    noisy = left + rng.uniform(-0.25, 0.25, left.shape)
    out = apply_mlp(composition_mlp(states, gadget), np.concatenate([noisy, right], axis=1))
    np.testing.assert_allclose(out, np.take_along_axis(right, left, axis=1), atol=1e-9)


@every("gadget", GADGETS)
@every("states", [2, 7, 24])
def test_weights_of_the_composition_stay_below_the_lemma(states, gadget) -> None:
    mlp = composition_mlp(states, gadget)
    assert max(np.abs(array).max() for array in (*mlp.weights, *mlp.biases)) <= 4 * states + 2


@every("length", [1, 2, 3, 4, 5, 6, 7, 8])
def test_every_word_is_simulated_from_every_start_state(length) -> None:
    for seed, (states, letters) in enumerate([(2, 2), (3, 2), (4, 2)]):
        for start in range(states):
            net = build_scan(random_automaton(states, letters, seed, start), length)
            assert_simulates(net, all_words(letters, length))


@pytest.mark.parametrize("gadget", GADGETS)
def test_every_gadget_simulates_a_three_letter_automaton(gadget) -> None:
    net = build_scan(random_automaton(5, 3, 9, 2), 5, gadget)
    assert_simulates(net, all_words(3, 5))


@every("name", ["C2", "C6", "Grid4", "Dyck4,2", "A5"])
@every("length", [33, 100])
def test_the_paper_automata_are_simulated_within_the_theorem(name, length) -> None:
    automaton = parse_spec(name)
    net = build_scan(automaton, length)
    assert_simulates(net, random_words(automaton.num_letters, length, 3))
    states, sizes = automaton.num_states, net.sizes()
    assert (sizes["depth"], sizes["dim"], sizes["heads"]) == (7 if length == 100 else 6, 2 * states + 2, 2)
    assert sizes["mlp_width"] == 2 * states**2
    assert sizes["max_weight"] <= max(4 * states + 2, 10 * length * np.sqrt(np.log(states * length))) * (
        1 + 1e-9
    )


def test_attention_is_exactly_one_hot_so_the_output_is_exact() -> None:
    automaton = started(parse_spec("S4"), 5)
    net = build_scan(automaton, 128)
    words = random_words(automaton.num_letters, 128, 2)
    seen = {}
    logits(net.transformer, words, np.float32, observe=lambda name, value: seen.update({name: value}))
    weights = [value for name, value in seen.items() if name.endswith("weights")]
    assert weights
    assert all(np.isin(value, (0.0, 1.0)).all() for value in weights)
    assert_simulates(net, words)


def test_a_thousand_letters_hold_in_float32() -> None:
    net = build_scan(line(3, 1), 1000)
    assert_simulates(net, random_words(2, 1000, 1), ("float32",))


def test_one_state_and_one_letter_are_fine() -> None:
    assert_simulates(build_scan(random_automaton(1, 1, 0), 1), all_words(1, 1))
    assert build_scan(random_automaton(1, 1, 0), 1).transformer.depth == 0
    assert [scan_depth(length) for length in (1, 2, 3, 4, 5, 8, 9)] == [0, 1, 2, 2, 3, 3, 4]
