"""Function composition ``target = f[argument]`` (Lemma "function composition" in the proof of Theorem 1).

Steps tell which j the argument is; relu(M·1[argument = j] + f_j − M) is f_j for that j and 0 elsewhere.
The argument may be off by 1/4; the errors of f pass through.
"""

import numpy as np

from krohn.construct.lowering.map_context import MapContext
from krohn.construct.lowering.signals import Signal
from krohn.construct.lowering.staircase import staircase
from krohn.network.operations import Select


def lower_select(operation: Select, context: MapContext) -> None:
    """2(n−1) units per argument for the indicators, n for the products."""
    size = len(operation.function)
    functions = [context.read(name) for name in operation.function]
    ranges = [context.bounds(name) for name in operation.function]
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    bound = high - low + 1
    points, indicators = np.arange(size, dtype=np.float64), np.eye(size)
    for argument, target in zip(operation.arguments, operation.targets, strict=True):
        here = staircase(context.builder, context.read(argument), points, indicators)
        parts = []
        for function, indicator in zip(functions, here, strict=True):
            gate = context.builder.total([indicator.scaled(bound), function], -low - bound)
            number = context.builder.unit(gate, 1.0, 0.0)
            parts.append(Signal(gate.layer + 1, {number: 1.0}, 0.0, 0.0, 0.0))
        chosen = context.builder.total(parts, low)
        context.write(target, Signal(chosen.layer, chosen.terms, chosen.constant, low, high))
