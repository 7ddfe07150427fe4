"""Theorem 3 as printed: machines layer by layer, and orders of last visits in the last layer."""

from dataclasses import replace

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import Arithmetic, Array
from krohn.certify.attention import attend
from krohn.certify.findings import Record
from krohn.certify.folds import MAX_CHOICES
from krohn.certify.mlp import transform
from krohn.certify.stream import Stream, embed, live_channels, settle
from krohn.certify.visits_proof import copies_positions, prove_visits
from krohn.network.transformer import Head, Layer, Mlp, Transformer


def prove(
    network: Transformer, automaton: Semiautomaton, length: int, arith: Arithmetic, record: Record
) -> float:
    """Raises ``Refuted`` unless every word of length ≤ ``length`` is run right; returns the logit margin."""
    stored = stored_network(network, arith, record)
    live = live_channels(stored)
    record.streams.append(embed(stored, length, arith))
    stream = settle(record.streams[0], live[0])
    for index, layer in enumerate(stored.layers[:-1]):
        record.layer = index + 1
        mixed = attend(stream, layer, stored.mask, arith, record)
        _require_range(mixed, arith, record)
        stream = settle(mixed, live[2 * index + 1], merge=False)
        done = transform(stream, layer, arith, record, MAX_CHOICES)
        _require_range(done, arith, record)
        stream = settle(done, live[2 * index + 2])
        record.streams += [mixed, done]
    record.layer = stored.depth
    if not copies_positions(stream, stored.layers[-1]):
        raise record.refuse("visits", "no head of the last layer returns positions: this is not Theorem 3")
    return prove_visits(stream, stored, automaton, arith, record)


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
