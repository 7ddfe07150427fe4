"""Clamping: ``low + relu(y − low) − relu(y − high)``, two units, exact; errors pass through unchanged."""

from krohn.construct.lowering.map_context import MapContext
from krohn.construct.lowering.signals import Signal
from krohn.network.operations import Clamp


def lower_clamp(operation: Clamp, context: MapContext) -> None:
    """Two units."""
    total = context.sum_of(operation.terms, operation.offset)
    above = context.builder.unit(total, 1.0, -float(operation.low))
    over = context.builder.unit(total, 1.0, -float(operation.high))
    terms = {above: 1.0, over: -1.0}
    low, high = float(operation.low), float(operation.high)
    context.write(operation.target, Signal(total.layer + 1, terms, low, low, high))
