"""Running a network in a given arithmetic: the plain pass, and one that rounds tensors to a half type."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.certify.arithmetic import Arithmetic
from krohn.network.forward import logits as plain_logits
from krohn.network.forward import visible
from krohn.network.transformer import SIN, Head, Mlp, Transformer

Floats = npt.NDArray[np.float32]
AnyFloats = npt.NDArray[np.floating[Any]]
Cast = Callable[[npt.NDArray[Any]], AnyFloats]


def run_in(network: Transformer, words: npt.NDArray[Any], arith: Arithmetic) -> npt.NDArray[np.int64]:
    """The states the network outputs for words ``[batch, length]`` in this arithmetic."""
    states: npt.NDArray[np.int64] = logits_in(network, words, arith).argmax(axis=-1)
    return states


def logits_in(network: Transformer, words: npt.NDArray[Any], arith: Arithmetic) -> npt.NDArray[Any]:
    """The read-out ``[batch, length, states]`` in this arithmetic."""
    with np.errstate(all="ignore"):
        if not arith.half:
            return plain_logits(network, words, arith.name)
        return _half_logits(network, words, arith)


def _half_logits(network: Transformer, words: npt.NDArray[Any], arith: Arithmetic) -> Floats:
    def cast(values: npt.NDArray[Any]) -> Floats:
        return arith.cast(np.asarray(values, dtype=np.float64)).astype(np.float32)

    tau, length = network.num_padding, words.shape[1]
    tokens = cast(network.embedding)[words]
    padding = np.broadcast_to(cast(network.padding), (len(words), *network.padding.shape))
    stream = cast(np.concatenate([padding, tokens], axis=1) + cast(network.positions[: tau + length]))
    for layer in network.layers:
        mixed = stream * layer.keep_attention.astype(np.float32)
        for head in layer.heads:
            mixed = cast(mixed + _attend_half(head, stream, network.mask, cast))
        stream = cast(mixed * layer.keep_mlp.astype(np.float32) + mlp_in(layer.mlp, mixed, cast))
    out: Floats = cast(cast(stream[:, tau:] @ cast(network.readout)) + cast(network.readout_bias))
    return out


def _attend_half(head: Head, stream: Floats, mask: str, cast: Any) -> Floats:
    query, key = cast(stream @ cast(head.query)), cast(stream @ cast(head.key))
    value = cast(stream @ cast(head.value))
    scores = np.where(visible(stream.shape[1], mask), query @ key.swapaxes(1, 2), np.float32(-np.inf))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = cast(weights / weights.sum(axis=-1, keepdims=True))
    out: Floats = cast(cast(weights @ value) @ cast(head.output))
    return out


def mlp_in(mlp: Mlp, stream: AnyFloats, cast: Cast) -> AnyFloats:
    """An MLP whose tensors ``cast`` rounds to the stored type, before the bias and after it."""
    hidden = stream
    for index, (weight, bias) in enumerate(zip(mlp.weights, mlp.biases, strict=True)):
        hidden = cast(cast(hidden @ cast(weight)) + cast(bias))
        if index < len(mlp.activations):
            sine = mlp.activations[index] == SIN
            rectified: AnyFloats = np.maximum(hidden, 0)
            hidden = cast(np.where(sine, np.sin(hidden), rectified)) if sine.any() else rectified
    return hidden
