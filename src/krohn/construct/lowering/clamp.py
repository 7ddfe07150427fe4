"""Clamping: ``low + relu(y − low) − relu(y − high)``, two units, exact; errors pass through unchanged.

A table of n rows multiplies the error of a clamped sum by up to n. Where steps saturate, because the float
format is short, and that is too much, the table gets the clamped sum rounded, by a staircase of its own.
"""

import numpy as np

from krohn.construct.lowering.map_context import MapContext
from krohn.construct.lowering.signals import Signal
from krohn.construct.lowering.staircase import staircase
from krohn.network.layout import Channel
from krohn.network.operations import Clamp, Table

SUM_ERROR = 8 * 2.0**-24
"""Error of a sum of p terms in float32 over p²: p roundings of numbers up to p, with room."""
TOO_MUCH = 0.5
"""Error of a table's code, at worst; a quarter is what it bears, and few tables need all their rows."""


def lower_clamp(operation: Clamp, context: MapContext) -> None:
    """Two units; rounded, two for every value but one."""
    total = context.sum_of(operation.terms, operation.offset)
    here, later = _large_tables(operation, context)
    if here:
        context.write(operation.target, _rounded(operation, total, context))
        return
    above = context.builder.unit(total, 1.0, -float(operation.low))
    over = context.builder.unit(total, 1.0, -float(operation.high))
    terms = {above: 1.0, over: -1.0}
    low, high = float(operation.low), float(operation.high)
    context.write(operation.target, Signal(total.layer + 1, terms, low, low, high))
    if later:
        # Maps of this MLP need not wait for the rounded value.
        context.stored[Channel(register=operation.target)] = _rounded(operation, total, context)


def _rounded(operation: Clamp, total: Signal, context: MapContext) -> Signal:
    places = np.arange(operation.low, operation.high + 1, dtype=np.float64)
    return staircase(context.builder, total, places, places[:, None])[0]


def _large_tables(operation: Clamp, context: MapContext) -> tuple[bool, bool]:
    """Whether too large a table reads the target in the layer of the clamp, and in another one."""
    found = {True: False, False: False}
    most = TOO_MUCH / (SUM_ERROR * context.positions**2)
    if context.builder.saturate:
        for layer in context.program.layers:
            readers = [change for change in layer.maps if operation.target in change.reads]
            large = any(isinstance(change, Table) and len(change.rows) > most for change in readers)
            found[operation in layer.maps] |= large
    return found[True], found[False]
