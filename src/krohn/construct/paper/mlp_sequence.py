"""Appending a table to the MLP of a layer, so that decoding costs no layer (the paper's W)."""

from collections.abc import Sequence

import numpy as np

from krohn.construct.paper.channels import basis
from krohn.network.transformer import RELU, Layer, Matrix, Mlp


def then_table(layer: Layer, table: Mlp, reads: Sequence[int], target: int) -> Layer:
    """The layer whose channel ``target`` is ``table`` of the channels ``reads`` *after* the old layer.

    Channels read must never be negative, for they pass the hidden layers through one ReLU each. The old
    outputs are not written any more: this is the end of the network.
    """
    old = layer.mlp
    dim = len(layer.keep_mlp)
    place = basis(dim, reads)
    weights: list[Matrix] = []
    biases: list[Matrix] = []
    codes = []
    carry = place
    for index in range(len(old.weights) - 1):
        inner = old.weights[index]
        weights.append(_both(inner, carry, first=index == 0))
        biases.append(np.concatenate([old.biases[index], np.zeros(len(reads))]))
        codes.append(np.concatenate([old.activations[index], np.full(len(reads), RELU)]))
        carry = np.eye(len(reads))
    kept = layer.keep_mlp[list(reads)]
    seen = np.concatenate([old.weights[-1] @ place, np.diag(kept)], axis=0)
    if len(old.weights) == 1:
        seen = old.weights[-1] @ place + place @ np.diag(kept)
    weights.append(seen @ table.weights[0])
    biases.append((old.biases[-1] @ place) @ table.weights[0] + table.biases[0])
    codes.append(table.activations[0])
    writes = basis(dim, [target]).T
    weights += [*table.weights[1:-1], table.weights[-1] @ writes]
    biases += [*table.biases[1:-1], table.biases[-1] @ writes]
    codes += table.activations[1:]
    keep = np.ones(dim)
    return Layer(layer.heads, Mlp(tuple(weights), tuple(biases), tuple(codes)), layer.keep_attention, keep)


def _both(inner: Matrix, carry: Matrix, *, first: bool) -> Matrix:
    """The old matrix beside the channels that are carried: they share inputs in the first layer only."""
    if first:
        return np.concatenate([inner, carry], axis=1)
    out = np.zeros((inner.shape[0] + carry.shape[0], inner.shape[1] + carry.shape[1]))
    out[: inner.shape[0], : inner.shape[1]] = inner
    out[inner.shape[0] :, inner.shape[1] :] = carry
    return out
