"""The logged runs that boxes are compared with are the forward passes themselves."""

from dataclasses import replace

import numpy as np
import torch

from check.generated import exported, honest
from check.runs import WAYS, logged
from every import every
from krohn.check.arithmetic.format import FORMATS
from krohn.network.forward import logits
from krohn.network.transformer import Head, Layer, Mlp, Transformer


def as_transformer(network: object) -> Transformer:
    """The matrices that the checker reads, as the package runs them."""
    layers = tuple(
        Layer(
            tuple(Head(h.query, h.key, h.value, h.output) for h in layer.heads),
            Mlp(layer.weights, layer.biases, tuple(sine.astype(np.int64) for sine in layer.sine)),
            layer.keep_attention,
            layer.keep_mlp,
        )
        for layer in network.layers
    )
    outer = (network.embedding, network.padding, network.positions)
    return Transformer(*outer, layers, network.readout, network.readout_bias)


@every("dtype", FORMATS)
def test_a_logged_run_is_the_forward_pass_bit_by_bit(dtype: str) -> None:
    network, automaton, _ = honest("FlipFlop", "scan", 5, dtype)
    words = np.random.default_rng(0).integers(automaton.table.shape[1], size=(6, 5))
    run = logged(network, words, dtype, WAYS[0])["logits"][:, len(network.padding) :]
    assert np.array_equal(run, logits(as_transformer(network), words, dtype))


def test_a_logged_run_of_an_export_is_that_of_torch() -> None:
    network, _, _ = exported("C2", "auto", 4)
    words = np.random.default_rng(0).integers(len(network.embedding), size=(6, 4))
    x = torch.from_numpy(logged(network, words, "float32", WAYS[0])["read-out"])
    gain = torch.tensor(network.gain, dtype=torch.float32)
    normed = torch.nn.functional.layer_norm(x, gain.shape, gain, eps=network.epsilon)
    wanted = logged(replace(network), words, "float32", WAYS[1])["logits"]
    assert np.abs((normed @ torch.tensor(network.readout, dtype=torch.float32)).numpy() - wanted).max() < 1e-2
