"""Attention between padding positions: no letter is visible, so every weight is a plain number."""

import numpy as np

from krohn.certify.arithmetic import EXP, OWN, Arithmetic, Array, linear
from krohn.certify.stream import Stream
from krohn.network.forward import visible
from krohn.network.transformer import Head


def attend_padding(
    stream: Stream, head: Head, mask: str, error: float, arith: Arithmetic
) -> tuple[Array, Array]:
    """What the head adds at padding positions, and the error per channel; ``error`` is that of scores."""
    count = stream.num_padding
    values, rounding = linear(arith, stream.pads, stream.pad_radius, head.value)
    value_error = stream.pad_radius @ np.abs(head.value) + rounding.max(axis=0, initial=0.0)
    scores = (stream.pads @ head.query) @ (stream.pads @ head.key).T
    scores = np.where(visible(count, mask), scores, -np.inf)
    gap = _gap(scores)
    seen = visible(count, mask).sum(axis=1, keepdims=True)
    alone = (seen == 1) | (gap > arith.vanish + 2 * error + 1e-6)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    weights = np.where(alone, weights == weights.max(axis=1, keepdims=True), weights)
    mixed = weights @ values
    # δw sums to 0, so only differences to the best position's value matter, and alone there is none.
    best = values[weights.argmax(axis=1)]
    off = np.abs(values[None, :, :] - best[:, None, :])
    rounded = (2 * seen + 8 + 2 * EXP) * (arith.inner + OWN) + (2 * arith.unit if arith.half else 0.0)
    shifted = np.einsum("ti,tiv->tv", _shifted(scores, error, arith), off)
    error_mixed = np.where(alone, 0.0, shifted + rounded * (weights @ np.abs(values))) + value_error
    worst = error_mixed.max(axis=0, initial=0.0)
    out, last = linear(arith, mixed, worst, head.output)
    return out, worst @ np.abs(head.output) + last.max(axis=0, initial=0.0)


def _shifted(scores: Array, error: float, arith: Arithmetic) -> Array:
    """How far each weight may move when every score moves by ``error``: relatively, and never beyond 1."""
    top = scores.max(axis=1, keepdims=True)
    logs = scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
    moved = 2 * error + 8 * arith.inner * arith.vanish
    # e^a (e^m − 1), written so that neither factor leaves the range of floats.
    factor = np.log(np.expm1(moved)) if moved < 1 else moved
    out: Array = np.exp(np.minimum(logs + factor, 0.0))
    return out


def _gap(scores: Array) -> Array:
    """Best score less the second best, per row."""
    if scores.shape[1] < 2:
        return np.full((len(scores), 1), np.inf)
    ordered = np.sort(scores, axis=1)
    return ordered[:, -1:] - ordered[:, -2:-1]
