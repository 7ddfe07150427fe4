"""Function composition ``target = f[argument]`` (Lemma "function composition" in the proof of Theorem 1).

With x = argument + 1/4, f ≥ 0 and M at least twice the largest f, the sum over j of
relu(f_j + M(x − j)) − relu(f_j + M(x − j − 1)) is M for every j below the argument, f_j + M(x − j) at it
and 0 above; less M·relu(x) that is f at the argument, for every error of the argument up to 1/4. One hidden
layer, 2n units per target. The errors of f pass through.
"""

from krohn.construct.lowering.map_context import MapContext
from krohn.construct.lowering.signals import Signal, require_entries
from krohn.network.operations import Select


def lower_select(operation: Select, context: MapContext) -> None:
    """2n units per argument."""
    builder = context.builder
    # Millions of units take minutes to make: refuse them before.
    require_entries(4 * len(operation.function) * len(operation.arguments) * builder.dim)
    functions = [context.read(name) for name in operation.function]
    ranges = [context.bounds(name) for name in operation.function]
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    slope = 2.0 * (high - low + 1)
    for argument, target in zip(operation.arguments, operation.targets, strict=True):
        ramp = context.read(argument).scaled(slope)
        terms: dict[int, float] = {builder.unit(ramp, 1.0, slope / 4): -1.0}
        for number, function in enumerate(functions):
            rise = builder.total([ramp, function], slope * (0.25 - number) - low)
            terms[builder.unit(rise, 1.0, 0.0)] = 1.0
            if number + 1 < len(functions):
                terms[builder.unit(rise, 1.0, -slope)] = -1.0
        layer = max(signal.layer for signal in (ramp, *functions)) + 1
        context.write(target, Signal(layer, terms, float(low), low, high))
