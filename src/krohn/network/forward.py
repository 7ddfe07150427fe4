"""The forward pass in numpy, in each float format: what is stored is rounded, sums have at least 32 bits.

The forward pass has no recurrence over positions, nothing but the matrices. Half types store every tensor
in half; sums are accumulated, and scores and softmax kept, in float32. The torch module and the run that
accompanies a certificate do the same.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.base.portable import float_name
from krohn.errors import InvalidInput
from krohn.network.transformer import SIN, Head, Layer, Mlp, Transformer

Floats = npt.NDArray[np.floating[Any]]
Cast = Callable[[npt.NDArray[Any]], Floats]
"""Rounds weights and activations to the stored type; half types are returned as float32, losslessly."""


def caster(dtype: Any) -> Cast:
    """The rounding of a format: float64, float32, float16 or bfloat16, by name or as a type."""
    name = float_name(dtype)
    if name not in CASTS:
        raise InvalidInput(f"dtype must be one of {', '.join(CASTS)}; got {name!r}")
    return CASTS[name]


def _bfloat16(values: npt.NDArray[Any]) -> Floats:
    """To float32, then to nearest even on its upper 16 bits, as frameworks do; subnormal numbers are kept."""
    wide = np.ascontiguousarray(values, dtype=np.float32)
    bits = wide.view(np.uint32)
    upper = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    # Where an entry is NaN, the sum may wrap around to zero.
    return np.where(np.isnan(wide), wide, upper.view(np.float32)).astype(np.float32, copy=False)


CASTS: dict[str, Cast] = {
    "float64": lambda values: np.asarray(values).astype(np.float64, copy=False),
    "float32": lambda values: np.asarray(values).astype(np.float32, copy=False),
    "float16": lambda values: np.asarray(values).astype(np.float16).astype(np.float32),
    "bfloat16": _bfloat16,
}


Activations = Floats
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
    """Read-out of every position of words ``[batch, length]``: an array ``[batch, length, states]``.

    ``dtype`` is float64, float32, float16, or the name bfloat16.
    """
    cast = caster(dtype)
    with np.errstate(all="ignore"):
        stream = _embed(network, np.asarray(words), cast)
        if observe:
            observe("embedding", stream)
        for index, layer in enumerate(network.layers):
            stream = _block(layer, stream, cast, f"layer.{index}", observe)
        stream = stream[:, network.num_padding :]
        return cast(cast(stream @ cast(network.readout)) + cast(network.readout_bias))


def run(
    network: Transformer, words: npt.NDArray[np.integer[Any]], dtype: npt.DTypeLike = np.float64
) -> npt.NDArray[np.int64]:
    """The states the network outputs: arg max of its logits; −1 where one is NaN."""
    scores = logits(network, words, dtype)
    states: npt.NDArray[np.int64] = np.where(np.isnan(scores).any(axis=-1), -1, scores.argmax(axis=-1))
    return states


def _embed(network: Transformer, words: npt.NDArray[Any], cast: Cast) -> Activations:
    words = words if words.size else words.astype(np.int64)  # an empty list is an array of floats
    if words.ndim != 2 or not np.issubdtype(words.dtype, np.integer):
        got = f"got {words.dtype} of shape {words.shape}"
        raise InvalidInput(f"words must be an array of whole numbers [batch, length]; {got}")
    batch, length = words.shape
    if length > network.max_length:
        raise InvalidInput(f"this network was built for words of length ≤ {network.max_length}; got {length}")
    letters = len(network.embedding)
    if words.size and not (words.min() >= 0 and words.max() < letters):
        raise InvalidInput(f"letters must lie in [0, {letters}); got {words.min()} to {words.max()}")
    tokens = cast(network.embedding)[words]
    padding = np.broadcast_to(cast(network.padding), (batch, *network.padding.shape))
    positions = cast(network.positions[: network.num_padding + length])
    return cast(np.concatenate([padding, tokens], axis=1) + positions)


def _block(layer: Layer, stream: Activations, cast: Cast, name: str, observe: Observer | None) -> Activations:
    mixed: Activations = stream * cast(layer.keep_attention)
    for number, head in enumerate(layer.heads):
        mixed = cast(mixed + attend(head, stream, cast, f"{name}.head.{number}", observe))
    if observe:
        observe(f"{name}.mixed", mixed)
    out = cast(mixed * cast(layer.keep_mlp) + apply_mlp(layer.mlp, mixed, cast))
    if observe:
        observe(f"{name}.stream", out)
    return out


def attend(
    head: Head, stream: Activations, cast: Cast, name: str = "", observe: Observer | None = None
) -> Activations:
    """One head over ``stream [batch, position, d]``; softmax subtracts the row maximum, as PyTorch does."""
    query, key, value = (cast(stream @ cast(matrix)) for matrix in (head.query, head.key, head.value))
    batch, length, _ = stream.shape
    rows = max(1, SCORE_ENTRIES // max(1, batch * length))
    mixed, seen = [], []
    for first in range(0, length, rows):
        scores = query[:, first : first + rows] @ key.swapaxes(1, 2)
        seen_here = visible(length, range(first, min(first + rows, length)))
        weights = cast(softmax(np.where(seen_here, scores, scores.dtype.type(-np.inf))))
        mixed.append(cast(weights @ value))
        if observe:
            seen.append(weights)
    if observe:
        observe(f"{name}.weights", np.concatenate(seen, axis=1))
    return cast(np.concatenate(mixed, axis=1) @ cast(head.output))


def visible(length: int, queries: range | None = None) -> npt.NDArray[np.bool_]:
    """``[query, key]``: which positions a query sees, its own included."""
    rows = np.arange(length) if queries is None else np.arange(queries.start, queries.stop)
    allowed: npt.NDArray[np.bool_] = np.arange(length) <= rows[:, None]
    return allowed


def softmax(scores: Activations) -> Activations:
    """In place: fresh memory for large arrays costs more than the arithmetic."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def apply_mlp(mlp: Mlp, stream: Activations, cast: Cast | None = None) -> Activations:
    """The position-wise MLP, a block of positions at a time so that wide layers fit into memory.

    Without ``cast`` it runs in the type of the stream.
    """
    cast = cast or caster(stream.dtype)
    rows = stream.reshape(-1, stream.shape[-1])
    block = max(1, SCORE_ENTRIES // max(1, *mlp.hidden_widths, stream.shape[-1]))
    if len(rows) <= block:
        return _mlp_at_once(mlp, stream, cast)
    parts = [_mlp_at_once(mlp, rows[first : first + block], cast) for first in range(0, len(rows), block)]
    return np.concatenate(parts).reshape(*stream.shape[:-1], -1)


def _mlp_at_once(mlp: Mlp, stream: Activations, cast: Cast) -> Activations:
    hidden: Activations = stream
    last = len(mlp.weights) - 1
    for index, (weight, bias) in enumerate(zip(mlp.weights, mlp.biases, strict=True)):
        hidden = cast(hidden @ cast(weight))
        hidden += cast(bias)  # in place: fresh memory for large arrays costs more than the arithmetic
        hidden = cast(hidden)
        if index < last:
            sine = mlp.activations[index] == SIN
            waves = cast(np.where(sine, np.sin(hidden), 0)) if sine.any() else None
            np.maximum(hidden, 0, out=hidden)
            hidden = hidden if waves is None else np.where(sine, waves, hidden)
    return hidden
