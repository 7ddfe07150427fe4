"""Networks with one thing put back to what the paper prints, for the tests of docs/errata.md."""

from collections.abc import Callable
from dataclasses import replace

from krohn.network.compiled import CompiledNetwork
from krohn.network.forward import run
from krohn.network.transformer import Head, Layer, Transformer
from paper.paper_oracles import Words, naive_states


def error_rate(net: CompiledNetwork, network: Transformer, words: Words) -> float:
    """Share of wrong states of the altered network."""
    return float((run(network, words) != naive_states(net.automaton, words)).mean())


def with_layer(network: Transformer, index: int, change: Callable[[Layer], Layer]) -> Transformer:
    layers = list(network.layers)
    layers[index] = change(layers[index])
    return replace(network, layers=tuple(layers))


def with_heads(network: Transformer, change: Callable[[int, int, Head], Head]) -> Transformer:
    """``change(layer, number, head)`` for every head."""
    layers = tuple(
        replace(layer, heads=tuple(change(index, number, head) for number, head in enumerate(layer.heads)))
        for index, layer in enumerate(network.layers)
    )
    return replace(network, layers=layers)
