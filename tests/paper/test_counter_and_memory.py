"""Lemmas "modular counter" and "memory": one layer each, within their sizes, on every short word."""

import numpy as np
import pytest

from every import every
from krohn.network.forward import apply_mlp
from krohn.paper.bounds import counter_bounds, memory_bounds
from krohn.paper.counter import COUNTINGS, modular_mlp
from krohn.paper.memory import memory_score
from paper.lemma_networks import build_counter, build_memory
from paper.lemmas import modular_meaning
from paper.paper_oracles import all_words, assert_simulates, random_words

SHAPE = ("depth", "dim", "heads", "head_dim")


@every("counting", COUNTINGS)
@every(("modulus", "length"), [(1, 3), (2, 9), (3, 6), (6, 3), (5, 2), (2, 1)])
def test_a_counter_is_right_on_every_word_from_every_start(modulus, length, counting) -> None:
    for start in range(modulus):
        assert_simulates(build_counter(modulus, length, start, counting), all_words(modulus, length))


@every("modulus", [2, 6, 24])
@every("counting", COUNTINGS)
def test_a_counter_keeps_the_sizes_of_the_lemma(modulus, counting) -> None:
    net = build_counter(modulus, 100, 1, counting)
    assert_simulates(net, random_words(modulus, 100, 4))
    bounds = counter_bounds(modulus, 100)
    assert tuple(net.sizes()[key] for key in SHAPE) == (1, 3, 1, 1)
    assert net.transformer.mlp_width <= bounds.stated.mlp_width
    if counting == "relu":
        assert net.transformer.mlp_width == 4 * ((modulus - 1) * 100 + 1)
        assert net.transformer.max_weight <= bounds.stated.max_weight


def test_periodic_activations_remove_the_length_from_the_width() -> None:
    widths = {build_counter(6, length, 0, "sin").transformer.mlp_width for length in (10, 100, 1000)}
    assert widths == {24}
    assert_simulates(build_counter(6, 1000, 2, "sin"), random_words(6, 1000, 2))


@pytest.mark.parametrize("counting", COUNTINGS)
def test_the_remainder_tolerates_an_eighth_of_a_step_of_the_mean(counting) -> None:
    modulus, length, start = 5, 12, 3
    sums = np.arange((modulus - 1) * length + 1)
    noise = np.random.default_rng(0).uniform(-1, 1, len(sums)) / (8 * length)
    if counting == "sin":
        noise /= 4  # no plateau before the rounding layer: the tolerance is smaller, the width too
    out = apply_mlp(modular_mlp(modulus, length, start, counting), (sums / (2 * length) + noise)[:, None])
    wanted = [modular_meaning(int(j), modulus, start) for j in sums]
    np.testing.assert_allclose(out[:, 0], wanted, atol=1e-9)


@every("sharp", [False, True])
@every(("states", "length"), [(1, 4), (2, 7), (3, 5), (5, 3), (2, 1)])
def test_a_memory_is_right_on_every_word_from_every_start(states, length, sharp) -> None:
    for start in range(states):
        assert_simulates(build_memory(states, length, start, sharp), all_words(states + 1, length))


@pytest.mark.parametrize("states", [2, 6, 24, 120])
def test_a_memory_keeps_the_sizes_of_the_lemma(states) -> None:
    net = build_memory(states, 128, 1)
    words = random_words(states + 1, 128, 10)
    words[:5] = np.where(np.random.default_rng(1).random((5, 128)) < 0.9, states, words[:5])
    assert_simulates(net, words)
    bounds = memory_bounds(states, 128)
    assert tuple(net.sizes()[key] for key in SHAPE) == (1, 4, 1, 2)
    assert net.transformer.mlp_width == bounds.stated.mlp_width == 4 * states
    assert net.transformer.max_weight <= bounds.corrected.max_weight
    assert memory_score(states, 128, sharp=True) < memory_score(states, 128)
