"""The units of every position-wise map: tables, remainders, clamps, one value chosen by another."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product
from math import ceil, isqrt

import numpy as np
import numpy.typing as npt

from krohn.network.mlp_builder import MapContext, MlpBuilder, Signal, require_entries, staircase
from krohn.network.position_maps import Clamp, Modulo, PositionMap, Select, Table
from krohn.network.transformer import Channel

# The linear code y = Σ cᵢ·vᵢ by which a table of several inputs becomes a staircase of one.
#
# A code must separate rows with different outputs; rows that cannot occur are don't-cares. Among mixed
# radix codes in every order and codes with small coefficients, the one with the fewest steps is taken.


Integers = npt.NDArray[np.int64]

MAX_ENTRIES = 400_000
MAX_ORDERS = 120


@dataclass(frozen=True, eq=False)
class TableCode:
    """``coefficients`` per input, the distinct codes in order, and the outputs at each."""

    coefficients: tuple[int, ...]
    points: Integers
    values: Integers

    @property
    def steps(self) -> int:
        """Changes of value along the line."""
        return int((np.diff(self.values, axis=0) != 0).any(axis=1).sum())


def best_code(given: Integers, results: Integers, inexact: Sequence[bool] = ()) -> TableCode:
    """The code with the fewest steps for rows ``given[row, input] → results[row, output]``.

    Tie-breaker: the smallest coefficients, which amplify errors least. Where some inputs are ``inexact``, the
    code that amplifies their errors least comes first.
    """
    candidates = _candidates(given)[: max(1, MAX_ENTRIES // len(given))]
    steps = _steps(candidates, given, results)
    sizes = np.abs(candidates)
    amplified = np.where(
        steps < np.iinfo(np.int64).max,
        sizes @ np.array(inexact or [False] * sizes.shape[1]),
        np.iinfo(np.int64).max,
    )
    best = candidates[np.lexsort((sizes.max(axis=1), steps, amplified))[0]]
    codes = given @ best
    points, first = np.unique(codes, return_index=True)
    return TableCode(tuple(best.tolist()), points, results[first])


def _steps(candidates: Integers, given: Integers, results: Integers) -> Integers:
    """Steps of each candidate; infinitely many where rows with different outputs have one code."""
    _, label = np.unique(results, axis=0, return_inverse=True)
    codes = candidates @ given.T
    order = np.argsort(codes, axis=1, kind="stable")
    same = np.diff(np.take_along_axis(codes, order, axis=1), axis=1) == 0
    changes = np.diff(label.reshape(-1)[order], axis=1) != 0
    steps: Integers = changes.sum(axis=1)
    steps[(same & changes).any(axis=1)] = np.iinfo(np.int64).max
    return steps


def _candidates(given: Integers) -> Integers:
    """Mixed radix codes in every order first (one of them always separates), then small coefficients."""
    spans = given.max(axis=0) - given.min(axis=0) + 1
    count = len(spans)
    result = []
    for order in islice(permutations(range(count)), MAX_ORDERS):
        coefficients, radix = [0] * count, 1
        for index in order:
            coefficients[index] = radix
            radix *= int(spans[index])
        result.append(tuple(coefficients))
    reach = {1: 1, 2: 8, 3: 4, 4: 2}.get(count, 1)
    if count <= 6:
        result += [c for c in product(range(-reach, reach + 1), repeat=count) if any(c) and _leading(c) > 0]
    return np.array(list(dict.fromkeys(result)), dtype=np.int64)


def _leading(coefficients: tuple[int, ...]) -> int:
    return next(c for c in coefficients if c)


# A table over several registers as one staircase over a linear code of its inputs.
#
# Meaning: ``outputs = rows[inputs]``. Error: the code may be off by a quarter of its spacing (at least 1/4),
# that is Σ|cᵢ|·εᵢ ≤ 1/4, and the outputs do not move.


def lower_table(operation: Table, context: MapContext) -> None:
    """Outputs share one code, or take one each where that needs fewer units."""
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
    channels, columns = context.write_columns(outputs, code.values)
    signals = staircase(context.builder, context.sum_of(terms, 0), code.points.astype(np.float64), columns)
    for channel, signal in zip(channels, signals, strict=True):
        context.signals[channel] = signal


# Residues: a staircase of wraps, or two short staircases (Lemma "modular counter").
#
# Meaning: ``values[(Σ cᵢ·termᵢ + offset) mod n]``. With ReLU the residue is y − n·#wraps, two units per wrap
# and one for y: the wraps are flat, so an error ε of y passes on as ε and no more, for ε < 1/4. ``narrow``
# counts wraps in two rounds, coarse then fine, which takes about 2√K units instead of 2K.


# Below this many wraps one round is as narrow as two.
FEW_WRAPS = 6


def lower_modulo(operation: Modulo, context: MapContext) -> None:
    """One step for each wrap, or one for each point where other values than residues are written."""
    circle = context.program.register[operation.target].kind == "circle"
    total = context.sum_of(operation.terms, operation.offset)
    low, high = round(total.low), round(total.high)
    if operation.values is None and not circle:
        context.write(operation.target, residue(context.builder, total, operation.modulus, context.narrow))
    else:
        values = np.arange(operation.modulus) if operation.values is None else np.array(operation.values)
        points = np.arange(low, high + 1)
        channels, columns = context.write_columns(
            (operation.target,), values[points % operation.modulus][:, None]
        )
        signals = staircase(context.builder, total, points.astype(np.float64), columns)
        for channel, signal in zip(channels, signals, strict=True):
            context.signals[channel] = signal


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
        return _with_bounds(builder.total([total], -origin), 0, round(total.high) - origin)
    points = np.array([origin + k * modulus + side for k in range(1, wraps + 1) for side in (-1, 0)])
    counts = np.array([k - 1 + side for k in range(1, wraps + 1) for side in (0, 1)])
    (count,) = staircase(builder, total, points.astype(np.float64), counts[:, None].astype(np.float64))
    out = builder.total([total, count.scaled(-modulus)], -origin)
    return _with_bounds(out, 0, modulus - 1)


def _with_bounds(signal: Signal, low: float, high: float) -> Signal:
    return Signal(signal.layer, signal.terms, signal.constant, low, high)


# Clamping: ``low + relu(y − low) − relu(y − high)``, two units, exact; errors pass through unchanged.
#
# A table of n rows multiplies the error of a clamped sum by up to n. Where the format is too short for that,
# ``rounded`` gives tables the clamped sum rounded, by a staircase of its own. No estimate says where: both
# ways are built, and the checker decides.


def lower_clamp(operation: Clamp, context: MapContext) -> None:
    """Two units; rounded, two for every value but one."""
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
        result[operation in layer.maps] |= any(
            isinstance(change, Table) and operation.target in change.reads for change in layer.maps
        )
    return result[True], result[False]


# Function composition ``target = f[argument]`` (Lemma "function composition" in the proof of Theorem 1).
#
# With x = argument + 1/4, f ≥ 0 and M at least twice the largest f, the sum over j of
# relu(f_j + M(x − j)) − relu(f_j + M(x − j − 1)) is M for every j below the argument, f_j + M(x − j) at it
# and 0 above; less M·relu(x) that is f at the argument, for every error of the argument up to 1/4. One hidden
# layer, 2n units per target. The errors of f pass through.


def compose_again(operation: Select, maps: Sequence[PositionMap]) -> bool:
    """Whether another composition among these maps reads what this one writes.

    Such a map never leaves the MLP; every value of it gets a unit of its own there, so that it can be read.
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
