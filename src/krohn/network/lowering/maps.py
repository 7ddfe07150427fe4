"""Maps as weights: MLPs from linear forms over units, and the units of each position-wise map.

Of a map: tables, remainders, clamps, one value chosen by another, with what its inputs may be off by.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, isqrt

import numpy as np

from krohn.network.layout import Channel
from krohn.network.lowering.map_context import MapContext
from krohn.network.lowering.mlp_builder import MlpBuilder, Signal, require_entries
from krohn.network.lowering.staircase import staircase
from krohn.network.lowering.table_code import Integers, TableCode, best_code
from krohn.network.operations import (
    Clamp,
    Modulo,
    PositionMap,
    Select,
    Table,
)


def lower_table(operation: Table, context: MapContext) -> None:
    """Outputs share one code, or take one each where that needs fewer units.

    A table over several registers as one staircase over a linear code of its inputs.

    Meaning: ``outputs = rows[inputs]``. Error: the code may be off by a quarter of its spacing (at least
    1/4), that is Σ|cᵢ|·εᵢ ≤ 1/4, and the outputs do not move.
    """
    given = np.array([row for row, _ in operation.rows], dtype=np.int64)
    results = np.array([row for _, row in operation.rows], dtype=np.int64)
    inexact = [not context.builder.saturate and context.read(name).layer > 0 for name in operation.inputs]
    joint = best_code(given, results, inexact)
    single = [best_code(given, results[:, [column]], inexact) for column in range(results.shape[1])]
    if sum(code.steps for code in single) < joint.steps:
        for name, code in zip(operation.outputs, single, strict=True):
            _emit(operation.inputs, (name,), code, context)
    else:
        _emit(operation.inputs, operation.outputs, joint, context)


def _emit(inputs: tuple[str, ...], outputs: tuple[str, ...], code: TableCode, context: MapContext) -> None:
    terms = tuple((name, factor) for name, factor in zip(inputs, code.coefficients, strict=True) if factor)
    _write_stairs(outputs, context.sum_of(terms, 0), code.points, code.values, context)


def _write_stairs(
    names: tuple[str, ...], code: Signal, points: Integers, values: Integers, context: MapContext
) -> None:
    channels, columns = context.write_columns(names, values)
    signals = staircase(context.builder, code, points.astype(np.float64), columns)
    context.signals.update(zip(channels, signals, strict=True))


# Below this many wraps one round is as narrow as two.
FEW_WRAPS = 6


def lower_modulo(operation: Modulo, context: MapContext) -> None:
    """One step for each wrap, or one for each point where other values than residues are written.

    Residues: a staircase of wraps, or two short staircases (Lemma "modular counter").

    Meaning: ``values[(Σ cᵢ·termᵢ + offset) mod n]``. With ReLU the residue is y − n·#wraps, two units per
    wrap and one for y: the wraps are flat, so an error ε of y passes on as ε and no more, for ε < 1/4.
    ``narrow`` counts wraps in two rounds, coarse then fine, which takes about 2√K units instead of 2K.
    """
    circle = context.program.register[operation.target].kind == "circle"
    total = context.sum_of(operation.terms, operation.offset)
    if operation.values is None and not circle:
        context.write(operation.target, residue(context.builder, total, operation.modulus, context.narrow))
    else:
        values = np.arange(operation.modulus) if operation.values is None else np.array(operation.values)
        points = np.arange(round(total.low), round(total.high) + 1)
        column = values[points % operation.modulus][:, None]
        _write_stairs((operation.target,), total, points, column, context)


def residue(builder: MlpBuilder, total: Signal, modulus: int, narrow: bool) -> Signal:
    """y mod n for integers y between the signal's bounds."""
    origin = round(total.low) // modulus * modulus
    wraps = (round(total.high) - origin) // modulus
    if narrow and wraps > FEW_WRAPS:
        stride = ceil(wraps / isqrt(wraps))
        total = _minus_wraps(builder, total, modulus * stride, origin, wraps // stride)
        origin, wraps = 0, stride - 1
    return _minus_wraps(builder, total, modulus, origin, wraps)


def _minus_wraps(builder: MlpBuilder, total: Signal, modulus: int, origin: int, wraps: int) -> Signal:
    """y − origin, less the modulus once for every wrap point origin + k·modulus ≤ y, k = 1 … wraps."""
    if wraps == 0:
        return replace(builder.total([total], -origin), low=0, high=round(total.high) - origin)
    points = np.array([origin + k * modulus + side for k in range(1, wraps + 1) for side in (-1, 0)])
    counts = np.array([k - 1 + side for k in range(1, wraps + 1) for side in (0, 1)])
    (count,) = staircase(builder, total, points.astype(np.float64), counts[:, None].astype(np.float64))
    return replace(builder.total([total, count.scaled(-modulus)], -origin), low=0, high=modulus - 1)


def lower_clamp(operation: Clamp, context: MapContext) -> None:
    """Two units; rounded, two for every value but one.

    Clamping: ``low + relu(y − low) − relu(y − high)``, two units, exact; errors pass through unchanged.

    A table of n rows multiplies the error of a clamped sum by up to n. Where the format is too short for
    that, ``rounded`` gives tables the clamped sum rounded, by a staircase of its own. No estimate says where:
    both ways are built, and the checker decides.
    """
    total = context.sum_of(operation.terms, operation.offset)
    here, later = _tables(operation, context) if context.rounded else (False, False)
    if here:
        context.write(operation.target, _round(operation, total, context))
        return
    above = context.builder.unit(total, 1.0, -float(operation.low))
    over = context.builder.unit(total, 1.0, -float(operation.high))
    terms = {above: 1.0, over: -1.0}
    low, high = float(operation.low), float(operation.high)
    context.write(operation.target, Signal(total.layer + 1, terms, low, low, high))
    if later:
        # Maps in the same MLP need not wait for the rounded value.
        context.stored[Channel(register=operation.target)] = _round(operation, total, context)


def _round(operation: Clamp, total: Signal, context: MapContext) -> Signal:
    places = np.arange(operation.low, operation.high + 1, dtype=np.float64)
    return staircase(context.builder, total, places, places[:, None])[0]


def _tables(operation: Clamp, context: MapContext) -> tuple[bool, bool]:
    """Whether a table reads the target in the layer of the clamp, and in another one."""
    result = {True: False, False: False}
    for layer in context.program.layers:
        own = any(isinstance(each, Clamp) and each.target == operation.target for each in layer.maps)
        result[own] |= any(
            isinstance(change, Table) and operation.target in change.reads for change in layer.maps
        )
    return result[True], result[False]


def compose_again(operation: Select, maps: Sequence[PositionMap]) -> bool:
    """Whether another composition among these maps reads what this one writes.

    Such a map never leaves the MLP; every value of it gets a unit of its own there, so that it can be read.

    Function composition ``target = f[argument]`` (Lemma "function composition" in the proof of Theorem 1).

    With x = argument + 1/4, f ≥ 0 and M at least twice the largest f, the sum over j of relu(f_j + M(x − j))
    − relu(f_j + M(x − j − 1)) is M for every j below the argument, f_j + M(x − j) at it and 0 above; less
    M·relu(x) that is f at the argument, for every error of the argument up to 1/4. One hidden layer, 2n
    units per target. The errors of f pass through.
    """
    readers = [change for change in maps if isinstance(change, Select) and change is not operation]
    return operation in maps and any(set(operation.writes) & set(change.reads) for change in readers)


def lower_select(operation: Select, context: MapContext) -> None:
    """2n units per argument."""
    builder = context.builder
    # Millions of units take minutes to build: refuse them first.
    require_entries(4 * len(operation.function) * len(operation.arguments) * builder.dim)
    functions = [context.read(name) for name in operation.function]
    ranges = [context.bounds(name) for name in operation.function]
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    slope = 2.0 * (high - low + 1)
    again = any(compose_again(operation, layer.maps) for layer in context.program.layers)
    for argument, target in zip(operation.arguments, operation.targets, strict=True):
        ramp = context.read(argument).scaled(slope)
        layer = max(signal.layer for signal in (ramp, *functions))
        ramp = builder.carried(ramp, layer)
        terms: dict[int, float] = {builder.unit(ramp, 1.0, slope / 4): -1.0}
        for number, function in enumerate(functions):
            rise = builder.total([ramp, function], slope * (0.25 - number) - low)
            rise = builder.carried(rise, layer)
            for shift, sign in ((0.0, 1.0), (-slope, -1.0))[: 1 + (number + 1 < len(functions))]:
                unit = builder.unit(rise, 1.0, shift)  # repeated where a register occurs twice
                terms[unit] = terms.get(unit, 0.0) + sign
        result = Signal(layer + 1, terms, float(low), low, high)
        context.write(target, builder.carried(result, layer + 2) if again else result)
