"""Learned subspaces on compiled networks: it is known after which layer which positions have the state."""

import numpy as np
import pytest
import torch

import krohn
from krohn.errors import InvalidInput
from krohn.lab.interpret.learned import state_moved
from krohn.lab.interpret.stages import stages_of_transformer
from krohn.lab.interpret.subject import Subject, subject_of_compiled
from network.naive_transformer import random_transformer


@pytest.fixture(scope="module")
def scan() -> Subject:
    return subject_of_compiled(krohn.compile("D6", length=8, method="scan"))


def test_after_the_last_block_a_learned_subspace_of_one_position_brings_the_state(scan: Subject) -> None:
    result = state_moved(scan, 3, dimension=6, pairs=96)
    assert result.das > 0.95
    assert result.everything == 1.0
    assert result.linear > 0.95
    assert result.random < 0.6
    assert result.chance < 0.5


def test_before_it_one_position_has_half_of_the_word_and_five_have_it_all(scan: Subject) -> None:
    """Windows of four letters, two of which make the answer: of the last position and of the fifth last."""
    one, five = (state_moved(scan, 2, positions=count, pairs=96, steps=1) for count in (1, 5))
    assert one.everything < 0.6
    assert five.everything == 1.0


def test_all_directions_of_all_positions_are_the_other_word(scan: Subject) -> None:
    assert state_moved(scan, 0, positions=8, pairs=64, steps=1).everything == 1.0


def test_logits_of_the_last_letter_are_those_of_the_whole_pass_and_have_gradients() -> None:
    stages = stages_of_transformer(random_transformer(2, mask="causal", padding=1))
    words = np.random.default_rng(0).integers(3, size=(6, 5))
    passed, whole = stages.run(words), stages.logits(words)
    for layer, stream in enumerate(passed.streams):
        suffix = stream[:, -2:].clone().requires_grad_()
        logits = stages.last_logits(layer, suffix, passed)
        assert torch.allclose(logits, whole[:, -1])
        (gradient,) = torch.autograd.grad(logits.square().sum(), [suffix])
        assert bool(gradient.any())


@pytest.mark.parametrize(("layer", "positions"), [(4, 1), (-1, 1), (1, 0), (1, 9)])
def test_places_that_are_not_there_are_refused(scan: Subject, layer: int, positions: int) -> None:
    with pytest.raises(InvalidInput, match="0–3 and the positions one of 1–8"):
        state_moved(scan, layer, positions=positions)
