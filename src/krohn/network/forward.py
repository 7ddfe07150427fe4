"""The plain forward pass in numpy: no recurrence over positions, nothing but the matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput
from krohn.network.transformer import SIN, Head, Layer, Mlp, Transformer

Activations = npt.NDArray[np.floating[Any]]
Observer = Callable[[str, Activations], None]
"""Called with the name and value of each intermediate: ``layer.0.head.1.weights``, ``layer.0.stream``, …"""

# Rows of the score matrix handled at once, so that T = 10,000 needs no T × T array.
SCORE_ENTRIES = 1 << 24


def logits(
    network: Transformer,
    words: npt.NDArray[np.integer[Any]],
    dtype: npt.DTypeLike = np.float64,
    observe: Observer | None = None,
) -> Activations:
    """Read-out of every position of words ``[batch, length]``: an array ``[batch, length, states]``."""
    kind = np.dtype(dtype)
    stream = _embed(network, np.asarray(words), kind)
    if observe:
        observe("embedding", stream)
    for index, layer in enumerate(network.layers):
        stream = _block(layer, stream, network.mask, f"layer.{index}", observe)
    stream = stream[:, network.num_padding :]
    out: Activations = stream @ network.readout.astype(kind) + network.readout_bias.astype(kind)
    return out


def run(
    network: Transformer, words: npt.NDArray[np.integer[Any]], dtype: npt.DTypeLike = np.float64
) -> npt.NDArray[np.int64]:
    """The states the network outputs: arg max of its logits."""
    states: npt.NDArray[np.int64] = logits(network, words, dtype).argmax(axis=-1)
    return states


def _embed(network: Transformer, words: npt.NDArray[Any], kind: np.dtype[Any]) -> Activations:
    if words.ndim != 2:
        raise InvalidInput(f"words must be an array [batch, length]; got shape {words.shape}")
    batch, length = words.shape
    if length > network.max_length:
        raise InvalidInput(f"this network was built for words of length ≤ {network.max_length}; got {length}")
    letters = len(network.embedding)
    if words.size and not (words.min() >= 0 and words.max() < letters):
        raise InvalidInput(f"letters must lie in [0, {letters}); got {words.min()} to {words.max()}")
    tokens = network.embedding.astype(kind)[words]
    padding = np.broadcast_to(network.padding.astype(kind), (batch, *network.padding.shape))
    positions = network.positions[: network.num_padding + length].astype(kind)
    stream: Activations = np.concatenate([padding, tokens], axis=1) + positions
    return stream


def _block(layer: Layer, stream: Activations, mask: str, name: str, observe: Observer | None) -> Activations:
    mixed = stream * layer.keep_attention.astype(stream.dtype)
    for number, head in enumerate(layer.heads):
        mixed = mixed + attend(head, stream, mask, f"{name}.head.{number}", observe)
    if observe:
        observe(f"{name}.mixed", mixed)
    out: Activations = mixed * layer.keep_mlp.astype(stream.dtype) + apply_mlp(layer.mlp, mixed)
    if observe:
        observe(f"{name}.stream", out)
    return out


def attend(
    head: Head, stream: Activations, mask: str, name: str = "", observe: Observer | None = None
) -> Activations:
    """One head over ``stream [batch, position, d]``; softmax subtracts the row maximum, as PyTorch does."""
    kind = stream.dtype
    query, key = stream @ head.query.astype(kind), stream @ head.key.astype(kind)
    value = stream @ head.value.astype(kind)
    batch, length, _ = stream.shape
    rows = max(1, SCORE_ENTRIES // max(1, batch * length))
    mixed, seen = [], []
    for first in range(0, length, rows):
        scores = query[:, first : first + rows] @ key.swapaxes(1, 2)
        seen_here = visible(length, mask, range(first, min(first + rows, length)))
        weights = _softmax(np.where(seen_here, scores, -np.inf))
        mixed.append(weights @ value)
        if observe:
            seen.append(weights)
    if observe:
        observe(f"{name}.weights", np.concatenate(seen, axis=1))
    out: Activations = np.concatenate(mixed, axis=1) @ head.output.astype(kind)
    return out


def visible(length: int, mask: str, queries: range | None = None) -> npt.NDArray[np.bool_]:
    """``[query, key]``: which positions a query sees. A strict head sees i < t; position 0 sees itself."""
    rows = np.arange(length) if queries is None else np.arange(queries.start, queries.stop)
    last = rows if mask == "causal" else np.maximum(rows - 1, 0)
    allowed: npt.NDArray[np.bool_] = np.arange(length) <= last[:, None]
    return allowed


def _softmax(scores: Activations) -> Activations:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    out: Activations = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return out


def apply_mlp(mlp: Mlp, stream: Activations) -> Activations:
    """The position-wise MLP, a block of positions at a time so that wide layers fit into memory."""
    rows = stream.reshape(-1, stream.shape[-1])
    block = max(1, SCORE_ENTRIES // max(1, *mlp.hidden_widths, stream.shape[-1]))
    if len(rows) <= block:
        return _mlp_at_once(mlp, stream)
    parts = [_mlp_at_once(mlp, rows[first : first + block]) for first in range(0, len(rows), block)]
    return np.concatenate(parts).reshape(*stream.shape[:-1], -1)


def _mlp_at_once(mlp: Mlp, stream: Activations) -> Activations:
    kind = stream.dtype
    hidden: Activations = stream
    last = len(mlp.weights) - 1
    for index, (weight, bias) in enumerate(zip(mlp.weights, mlp.biases, strict=True)):
        hidden = hidden @ weight.astype(kind) + bias.astype(kind)
        if index < last:
            rectified: Activations = np.maximum(hidden, 0)
            sine = mlp.activations[index] == SIN
            hidden = np.where(sine, np.sin(hidden), rectified) if sine.any() else rectified
    return hidden
