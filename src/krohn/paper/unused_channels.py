"""Dropping channels that nothing reads: shared channels that a network turned out not to need."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from krohn.network.layout import Layout
from krohn.network.transformer import Head, Layer, Mlp, Transformer

Chosen = npt.NDArray[np.int64]


def drop_unused_channels(network: Transformer, layout: Layout) -> tuple[Transformer, Layout]:
    """The same function on fewer channels."""
    keep = np.flatnonzero(_is_read(network))
    layers = tuple(_layer(layer, keep) for layer in network.layers)
    smaller = Transformer(
        network.embedding[:, keep],
        network.padding[:, keep],
        network.positions[:, keep],
        layers,
        network.readout[keep],
        network.readout_bias,
    )
    moments = tuple(tuple(moment[i] for i in keep) for moment in layout.moments)
    named = {channel.register for moment in moments for channel in moment}
    registers = tuple(meaning for meaning in layout.registers if meaning.name in named)
    return smaller, replace(layout, moments=moments, registers=registers)


def _is_read(network: Transformer) -> npt.NDArray[np.bool_]:
    read: npt.NDArray[np.bool_] = (network.readout != 0).any(axis=1)
    for layer in network.layers:
        read = read | layer.mlp.weights[0].any(axis=1)
        for head in layer.heads:
            for matrix in (head.query, head.key, head.value):
                read = read | matrix.any(axis=1)
    if not read.any():
        read[0] = True
    return read


def _layer(layer: Layer, keep: Chosen) -> Layer:
    heads = tuple(Head(h.query[keep], h.key[keep], h.value[keep], h.output[:, keep]) for h in layer.heads)
    weights, biases = list(layer.mlp.weights), list(layer.mlp.biases)
    weights[0] = weights[0][keep]
    weights[-1], biases[-1] = weights[-1][:, keep], biases[-1][keep]
    mlp = Mlp(tuple(weights), tuple(biases), layer.mlp.activations)
    return Layer(heads, mlp, layer.keep_attention[keep], layer.keep_mlp[keep])
