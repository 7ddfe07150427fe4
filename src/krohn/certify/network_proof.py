"""The proof that a network simulates its automaton, read off the matrices layer by layer."""

from dataclasses import replace

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import Arithmetic, Array
from krohn.certify.attention import attend
from krohn.certify.findings import Record
from krohn.certify.folds import MAX_CHOICES
from krohn.certify.mlp import transform
from krohn.certify.simulation import check_simulation, decode
from krohn.certify.stream import Stream, embed, live_channels, resolved, settle
from krohn.certify.visits_proof import copies_positions, prove_visits
from krohn.network.transformer import Head, Layer, Mlp, Transformer


def prove(
    network: Transformer,
    automaton: Semiautomaton,
    length: int,
    arith: Arithmetic,
    record: Record,
    choices: int = MAX_CHOICES,
) -> float:
    """Raises ``Refuted`` unless every word of length ≤ ``length`` is run right; returns the logit margin.

    ``choices`` bounds what clamped sums may cost; with 1 every sum is followed exactly.
    """
    stored = stored_network(network, arith, record)
    live = live_channels(stored)
    record.streams.append(embed(stored, length, arith))
    stream = settle(record.streams[0], live[0])
    for index, layer in enumerate(stored.layers):
        record.layer = index + 1
        if index + 1 == stored.depth and copies_positions(stream, layer):
            return prove_visits(stream, stored, automaton, arith, record)
        mixed = attend(stream, layer, stored.mask, arith, record)
        _require_range(mixed, arith, record)
        stream = settle(mixed, live[2 * index + 1], merge=False)
        done = transform(stream, layer, arith, record, choices)
        _require_range(done, arith, record)
        stream = settle(done, live[2 * index + 2], merge=index + 1 < stored.depth)
        record.streams += [mixed, done]
    record.layer = stored.depth + 1
    stream = resolved(stream, np.flatnonzero((np.abs(stream.wide).T @ np.abs(stored.readout)).any(axis=1)))
    states, margin = decode(stream, stored, arith, record)
    check_simulation(stream.machine, states, automaton, length, record)
    return margin


def _require_range(stream: Stream, arith: Arithmetic, record: Record) -> None:
    pads = np.abs(stream.pads).max(axis=0, initial=0.0) + stream.pad_radius
    size = float((np.maximum(stream.size(), pads) + stream.lost).max(initial=0.0))
    record.require("range", size, arith.largest, "every number stays finite")


def stored_network(network: Transformer, arith: Arithmetic, record: Record) -> Transformer:
    """The same network with its weights as the dtype stores them."""

    def cast(matrix: Array) -> Array:
        made = arith.cast(matrix)
        if not np.isfinite(made).all():
            raise record.refuse("weights", f"a weight does not fit into {arith.name}")
        return made

    def head(item: Head) -> Head:
        return Head(cast(item.query), cast(item.key), cast(item.value), cast(item.output))

    def layer(item: Layer) -> Layer:
        mlp = Mlp(tuple(map(cast, item.mlp.weights)), tuple(map(cast, item.mlp.biases)), item.mlp.activations)
        return replace(item, heads=tuple(map(head, item.heads)), mlp=mlp)

    return Transformer(
        cast(network.embedding),
        cast(network.padding),
        cast(network.positions),
        tuple(map(layer, network.layers)),
        cast(network.readout),
        cast(network.readout_bias),
        network.mask,
    )
