"""Theorem 3 as printed has its own proof for its last layer: no finite machine holds what its heads return.

All layers below are walked by the small checker, whose claim is handed on. Rounding in the last layer is
written out here, relative terms only. So it is asked only about networks of that form in which no number can
leave the format, and in which what underflows cannot grow into anything.
"""

from dataclasses import replace

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import Arithmetic, Array
from krohn.certify.claim_stream import streams_of
from krohn.certify.findings import Record, Refuted
from krohn.certify.visits_proof import copies_positions, prove_visits
from krohn.certify.witness_notes import note_steps
from krohn.certify.witness_search import live_channels, walk_through
from krohn.check.checker import refusal_of
from krohn.check.format import FORMATS
from krohn.check.reader import Network, stored
from krohn.network.transformer import Head, Layer, Mlp, Transformer

LARGEST = {"float64": 2.0**400, "float32": 2.0**80}
"""Far below the largest number; times the least positive one it is nothing. Half types have no such room."""
MARGIN = 1e-3


def returns_positions(network: Transformer) -> bool:
    """Whether values of the last layer read a channel in which positions have codes: else it is none."""
    codes = (network.positions != network.positions[-1:]).any(axis=0)
    heads = network.layers[-1].heads if network.layers else ()
    return any(bool((codes & (head.value != 0).any(axis=1)).any()) for head in heads)


def ordinary(network: Transformer, arith: Arithmetic) -> bool:
    """Whether a rough bound of every number, and of how errors grow from layer to layer, is small enough."""
    if arith.name not in LARGEST or not network.layers:
        return False
    outer = (network.embedding, network.padding, network.positions)
    size = max(1.0, 2 * max(float(np.abs(matrix).max(initial=0.0)) for matrix in outer))
    largest = size
    for layer in network.layers:
        size, here = _grown(layer, size)
        largest = max(largest, here)
    return bool(max(largest, size * _norm(network.readout, network.readout_bias)) < LARGEST[arith.name])


def _grown(layer: Layer, size: float) -> tuple[float, float]:
    """Bounds of the stream after a layer, and of everything inside it."""
    largest, mixed = size, size
    for head in layer.heads:
        asked = _norm(head.query) * _norm(head.key) * head.query.shape[1]
        largest = max(largest, size * size * asked)
        mixed += size * _norm(head.value) * _norm(head.output)
    out = mixed
    for weight, bias in zip(layer.mlp.weights, layer.mlp.biases, strict=True):
        out *= _norm(weight, bias)
    return mixed + out, max(largest, mixed + out)


def _norm(weight: Array, bias: Array | float = 0.0) -> float:
    """At least 1: by how much x W + b can exceed x, if that is at least 1."""
    return float(np.maximum(np.abs(weight).sum(axis=0) + np.abs(bias), 1.0).max(initial=1.0))


def prove_theorem3(
    network: Transformer, checked: Network, automaton: Semiautomaton, length: int, arith: Arithmetic
) -> tuple[Record, Refuted | None, float]:
    """The small checker layer by layer, and orders of last visits in the last one.

    The record names this proof as soon as the heads are found to follow a walk.
    """
    record = Record()
    if not network.layers or not ordinary(network, arith):
        return record, record.refuse("visits", "this is not Theorem 3 with numbers of ordinary size"), 0.0
    try:
        with np.errstate(all="ignore"):
            margin = _margin(network, checked, automaton, length, arith, record)
        if not margin > MARGIN:
            return record, record.refuse("decode", f"a margin of {margin:.3g} is not above {MARGIN}"), 0.0
        return record, None, margin
    except Refuted as error:
        return record, error, 0.0
    except Exception as error:  # whatever a strange network makes it stumble over is a refusal
        return record, record.refuse("proof", refusal_of(error).reason), 0.0


def _margin(
    network: Transformer,
    checked: Network,
    automaton: Semiautomaton,
    length: int,
    arith: Arithmetic,
    record: Record,
) -> float:
    live = live_channels(stored(checked, FORMATS[arith.name]))
    below = replace(checked, layers=checked.layers[:-1])
    walk = walk_through(below, arith.name, length, live=live[: 2 * len(below.layers) + 1])
    note_steps(record, walk, None)
    record.streams += streams_of(walk.moments, walk.network)
    stream = streams_of([walk.claim], walk.network)[0]
    record.layer = len(network.layers)
    held = stored_network(network, arith, record)
    if not copies_positions(stream, held.layers[-1]):
        raise record.refuse("visits", "no head of the last layer returns positions: this is not Theorem 3")
    return prove_visits(stream, held, automaton, arith, record)


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
