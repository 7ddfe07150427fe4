"""The cones of an MLP add up to it."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from certify.built_networks import compiled
from krohn.certify.arithmetic import arithmetic
from krohn.certify.ordered_mlp import cones_of
from krohn.certify.verification import attempt
from krohn.network.transformer import Layer, Mlp


def block(layer: Layer, vectors: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    hidden = vectors
    for number, (weight, bias) in enumerate(zip(layer.mlp.weights, layer.mlp.biases, strict=True)):
        hidden = (np.maximum(hidden, 0) if number else hidden) @ weight + bias
    return vectors * layer.keep_mlp + hidden


def sparse_layer(seed: int) -> Layer:
    dice = np.random.default_rng(seed)
    widths = [6, 7, 5, 6]
    weights, biases = [], []
    for n, m in pairwise(widths):
        weights.append(dice.normal(size=(n, m)) * (dice.random((n, m)) < 0.25))
        biases.append(dice.normal(size=m) * (dice.random(m) < 0.3))
    keep = (dice.random(6) < 0.5).astype(np.float64)
    return Layer((), Mlp(tuple(weights), tuple(biases)), np.ones(6), keep)


@pytest.mark.parametrize("seed", range(12))
def test_cones_and_what_they_leave_alone_add_up_to_the_block(seed: int) -> None:
    layer = sparse_layer(seed)
    vectors = np.random.default_rng(seed).normal(size=(20, 6))
    total, rest = np.zeros_like(vectors), layer.keep_mlp.copy()
    for cone in cones_of(layer):
        assert not rest[cone.outputs].any() or (rest[cone.outputs] == layer.keep_mlp[cone.outputs]).all()
        rest[cone.outputs] = 0.0
        total += block(cone.layer, np.where(cone.reads, vectors, np.nan_to_num(np.inf)) * cone.reads)
    assert np.allclose(total + vectors * rest, block(layer, vectors))


@pytest.mark.parametrize("seed", range(12))
def test_a_cone_does_not_look_at_what_it_does_not_read(seed: int) -> None:
    layer = sparse_layer(seed)
    dice = np.random.default_rng(seed)
    vectors = dice.normal(size=(20, 6))
    for cone in cones_of(layer):
        other = np.where(cone.reads, vectors, dice.normal(size=vectors.shape))
        assert (block(cone.layer, other) == block(cone.layer, vectors)).all()


def test_a_unit_that_overflows_is_refused_though_nothing_depends_on_it() -> None:
    network = compiled("Dyck2,2", 8, "cascade")
    layer = network.transformer.layers[1]
    weights, biases = list(layer.mlp.weights), list(layer.mlp.biases)
    read = (weights[0] != 0).any(axis=1, keepdims=True)
    weights[0] = np.concatenate([weights[0], np.where(read, 1e308, 0.0)], axis=1)
    biases[0] = np.append(biases[0], 1e308)
    weights[1] = np.concatenate([weights[1], np.zeros((1, weights[1].shape[1]))])
    wide = replace(layer, mlp=Mlp(tuple(weights), tuple(biases)))
    layers = (network.transformer.layers[0], wide, *network.transformer.layers[2:])
    refusal = attempt(
        replace(network.transformer, layers=layers), network.automaton, 8, arithmetic("float64")
    )[1]
    assert refusal is not None
    assert "overflow" in refusal.reason
