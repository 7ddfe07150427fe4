"""What a head carries: the value vectors of all classes and padding positions, and their errors."""

from dataclasses import dataclass

import numpy as np

from krohn.certify.arithmetic import OWN, SAFE, Arithmetic, Array, linear
from krohn.certify.findings import Record
from krohn.certify.machine import Integers
from krohn.certify.stream import Stream, cluster
from krohn.network.transformer import Head


@dataclass(frozen=True, eq=False)
class Values:
    """``rows[v]`` is a value vector, ``of[c]`` that of class c, ``of_pad[j]`` that of padding position j.

    A value also carries ``wide @ Z`` of the position it stands at. Two values a head could confuse differ by
    ≤ ``spread``, and by ``stride`` more per position between them; none exceeds ``size``; ``error`` is the
    error of a value before attention.
    """

    rows: Array
    of: Integers
    of_pad: Integers
    wide: Array
    spread: Array
    stride: Array
    size: Array
    error: Array


def values_of(stream: Stream, head: Head, arith: Arithmetic, record: Record) -> Values:
    """Value vectors with rounding; refuses values that carry a position code."""
    if stream.carries_code(head.value):
        raise record.refuse("values", "a head copies a position code")
    own, own_error = linear(arith, stream.nominal, stream.radius, head.value)
    pads, pad_error = linear(arith, stream.pads, stream.pad_radius, head.value)
    rows, which, drift = cluster(np.concatenate([own, pads]))
    wide = stream.wide.T @ head.value
    # Counters that cancel are added all the same: they count as size of the terms.
    far = np.abs(stream.reach).max(axis=1, initial=0) @ (np.abs(stream.wide).T @ np.abs(head.value))
    radius = np.maximum(stream.radius, stream.pad_radius) @ np.abs(head.value)
    rounding = np.maximum(own_error.max(axis=0, initial=0.0), pad_error.max(axis=0, initial=0.0))
    terms = (head.value != 0).sum(axis=0) + 3
    rounding = rounding + SAFE * (arith.unit + arith.inner + OWN) * terms * far
    error = radius + rounding + drift
    both = np.concatenate([own, pads])
    # Padding positions hold numbers, not counters: from there on a counter moves by its steps as well.
    spread = both.max(axis=0) - both.min(axis=0) + 2 * error
    fastest = np.abs(stream.machine.steps).max(axis=(0, 1), initial=0)
    stride = (fastest @ np.abs(wide)) if wide.size else np.zeros(len(drift))
    size = np.abs(both).max(axis=0) + far + error
    return Values(rows, which[: len(own)], which[len(own) :], wide, spread, stride, size, error)


def delivered(head: Head, values: Values, error: Array, arith: Arithmetic) -> tuple[Array, Array, Array]:
    """Value rows, coefficients of counters and error after W_C: what the head adds to the stream."""
    rows, rounding = linear(arith, values.rows, error, head.output)
    out = error @ np.abs(head.output) + rounding.max(axis=0, initial=0.0)
    wide = values.wide @ head.output
    carried = (values.wide != 0).any(axis=0) @ (head.output != 0) > 0
    terms = (head.output != 0).sum(axis=0) + 3
    size = values.size @ np.abs(head.output)
    out = out + np.where(carried, SAFE * (arith.unit + arith.inner + OWN) * terms * size, 0.0)
    return rows, wide, out
