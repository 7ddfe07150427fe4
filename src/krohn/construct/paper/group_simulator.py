"""A network that simulates a group: "Sim(G, T)" of the paper, on integer vectors with 0 for the identity.

Channels of the layers: ``rep_dim`` channels that hold the encoded letter before and the encoded prefix
product g_1·…·g_t after, then ⊥ and the position, which all simulators share. Products combine simulators by
lifting their layers to more channels. A product g·h means "first g, then h", as everywhere here; the paper
writes it the other way round.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from krohn.construct.paper.channels import lift_layer
from krohn.construct.paper.counter import counter_layer
from krohn.network.transformer import Layer

Code = tuple[int, ...]
SHARED = 2
"""⊥ and position."""


@dataclass(frozen=True, eq=False)
class GroupSimulator:
    """Layers on ``rep_dim + 2`` channels, and the encoding of elements.

    ``elements`` and ``multiply`` describe the group where it is small enough to be listed; a wreath product
    is not, and then ``elements`` is empty.
    """

    layers: tuple[Layer, ...]
    rep_dim: int
    rep_size: int
    encode: Callable[[Any], Code] = field(repr=False)
    elements: tuple[Hashable, ...] = field(repr=False, default=())
    multiply: Callable[[Any, Any], Any] | None = field(repr=False, default=None)

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.layers)

    @property
    def dim(self) -> int:
        """Channels, the two shared ones included."""
        return self.rep_dim + SHARED

    @property
    def heads(self) -> int:
        """Most heads in a layer."""
        return max((len(layer.heads) for layer in self.layers), default=0)

    @property
    def mlp_width(self) -> int:
        """Largest hidden width."""
        return max((w for layer in self.layers for w in layer.mlp.hidden_widths), default=0)

    @property
    def max_weight(self) -> float:
        """Largest weight of the layers."""
        return max(
            (
                float(np.abs(array).max(initial=0.0))
                for layer in self.layers
                for array in (
                    *layer.mlp.weights,
                    *layer.mlp.biases,
                    *(m for h in layer.heads for m in (h.query, h.key, h.value, h.output)),
                )
            ),
            default=0.0,
        )

    def placed(self, channels: Sequence[int], shared: Sequence[int], dim: int) -> list[Layer]:
        """The layers lifted to the given representation channels of a wider stream."""
        return [lift_layer(layer, [*channels, *shared], dim) for layer in self.layers]


def cyclic_simulator(order: int, length: int, counting: str = "relu") -> GroupSimulator:
    """Sim(C_n, T): the modular counter; element k is encoded as (k,)."""
    return GroupSimulator(
        (counter_layer(order, length, 0, counting),),
        1,
        order,
        lambda element: (int(element),),
        tuple(range(order)),
        lambda a, b: (a + b) % order,
    )


def trivial_simulator() -> GroupSimulator:
    """The group of one element: nothing to hold, nothing to do."""
    return GroupSimulator((), 0, 1, lambda element: (), (0,), lambda a, b: 0)
