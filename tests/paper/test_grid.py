"""Theorem 3: every variant on every short word from every start, and on long words within its sizes."""

import itertools

import numpy as np
import pytest

import krohn
from every import every
from krohn.automata.zoo import parse_spec
from krohn.network.forward import apply_mlp
from krohn.paper.age_mlp import attainable_features, comparisons, interleaved_ages, state_mlp
from krohn.paper.circular_mlp import EMBEDDINGS, circular_mlp
from krohn.paper.grid_runs import grid_run
from krohn.paper.gridworlds import recognise_grid
from krohn.paper.theorem3 import VARIANTS, build_grid
from paper.lemmas import prefix_sum_meaning
from paper.paper_oracles import all_words, assert_simulates, line, random_words, started
from paper.test_grid_recognition import CASES, renamed_grid


@every("variant", VARIANTS)
@every("walls", [1, 3])
def test_every_word_with_no_ops_is_simulated_from_every_start_state(walls, variant) -> None:
    for start in range(walls + 1):
        for activation in EMBEDDINGS:
            net = build_grid(line(walls + 1, start, noop=True), 4, variant, activation)
            assert_simulates(net, all_words(3, 4))


@pytest.mark.parametrize("length", [1, 2])
def test_very_short_lengths_are_fine(length) -> None:
    for variant in VARIANTS:
        assert_simulates(build_grid(line(4, 2, noop=True), length, variant), all_words(3, length))


@every("variant", VARIANTS)
@every("name", ["Grid4", "Grid9"])
def test_long_words_are_simulated_in_two_layers(name, variant) -> None:
    automaton = parse_spec(name)
    words = random_words(2, 100, 8)
    words[0], words[1] = 0, 1
    for start in (0, automaton.num_states // 2):
        # The literal first MLP of the paper's heads is too noisy in float32; the clamped one is not.
        activation = "relu" if variant.startswith("mod") else "clamped"
        net = build_grid(started(automaton, start), 100, variant, activation)
        assert_simulates(net, words)
        assert net.transformer.depth == 2


@every("variant", ["mod", "mod_sum", "count"])
@every(("shape", "moves"), CASES)
def test_grids_in_any_number_of_dimensions_are_simulated(shape, moves, variant) -> None:
    automaton = renamed_grid(shape, moves, 1)
    net = build_grid(automaton, 40, variant, "sin")
    assert_simulates(net, random_words(automaton.num_letters, 40, 10))
    assert_simulates(build_grid(automaton, 3, variant), all_words(automaton.num_letters, 3))


def test_the_recommended_heads_hold_in_float32_at_a_thousand_letters() -> None:
    net = build_grid(line(9, 3), 1000, activation="sin")
    assert_simulates(net, random_words(2, 1000, 1), ("float32",))


@pytest.mark.parametrize("walls", [1, 3, 8])
def test_sizes_are_those_of_the_theorem_after_correction(walls) -> None:
    total = 100 + walls
    automaton = line(walls + 1)
    paper, mod, summed = (build_grid(automaton, 100, v).transformer for v in ("count", "mod", "mod_sum"))
    assert (paper.heads, paper.dim, paper.head_dim) == (2 * walls + 1, 2 * walls + 8, 3)
    assert paper.mlp_width == 4 * (2 * total + 1)
    assert (mod.heads, mod.dim, summed.heads, summed.dim) == (walls, walls + 8, walls, 9)
    assert build_grid(automaton, 100, "mod", "sin").transformer.mlp_width == max(2, 2 * walls)
    assert state_mlp(walls, total, "count").hidden_widths == (6 * walls, 2 * walls)
    assert max(state_mlp(walls, total, "log_depth").hidden_widths) <= 6 * walls + 1
    tree = len(state_mlp(walls, total, "log_depth").hidden_widths)
    assert tree == 3 + int(np.ceil(np.log2(walls + 1)))
    assert len(state_mlp(walls, total, "max_pool").hidden_widths) == 4
    assert len(state_mlp(walls, total, "constant_depth").hidden_widths) == 3


def test_attainable_features_grow_like_the_cube_not_exponentially() -> None:
    counts = [len(attainable_features(s, comparisons(s))[0]) for s in range(1, 9)]
    assert counts == [4, 14, 36, 74, 132, 214, 324, 466]


@pytest.mark.parametrize("walls", [1, 2, 3, 4, 5])
def test_a_few_interleavings_stand_for_all(walls) -> None:
    result = set()
    for left in range(walls + 1):
        for right in range(walls - left, walls + 1):
            for chosen in itertools.combinations(range(left + right), left):
                ages = interleaved_ages(walls, left, right, chosen)
                result.add(tuple(int(ages[a] > ages[b]) for a, b in comparisons(walls)))
    assert result == set(attainable_features(walls, comparisons(walls))[0])


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_prefix_sums_land_on_the_circle(embedding) -> None:
    total, period = 20, 5
    sums = np.arange(-total, total + 1)
    out = apply_mlp(circular_mlp(total, period, embedding), (sums / (2 * total))[:, None])
    angle = 2 * np.pi * sums / period
    np.testing.assert_allclose(out, np.stack([np.cos(angle), np.sin(angle)], axis=1), atol=1e-9)


def test_layer_one_holds_prefix_sums_and_layer_two_the_state() -> None:
    automaton = line(4, 1, noop=True)
    grid = recognise_grid(automaton)
    assert grid is not None
    run, word = grid_run(automaton, grid, 6), (1, 1, 0, 2, 0, 0)
    seen = krohn.explain(build_grid(automaton, 6), word)
    moves = [float(move[0]) for move in (*run.padding, *(grid.moves[a] for a in word))]
    sums = np.array(prefix_sum_meaning(moves, run.total)) * 2 * run.total
    np.testing.assert_allclose(seen.moments[1]["sum.0"][1:], sums, atol=1e-9)
    states = automaton.run(word)
    assert seen.states == tuple(map(str, states))
    places = [grid.coordinates[q][0] for q in states]
    np.testing.assert_allclose(seen.moments[4]["state.0"][1 + len(run.padding) :], places, atol=1e-6)
