"""Compiled weights with noise, trained back."""

import numpy as np
import pytest
import torch
from returning import Training, disturbed, trained

import krohn
from krohn.exporting.from_compiled import decoder_of_compiled
from krohn.lab.interpret.stages import stages_of_decoder
from krohn.network.gpt2.decoder import Decoder


@pytest.fixture(scope="module")
def compiled() -> Decoder:
    network = krohn.compile("C2", length=8, method="cascade", objective="blocks")
    return decoder_of_compiled(network, normalized=True)


def share_right(decoder: Decoder) -> float:
    letters = np.random.default_rng(5).integers(2, size=(300, 8))
    answers = stages_of_decoder(decoder, torch.float64).run(letters).answers
    return float((answers == krohn.simulate("C2", letters)).mean())


def test_noise_leaves_the_scaffold_of_layer_norm_alone(compiled: Decoder) -> None:
    noisy = disturbed(compiled, 0.1, seed=0)
    same = {name for name, value in compiled.tensors.items() if np.array_equal(value, noisy.tensors[name])}
    assert {name for name in compiled.tensors if ".ln_" in name} <= same
    assert "transformer.h.0.mlp.c_fc.weight" not in same
    pair = np.abs(compiled.tensors["transformer.wpe.weight"]).max(axis=0) > 100
    assert pair.sum() == 2
    wide = "transformer.wpe.weight"
    assert (compiled.tensors[wide][:, pair] == noisy.tensors[wide][:, pair]).all()


def test_training_comes_back_from_a_little_noise(compiled: Decoder) -> None:
    noisy = disturbed(compiled, 0.02, seed=1)
    assert share_right(compiled) == 1.0
    assert share_right(noisy) < 0.95
    ended = trained(noisy, krohn.zoo("C2"), Training(length=8, steps=120), seed=0)
    assert share_right(ended) > 0.98
