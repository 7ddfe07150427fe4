"""Theorem 2: any solvable automaton in constant depth, as the paper builds it from a Krohn–Rhodes cascade.

Per level: the permutation-reset simulators of the level in parallel, then one wiring layer whose MLP turns
the states above and the letter into the letters of the next level (lemma "Implementing the transformation
cascade").

Erratum 28: dependency functions read states *before* the letter, but the channels at position t hold those
*after* it. So the wiring layer's attention is not the identity but a look-back by one position, as in
Theorem 1. Position 0 holds the initial states and its own letter code 0.

Erratum 39: "solvable" is defined through one chosen decomposition; it is a property of T(A), which is why
the holonomy cascade may decide it. Erratum 38: automata that are not solvable begin at five states, not 60.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from krohn.algebra.counters import prime_tower
from krohn.algebra.group_names import group_name
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.holonomy import Update, holonomy_cascade
from krohn.errors import InvalidInput, LimitExceeded, Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.network.program import Meaning
from krohn.network.transformer import Channel, Head, HeadMeaning, Layer, Layout, Matrix, Transformer
from krohn.paper.blocks import (
    basis,
    drop_unused_channels,
    identity_layer,
    integer_readout,
    lift_layer,
    lift_mlp,
    parallel_layers,
    then_table,
)
from krohn.paper.lemmas import PositionCode, absorber, circle_code, table_mlp
from krohn.paper.permutation_reset import (
    SHARED,
    ComponentCascade,
    ResetSimulator,
    component_cascade,
    reset_simulator,
    table_rows,
)
from krohn.paper.theorem1 import scan_gamma

# Channel assignment in the network of Theorem 2.


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


# What the channels of the network of Theorem 2 hold: nothing until they are written, in the end what their
# component needs. In between, the coordinates of a group are summed up and turned, as wreath products do.


def cascade_layout(network: Transformer, stream: CascadeStream, texts: Sequence[Sequence[str]]) -> Layout:
    """What every channel holds at every moment, and the heads by text."""
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


MAX_ROWS = 20_000
MAX_COUNTER_WEIGHTS = 1 << 24
"""Approximate weights of a group's counters: more take over ten seconds and most of a gigabyte to build."""


def build_paper(
    automaton: Semiautomaton,
    length: int,
    activation: str = "relu",
    max_rows: int = MAX_ROWS,
) -> CompiledNetwork:
    """The network of Theorem 2 on the holonomy cascade; refuses, with every reason, what does not fit.

    ``activation`` of the counters: ``relu`` as printed, ``steps`` (narrower, with tables that saturate as its
    steps do), ``sin`` (width independent of the length).
    """
    if length < 1:
        raise InvalidInput(f"the length must be at least 1; got {length}")
    whole = component_cascade(holonomy_cascade(automaton))
    reasons = [*cascade_refusals(whole, max_rows), *counter_refusals(whole, length, activation)]
    if reasons:
        raise Unsupported("; ".join(reasons))
    simulators = tuple(reset_simulator(part, length, activation) for part in whole.components)
    stream = CascadeStream(simulators, look_back_code(whole, length))
    layers, texts = _all_layers(whole, stream, activation)
    network = _network(automaton, whole, stream, layers, length)
    network, layout = drop_unused_channels(network, cascade_layout(network, stream, texts))
    return CompiledNetwork(network, automaton, "paper", None, layout)


def cascade_refusals(whole: ComponentCascade, max_rows: int) -> Iterator[str]:
    """Every reason why the theorem cannot be built, each with what to do about it."""
    raised = f"more than {max_rows:,}; raise --effort or use method cascade or scan"
    for number, part in enumerate(whole.components):
        group = part.group
        if not group.is_solvable:
            yield (
                f"method paper needs solvable groups: the group {group_name(group)} of order "
                f"{group.order} on {part.states} tiles (level {part.level}) is not solvable; use method scan"
            )
            continue
        try:
            rows = table_rows(part, prime_tower(part.permutations, part.states))
        except LimitExceeded as error:
            yield f"component {number}: {error}"
            continue
        if rows > max_rows:
            yield f"component {number} (group of order {group.order}) needs {rows:,} table rows, {raised}"
    for level in range(1, whole.num_levels):
        rows = len(wiring_rows(whole, level))
        if rows > max_rows:
            yield f"the wiring into level {level} needs {rows:,} table rows, {raised}"


def counter_refusals(whole: ComponentCascade, length: int, activation: str) -> Iterator[str]:
    """A reason for each group whose counters, with a unit for each sum they can reach, are too wide."""
    if activation == "sin":
        return
    for part in whole.components:
        a_letter = 2 * part.group.order * part.states
        if part.group.order > 1 and a_letter * length > MAX_COUNTER_WEIGHTS:
            name, most = group_name(part.group), MAX_COUNTER_WEIGHTS // a_letter
            yield (
                f"words must have at most {most:,} letters, as counters of {name} need a unit per sum; got "
                f"{length:,}: use --activation sin, whose width does not grow, or method auto"
            )


