"""The channels of the network of Theorem 2: who owns which, and what they hold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.network.program import Meaning
from krohn.network.transformer import Transformer
from krohn.paper.permutation_reset import SHARED, ResetSimulator
from krohn.paper.positions import PositionCode


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
        return "cos 0", "sin 0"

    @property
    def levels(self) -> int:
        """Number of levels."""
        return max((simulator.part.level for simulator in self.simulators), default=-1) + 1

    @cached_property
    def contents(self) -> tuple[Meaning | str, ...]:
        """All channels in order; those that only depend on the position by the names of their codes."""
        blocks = [replace(each, number=i) for i, sim in enumerate(self.simulators) for each in sim.channels]
        copies = [_before(i) for i, sim in enumerate(self.simulators) if sim.part.level < self.levels - 1]
        positions: tuple[Meaning | str, ...] = (*SHARED, *self.code_names)
        return (*positions, Meaning("letter"), *blocks, *copies, Meaning("state"))

    @property
    def dim(self) -> int:
        """Number of channels."""
        return len(self.contents)

    @property
    def shared(self) -> list[int]:
        """⊥, log(2T−t), t/T, one."""
        return [*range(len(SHARED))]

    @property
    def circle(self) -> list[int]:
        """The channels of the position code."""
        return [self.contents.index(name) for name in self.code_names]

    @property
    def letter(self) -> int:
        """The letter + 1; 0 at position 0."""
        return self.contents.index(Meaning("letter"))

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
        return self.contents.index(_before(component))

    def letters_at(self, component: int) -> int:
        """The moment from which the letters of a component are there: the embedding, or an MLP that wires."""
        level = self.simulators[component].part.level
        return 2 * sum(
            1 + max(len(each.layers) for each in self.simulators if each.part.level == earlier)
            for earlier in range(level)
        )

    def states_at(self, component: int) -> int:
        """The moment from which its states are there, unless that layer reads the automaton's state off."""
        return self.letters_at(component) + 2 * len(self.simulators[component].layers)

    def _first(self, component: int) -> int:
        return self.contents.index(replace(self.simulators[component].channels[0], number=component))


def _before(component: int) -> Meaning:
    return Meaning("component before", number=component)


def cascade_layout(network: Transformer, stream: CascadeStream, texts: Sequence[Sequence[str]]) -> Layout:
    """What every channel holds at every moment, and the heads by text.

    What the channels of the network of Theorem 2 hold: nothing until they are written, in the end what their
    component needs. In between, the coordinates of a group are summed up and turned, as wreath products do.
    """
    written = [[(network.embedding != 0).any(axis=0) | (network.padding != 0).any(axis=0)]]
    for layer in network.layers:
        by_heads = [(head.output != 0).any(axis=0) for head in layer.heads]
        written += [by_heads, [(layer.mlp.weights[-1] != 0).any(axis=0)]]
    table = np.array([np.any([*rows, np.zeros(network.dim, dtype=bool)], axis=0) for rows in written])
    held = [_history(stream, each, table[:, c].tolist()) for c, each in enumerate(stream.contents)]
    registers = dict.fromkeys(each for column in held for each in column if isinstance(each, Meaning))
    heads = tuple(tuple(HeadMeaning(text) for text in layer) for layer in texts)
    # The head of a counter averages over twice the length.
    scales = {each: 0.5 / network.max_length for each in registers if each.kind == "group sum"}
    moments = tuple(
        tuple(
            Channel(position=each)
            if isinstance(each, str)
            else Channel(each.name, scale=scales.get(each, 1.0))
            for each in moment
        )
        for moment in zip(*held, strict=True)
    )
    return Layout(moments, heads, tuple(registers))


def _history(stream: CascadeStream, final: Meaning | str, written: list[bool]) -> list[Meaning | str]:
    """What a channel holds at each moment, given when it is written; heads write at odd moments."""
    if isinstance(final, str):
        return [final] * len(written)
    held = list[Meaning | str]()
    now: Meaning | str = ""
    for moment, new in enumerate(written):
        match final.kind:
            case "component coordinate":
                now = _coordinate(stream, final, written, moment) or now
            case "component value" if new and moment < stream.states_at(final.number or 0):
                kind = "memory" if any(written[1 : moment + 1 : 2]) else "target"
                now = Meaning(f"component {kind}", number=final.number)
            case _ if new:
                now = final
        held.append(now)
    return held


def _coordinate(stream: CascadeStream, final: Meaning, written: list[bool], moment: int) -> Meaning | None:
    """What a coordinate of a group becomes at a moment, if anything; the last time, that of the product."""
    if moment == stream.letters_at(final.number or 0):
        return replace(final, kind="group letter", group=final.number, number=final.start, start=None)
    if not written[moment] or not any(written[moment + 1 :]):
        return final if written[moment] else None
    kind = "sum" if moment % 2 else "product" if written[moment - 1] else "turned"
    layer = (moment + 1) // 2
    return replace(final, kind=f"group {kind}", group=final.number, number=final.start, start=layer)
