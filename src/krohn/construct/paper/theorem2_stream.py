"""Which channel is whose in the network of Theorem 2."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from krohn.construct.paper.attention_lemmas import PositionCode
from krohn.construct.paper.permutation_reset import SHARED, ResetSimulator
from krohn.network.transformer import Channel, HeadMeaning, Layer, Layout, Transformer


@dataclass(frozen=True, eq=False)
class CascadeStream:
    """Shared positions, the letter, the blocks of the components, copies of earlier states, the state."""

    simulators: tuple[ResetSimulator, ...]
    code: PositionCode

    @property
    def code_names(self) -> tuple[str, ...]:
        """Channels of the position code that look-backs use; none if there is one level."""
        if self.levels < 2:
            return ()
        return tuple(f"{('cos', 'sin')[i % 2]} {i // 2}" for i in range(self.code.channels))

    @property
    def levels(self) -> int:
        """Number of levels."""
        return max((simulator.part.level for simulator in self.simulators), default=-1) + 1

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All channels in order."""
        fixed = [*SHARED, *self.code_names, "letter"]
        blocks = [f"{i} {name}" for i, sim in enumerate(self.simulators) for name in sim.channels]
        copies = [
            f"{i} previous" for i, sim in enumerate(self.simulators) if sim.part.level < self.levels - 1
        ]
        return (*fixed, *blocks, *copies, "state")

    @property
    def position_names(self) -> tuple[str, ...]:
        """Channels that only depend on the position."""
        return (*SHARED, *self.code_names)

    @property
    def dim(self) -> int:
        """Number of channels."""
        return len(self.names)

    @property
    def shared(self) -> list[int]:
        """⊥, log(2T−t), t/T, one."""
        return [*range(len(SHARED))]

    @property
    def circle(self) -> list[int]:
        """Where the position code stands."""
        return [self.names.index(name) for name in self.code_names]

    @property
    def letter(self) -> int:
        """The letter + 1; 0 at position 0."""
        return self.names.index("letter")

    @property
    def state(self) -> int:
        """The state of the automaton, after the last layer."""
        return self.dim - 1

    def channels_of(self, component: int) -> list[int]:
        """The component's own channels, then the shared ones, as its layers expect them."""
        first = self._first(component)
        return [*range(first, first + len(self.simulators[component].channels)), *self.shared]

    def inputs(self, component: int) -> list[int]:
        """The channels a letter of the component is written to."""
        return [self._first(component) + i for i in self.simulators[component].inputs]

    def value(self, component: int) -> int:
        """The state of a component."""
        return self._first(component) + self.simulators[component].value

    def previous(self, component: int) -> int:
        """The state of a component one position earlier."""
        return self.names.index(f"{component} previous")

    def _first(self, component: int) -> int:
        return self.names.index(f"{component} {self.simulators[component].channels[0]}")


# What the channels of the network of Theorem 2 hold: a channel is free until something writes it.


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