def wiring_rows(whole: ComponentCascade, level: int) -> dict[tuple[int, ...], tuple[Update, ...]]:
    """(states above before the letter …, letter + 1) ↦ actions of the components of the level."""
    above = [i for i, part in enumerate(whole.components) if part.level < level]
    here = [i for i, part in enumerate(whole.components) if part.level == level]
    return {
        (*(values[i] for i in above), letter + 1): tuple(actions[i] for i in here)
        for (values, letter), actions in whole.moves.items()
    }


def look_back_code(whole: ComponentCascade, length: int) -> PositionCode:
    """The code that finds position t − 1."""
    most = max((part.states for part in whole.components), default=2)
    return circle_code(1 + length, length, scan_gamma(most, length))


def _all_layers(
    whole: ComponentCascade, stream: CascadeStream, counting: str
) -> tuple[list[Layer], list[list[str]]]:
    layers: list[Layer] = []
    texts: list[list[str]] = []
    for level in range(whole.num_levels):
        if level:
            layers.append(_wiring(whole, stream, level, counting))
            texts.append([f"copies the states of level {level - 1} from 1 back"])
        parts = [i for i, part in enumerate(whole.components) if part.level == level]
        depth = max(len(stream.simulators[i].layers) for i in parts)
        for index in range(depth):
            placed = [
                lift_layer(stream.simulators[i].layers[index], stream.channels_of(i), stream.dim)
                for i in parts
                if index < len(stream.simulators[i].layers)
            ]
            layers.append(parallel_layers(placed))
            texts.append([text for i in parts for text in stream.simulators[i].head_texts(index, i)])
    if not layers:
        layers, texts = [identity_layer(stream.dim)], [[]]
    reads = [stream.value(i) for i in range(len(whole.components))]
    if reads:
        table = table_mlp(np.array(list(whole.state)), np.array(list(whole.state.values())), counting)
        layers[-1] = then_table(layers[-1], table, reads, stream.state)
    return layers, texts


def _wiring(whole: ComponentCascade, stream: CascadeStream, level: int, counting: str) -> Layer:
    """Look back by one, then the table of the dependency functions of the next level."""
    above = [i for i, part in enumerate(whole.components) if part.level < level]
    last = [i for i in above if whole.components[i].level == level - 1]
    here = [i for i, part in enumerate(whole.components) if part.level == level]
    code = stream.code
    where = code.scale * basis(stream.dim, stream.circle)
    copies = basis(stream.dim, [stream.value(i) for i in last])
    writes = basis(stream.dim, [stream.previous(i) for i in last])
    head = Head(where, where @ code.key_rotation(1), copies, writes.T)
    rows = {
        key: [v for i, action in zip(here, actions, strict=True) for v in stream.simulators[i].encode(action)]
        for key, actions in wiring_rows(whole, level).items()
    }
    start = (*(whole.initial[i] for i in above), 0)
    rows[start] = [v for i in here for v in stream.simulators[i].initial()]
    mlp = table_mlp(np.array(list(rows)), np.array(list(rows.values())), counting)
    reads = [*(stream.previous(i) for i in above), stream.letter]
    targets = [channel for i in here for channel in stream.inputs(i)]
    everywhere = np.ones(stream.dim)
    return Layer((head,), lift_mlp(mlp, reads, targets, stream.dim), everywhere, everywhere)


def _network(
    automaton: Semiautomaton, whole: ComponentCascade, stream: CascadeStream, layers: list[Layer], length: int
) -> Transformer:
    embedding = np.zeros((automaton.num_letters, stream.dim))
    padding = np.zeros((1, stream.dim))
    embedding[:, stream.letter] = np.arange(1, automaton.num_letters + 1)
    for i, part in enumerate(whole.components):
        if part.level == 0:
            simulator = stream.simulators[i]
            for letter in range(automaton.num_letters):
                embedding[letter, stream.inputs(i)] = simulator.encode(whole.moves[whole.initial, letter][i])
            padding[0, stream.inputs(i)] = simulator.initial()
    readout, bias = integer_readout(
        stream.dim, {stream.state: np.arange(automaton.num_states)}, automaton.num_states
    )
    if not whole.components:  # the start state is never left
        bias = np.where(np.arange(automaton.num_states) == automaton.start, 1.0, 0.0)
    return Transformer(embedding, padding, _positions(stream, length), tuple(layers), readout, bias)


def _positions(stream: CascadeStream, length: int) -> Matrix:
    positions = np.zeros((1 + length, stream.dim))
    positions[0, stream.shared[0]] = 1.0
    positions[:, stream.shared[1]] = absorber(1 + length, length)
    positions[:, stream.shared[2]] = np.arange(1 + length) / length
    positions[:, stream.shared[3]] = 1.0
    if stream.circle:
        positions[:, stream.circle] = stream.code.points
    return positions
