"""Theorem 3 as printed has a proof of its own, outside the small checker: no finite machine holds its heads.

Rounding is written out in its modules, relative terms only. So it is asked only about networks of that form
in which no number can leave the format, and in which what underflows cannot grow into anything.
"""

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import Arithmetic, Array
from krohn.certify.findings import Record, Refuted
from krohn.certify.network_proof import prove
from krohn.errors import LimitExceeded
from krohn.network.transformer import Layer, Transformer

LARGEST = {"float64": 2.0**400, "float32": 2.0**80}
"""Far below the largest number; times the least positive one it is nothing. Half types have no such room."""
MARGIN = 1e-3


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


def earlier_attempt(
    network: Transformer, automaton: Semiautomaton, length: int, arith: Arithmetic
) -> tuple[Record, Refuted | None, float]:
    """Machines layer by layer, and orders of last visits in the last one."""
    record = Record()
    if network.num_padding == 0:
        reason = "the proof starts from a padding position; there is none"
        return record, record.refuse("padding", reason), 0.0
    try:
        with np.errstate(all="ignore"):
            margin = prove(network, automaton, length, arith, record)
        if not margin > MARGIN:
            return record, record.refuse("decode", f"a margin of {margin:.3g} is not above {MARGIN}"), 0.0
        return record, None, margin
    except Refuted as error:
        return record, error, 0.0
    except LimitExceeded as error:
        return record, record.refuse("size", str(error)), 0.0
