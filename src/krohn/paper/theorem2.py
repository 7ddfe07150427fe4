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

from collections.abc import Iterator

import numpy as np

from krohn.algebra.counters import prime_tower
from krohn.algebra.group_names import group_name
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.holonomy import Update, holonomy_cascade
from krohn.errors import InvalidInput, LimitExceeded, Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.network.transformer import Head, Layer, Matrix, Transformer
from krohn.paper.blocks import (
    basis,
    identity_layer,
    integer_readout,
    lift_layer,
    lift_mlp,
    parallel_layers,
    then_table,
)
from krohn.paper.cascade_stream import CascadeStream, cascade_layout
from krohn.paper.component_cascade import ComponentCascade, component_cascade
from krohn.paper.counter import absorber
from krohn.paper.interpolation import table_mlp
from krohn.paper.permutation_reset import reset_simulator, table_rows
from krohn.paper.positions import PositionCode, circle_code
from krohn.paper.theorem1 import scan_gamma
from krohn.paper.unused_channels import drop_unused_channels

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
