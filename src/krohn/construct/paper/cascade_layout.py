"""What the channels of the network of Theorem 2 hold: a channel is free until something writes it."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.network.transformer import Layer, Transformer

Written = npt.NDArray[np.bool_]


def cascade_layout(
    network: Transformer, names: Sequence[str], position_names: Sequence[str], texts: Sequence[Sequence[str]]
) -> Layout:
    """Channels by name at every moment, heads by text."""
    written: Written = np.zeros(network.dim, dtype=bool)
    for matrix in (network.embedding, network.padding, network.positions):
        written = written | (matrix != 0).any(axis=0)
    moments = [_moment(names, position_names, written)]
    for layer in network.layers:
        written = written | _by_heads(layer, network.dim)
        moments.append(_moment(names, position_names, written))
        written = written | (layer.mlp.weights[-1] != 0).any(axis=0)
        moments.append(_moment(names, position_names, written))
    heads = tuple(tuple(HeadMeaning(text) for text in layer) for layer in texts)
    return Layout(tuple(moments), heads)


def _by_heads(layer: Layer, dim: int) -> Written:
    found: Written = np.zeros(dim, dtype=bool)
    for head in layer.heads:
        found = found | (head.output != 0).any(axis=0)
    return found


def _moment(names: Sequence[str], position_names: Sequence[str], written: Written) -> tuple[Channel, ...]:
    return tuple(
        Channel(position=name) if name in position_names else Channel(register=name) if used else Channel()
        for name, used in zip(names, written, strict=True)
    )
