"""Unrolling into plain residual blocks is exact: for constructions, and for networks of noise."""

from itertools import pairwise

import numpy as np
import pytest

import krohn
from every import every
from krohn.errors import Unsupported
from krohn.exporting.from_compiled import as_transformer
from krohn.exporting.standard_blocks import MAX_STREAM, standard_blocks
from krohn.network.forward import logits
from krohn.network.transformer import SIN, Head, Layer, Mlp, Transformer

BUILT = [
    ("C2", {}),
    ("S4", {}),
    ("S4", {"dtype": "float64"}),
    ("Grid9", {}),
    ("Grid9", {"method": "grid"}),
    ("Dyck4,2", {}),
    ("A5", {}),
    ("Q8", {"method": "paper"}),
    ("abab", {"method": "scan"}),
    ("FlipFlop", {}),
]


@every(("name", "options"), BUILT)
def test_a_compiled_network_keeps_its_logits(name: str, options: dict[str, str]) -> None:
    network = krohn.compile(krohn.zoo(name), length=14, unproved=True, **options)
    words = np.random.default_rng(0).integers(network.automaton.num_letters, size=(20, 14))
    own = logits(network.transformer, words)
    unrolled = logits(as_transformer(standard_blocks(network.transformer)), words)
    np.testing.assert_allclose(unrolled, own, atol=1e-9 * np.abs(own).max())


def random_network(seed: int) -> Transformer:
    """Nothing but noise: residuals on some channels, heads that write anywhere, MLPs of every depth."""
    dice = np.random.default_rng(seed)
    d, letters, states, length, padding = 5, 3, 4, 7, 2

    def noise(*shape: int) -> np.ndarray:
        return dice.normal(size=shape) / 2

    def layer(hidden: list[int]) -> Layer:
        heads = tuple(
            Head(noise(d, 2), noise(d, 2), noise(d, 3), noise(3, d) * (dice.random(d) < 0.6))
            for _ in range(int(dice.integers(3)))
        )
        sizes = [d, *hidden, d]
        mlp = Mlp(
            tuple(noise(a, b) for a, b in pairwise(sizes)),
            tuple(noise(b) for b in sizes[1:]),
        )
        return Layer(heads, mlp, (dice.random(d) < 0.5) * 1.0, (dice.random(d) < 0.5) * 1.0)

    layers = tuple(layer([int(w) for w in dice.integers(1, 6, size=depth)]) for depth in (0, 1, 2, 4))
    outer = (noise(letters, d), noise(padding, d), noise(padding + length, d))
    return Transformer(*outer, layers, noise(d, states), noise(states))


@every("seed", range(20))
def test_any_network_keeps_its_logits(seed: int) -> None:
    network = random_network(seed)
    words = np.random.default_rng(seed).integers(3, size=(6, 7))
    own = logits(network, words)
    assert np.abs(own).max() > 0.1
    np.testing.assert_allclose(logits(as_transformer(standard_blocks(network)), words), own, atol=1e-11)


def test_blocks_are_counted_by_the_hidden_layers() -> None:
    network = random_network(0)
    blocks = standard_blocks(network)
    assert [blocks.layer_of.count(layer) for layer in range(4)] == [1, 1, 2, 4]
    assert all(not block.heads for block in blocks.blocks[-3:])


def test_the_first_channels_are_the_networks_own_after_every_layer() -> None:
    network = random_network(3)
    words = np.random.default_rng(3).integers(3, size=(4, 7))
    ours: dict[str, np.ndarray] = {}
    theirs: dict[str, np.ndarray] = {}
    blocks = standard_blocks(network)
    logits(network, words, observe=lambda name, value: ours.update({name: value}))
    logits(as_transformer(blocks), words, observe=lambda name, value: theirs.update({name: value}))
    for layer in range(network.depth):
        last = max(block for block, of in enumerate(blocks.layer_of) if of == layer)
        result = theirs[f"layer.{last}.stream"]
        np.testing.assert_allclose(result[..., : network.dim], ours[f"layer.{layer}.stream"], atol=1e-11)
        np.testing.assert_allclose(result[..., network.dim :], 0.0, atol=1e-11)


def test_what_other_people_do_not_have_is_refused_with_every_reason() -> None:
    d = 2
    sine = Mlp((np.zeros((d, 1)), np.zeros((1, d))), (np.zeros(1), np.zeros(d)), (np.array([SIN]),))
    wide = np.zeros((MAX_STREAM, MAX_STREAM))
    deep = Mlp(
        (wide[:d], wide, wide[:, :d]),
        (np.zeros(MAX_STREAM), np.zeros(MAX_STREAM), np.zeros(d)),
    )
    everywhere = np.ones(d)
    network = Transformer(
        np.zeros((2, d)),
        np.zeros((0, d)),
        np.zeros((3, d)),
        tuple(Layer((), mlp, everywhere, everywhere) for mlp in (sine, deep)),
        np.zeros((d, 2)),
        np.zeros(2),
    )
    with pytest.raises(Unsupported, match=r"--activation relu.*at most 4096 channels, not 4098"):
        standard_blocks(network)
