"""Lemma "Direct product via parallel simulation": simulators side by side, the shallower ones padded."""

import itertools
from collections.abc import Sequence

from krohn.construct.paper.channels import identity_layer, parallel_layers
from krohn.construct.paper.group_simulator import SHARED, GroupSimulator
from krohn.network.transformer import Layer


def direct_product(parts: Sequence[GroupSimulator]) -> GroupSimulator:
    """Sim(G₁ × … × G_n, T); elements are tuples, listed where every factor is."""
    rep_dim = sum(part.rep_dim for part in parts)
    dim = rep_dim + SHARED
    listed = all(part.elements for part in parts)
    elements = tuple(itertools.product(*(part.elements for part in parts))) if listed else ()

    def encode(element: Sequence[object]) -> tuple[int, ...]:
        return tuple(v for part, own in zip(parts, element, strict=True) for v in part.encode(own))

    def multiply(first: Sequence[object], second: Sequence[object]) -> tuple[object, ...]:
        pairs = zip(parts, first, second, strict=True)
        return tuple(part.multiply(a, b) for part, a, b in pairs if part.multiply is not None)

    layers = side_by_side(parts, dim)
    size = max((part.rep_size for part in parts), default=1)
    return GroupSimulator(layers, rep_dim, size, encode, elements, multiply)


def side_by_side(parts: Sequence[GroupSimulator], dim: int) -> tuple[Layer, ...]:
    """Their layers on consecutive channels from 0; the last two channels of the stream are shared."""
    shared = [dim - 2, dim - 1]
    placed, start = [], 0
    for part in parts:
        placed.append(part.placed(range(start, start + part.rep_dim), shared, dim))
        start += part.rep_dim
    depth = max((len(layers) for layers in placed), default=0)
    padded = [layers + [identity_layer(dim)] * (depth - len(layers)) for layers in placed]
    return tuple(parallel_layers([layers[index] for layers in padded]) for index in range(depth))
