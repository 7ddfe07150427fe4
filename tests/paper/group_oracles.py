"""Groups by plain multiplication of elements, and the sizes of the networks that simulate them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from krohn.paper.group_products import SHARED, GroupSimulator

Multiply = Callable[[Any, Any], Any]


def cyclic(order: int) -> Multiply:
    return lambda a, b: (a + b) % order


def direct(parts: Sequence[Multiply]) -> Multiply:
    return lambda first, second: tuple(m(a, b) for m, a, b in zip(parts, first, second, strict=True))


def semidirect(normal: Multiply, quotient: Multiply, action: Multiply) -> Multiply:
    """First (g, h), then (g′, h′) is (φ_h′(g)·g′, h·h′)."""

    def multiply(first: tuple[Any, Any], second: tuple[Any, Any]) -> tuple[Any, Any]:
        return normal(action(second[1], first[0]), second[0]), quotient(first[1], second[1])

    return multiply


def wreath(normal: Multiply, order: int) -> Multiply:
    """(f, k) with f in N^order, which k shifts."""

    def shift(k: int, f: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(f[(x - k) % order] for x in range(order))

    return semidirect(direct([normal] * order), cyclic(order), shift)


@dataclass(frozen=True)
class Sizes:
    depth: int
    dim: int
    heads: int
    mlp_width: int
    max_weight: float


def sizes(sim: GroupSimulator) -> Sizes:
    """What the lemmas bound; the two shared channels are counted."""
    widths = [width for layer in sim.layers for width in layer.mlp.hidden_widths]
    heads = [head for layer in sim.layers for head in layer.heads]
    arrays = [matrix for head in heads for matrix in (head.query, head.key, head.value, head.output)]
    arrays += [array for layer in sim.layers for array in (*layer.mlp.weights, *layer.mlp.biases)]
    return Sizes(
        len(sim.layers),
        sim.rep_dim + SHARED,
        max((len(layer.heads) for layer in sim.layers), default=0),
        max(widths, default=0),
        max((float(np.abs(array).max(initial=0.0)) for array in arrays), default=0.0),
    )
