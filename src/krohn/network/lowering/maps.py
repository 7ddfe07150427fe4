"""Maps as weights: MLPs from linear forms over units, and the units of each position-wise map.

Of a map: tables, remainders, clamps, one value chosen by another, with what its inputs may be off by.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise, permutations, product
from math import ceil, frexp, isqrt, pi

import numpy as np
import numpy.typing as npt

from krohn.base.portable import cos, sin
from krohn.errors import LimitExceeded
from krohn.network.operations import (
    Clamp,
    Modulo,
    PositionMap,
    Select,
    Table,
)
from krohn.network.program import Program
from krohn.network.transformer import RELU, Channel, Mlp

# An MLP under construction: values as sums over the units of one hidden layer, built layer by layer.


# Headroom below the least value of a carried signal, so that errors up to it pass through unclipped.
SLACK = 1.0

MAX_ENTRIES = 40_000_000
Points = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Signal:
    """``Σ weightᵢ·unitᵢ + constant`` over the units of ``layer`` (0: the input channels)."""

    layer: int
    terms: dict[int, float]
    constant: float
    low: float
    high: float

    def scaled(self, factor: float) -> "Signal":
        """The signal times a number."""
        ends = sorted((self.low * factor, self.high * factor))
        terms = {unit: weight * factor for unit, weight in self.terms.items()}
        return Signal(self.layer, terms, self.constant * factor, ends[0], ends[1])


@dataclass
class Unit:
    """One hidden unit, by its input."""

    terms: dict[int, float]
    bias: float


@dataclass
class MlpBuilder:
    """Hidden layers as lists of units; equal units are shared; ``balanced``: see ``_balance``."""

    dim: int
    saturate: bool = False
    balanced: bool = True
    layers: list[list[Unit]] = field(default_factory=list)
    _known: dict[tuple[object, ...], int] = field(default_factory=dict)

    def unit(self, signal: Signal, slope: float, bias: float) -> int:
        """Makes ``relu(slope·signal + bias)`` in the layer after the signal's; returns its number."""
        terms = {unit: weight * slope for unit, weight in signal.terms.items()}
        result = Unit(terms, signal.constant * slope + bias)
        key = (signal.layer, tuple(sorted(result.terms.items())), result.bias)
        if key not in self._known:
            while len(self.layers) <= signal.layer:
                self.layers.append([])
            self._known[key] = len(self.layers[signal.layer])
            self.layers[signal.layer].append(result)
        return self._known[key]

    def carried(self, signal: Signal, layer: int) -> Signal:
        """The same value at a later layer, through one unit per layer."""
        while signal.layer < layer:
            if not signal.terms:
                return Signal(layer, {}, signal.constant, signal.low, signal.high)
            shift = SLACK - signal.low
            number = self.unit(signal, 1.0, shift)
            signal = Signal(signal.layer + 1, {number: 1.0}, -shift, signal.low, signal.high)
        return signal

    def total(self, parts: list[Signal], constant: float = 0.0) -> Signal:
        """The sum of signals, at the layer of the latest."""
        layer = max((part.layer for part in parts if part.terms), default=0)
        terms: dict[int, float] = {}
        low = high = constant
        for part in (self.carried(part, layer) for part in parts):
            for unit, weight in part.terms.items():
                terms[unit] = terms.get(unit, 0.0) + weight
            constant += part.constant
            low, high = low + part.low, high + part.high
        return Signal(layer, terms, constant, low, high)

    def positive(self, signal: Signal) -> Signal:
        """The part above 0, one unit."""
        unit = self.unit(signal, 1.0, 0.0)
        return Signal(signal.layer + 1, {unit: 1.0}, 0.0, max(signal.low, 0.0), max(signal.high, 0.0))

    def build(self, outputs: dict[int, Signal], width: int | None = None) -> Mlp:
        """The MLP whose channel c of ``width`` (or ``dim``) outputs ``outputs[c]``, every other one 0."""
        depth = len(self.layers)
        final = {channel: self.carried(signal, depth) for channel, signal in outputs.items()}
        widths = [self.dim, *(len(layer) for layer in self.layers), self.dim if width is None else width]
        require_entries(sum(n * m for n, m in pairwise(widths)))
        weights = [np.zeros((n, m)) for n, m in pairwise(widths)]
        biases = [np.zeros(m) for m in widths[1:]]
        for index, layer in enumerate(self.layers):
            for number, unit in enumerate(layer):
                biases[index][number] = unit.bias
                for source, weight in unit.terms.items():
                    weights[index][source, number] = weight
        for channel, signal in final.items():
            biases[-1][channel] = signal.constant
            for source, weight in signal.terms.items():
                weights[-1][source, channel] = weight
        kinds = [np.full(len(layer), RELU, dtype=np.int64) for layer in self.layers]
        if self.balanced:
            _balance(weights, biases, kinds)
        return Mlp(tuple(weights), tuple(biases), tuple(kinds))


def require_entries(entries: int, purpose: str = "") -> None:
    """Refuses matrices that are too large, and says what they are for."""
    if entries > MAX_ENTRIES:
        raise LimitExceeded(
            f"the matrices of one MLP may have at most {MAX_ENTRIES:,} entries and{purpose} would have "
            f"{entries:,}; choose another method or a smaller automaton or length"
        )


def require_positions(positions: int, dim: int) -> None:
    """Refuses a table of position encodings that is too large."""
    if positions * dim > MAX_ENTRIES:
        raise LimitExceeded(
            f"position encodings may have at most {MAX_ENTRIES:,} entries; {positions:,} positions of {dim} "
            f"channels are needed; choose a --length of at most {MAX_ENTRIES // dim:,}"
        )


def _balance(weights: list[np.ndarray], biases: list[np.ndarray], kinds: list[np.ndarray]) -> None:
    """Shifts size between a ReLU unit's input and output by a power of two: exact, and smaller norms."""
    for index, kind in enumerate(kinds):
        inner, outer = weights[index], weights[index + 1]
        inward = np.maximum(_sizes(inner, 0), np.abs(biases[index]))
        outward = _sizes(outer, 1)
        halves = (np.frexp(outward)[1] - np.frexp(inward)[1]) // 2
        factors = np.ldexp(1.0, np.where((kind == RELU) & (inward > 0) & (outward > 0), halves, 0))
        inner *= factors
        biases[index] *= factors
        outer /= factors[:, None]


def _sizes(weights: Points, axis: int) -> Points:
    """The largest size along an axis, without a copy of the matrix."""
    largest: Points = np.maximum(weights.max(axis, initial=0.0), -weights.min(axis, initial=0.0))
    return largest


# The context of lowering a position-wise map: how it reads and writes registers.


@dataclass
class MapContext:
    """One MLP under construction: its units so far and where each register's value is."""

    program: Program
    positions: int
    narrow: bool
    rounded: bool
    builder: MlpBuilder
    signals: dict[Channel, Signal] = field(default_factory=dict)
    stored: dict[Channel, Signal] = field(default_factory=dict)  # where stored and read values differ

    def read(self, name: str) -> Signal:
        """The signal that carries a register."""
        return self.signals[Channel(register=name)]

    def write(self, name: str, signal: Signal) -> None:
        """Records where a register's value is."""
        self.signals[Channel(register=name)] = signal

    def bounds(self, name: str) -> tuple[int, int]:
        """The register's range at this length."""
        return self.program.register[name].bounds(self.positions - 1)

    def sum_of(self, terms: tuple[tuple[str, int], ...], offset: int) -> Signal:
        """``Σ cᵢ·termᵢ + offset`` as a signal."""
        return self.builder.total([self.read(name).scaled(factor) for name, factor in terms], offset)

    def write_columns(
        self, names: tuple[str, ...], values: npt.NDArray[np.int64]
    ) -> tuple[list[Channel], npt.NDArray[np.float64]]:
        """Channels and real values for integer outputs: registers on a circle take two columns."""
        channels: list[Channel] = []
        columns: list[npt.NDArray[np.float64]] = []
        for name, column in zip(names, values.T, strict=True):
            register = self.program.register[name]
            if register.kind != "circle":
                channels.append(Channel(register=name))
                columns.append(column.astype(np.float64))
                continue
            turn = 2 * pi / (register.high + 1)
            for part, function in (("cos", cos), ("sin", sin)):
                channels.append(Channel(register=name, part=part))
                columns.append(np.array([function(turn * value) for value in column.tolist()]))
        return channels, np.stack(columns, axis=1)


# A function on finitely many points of a line as flat treads and steep steps (Lemma "1-D interpolation").
#
# Between neighbouring points the value changes by one step of two ReLU units; unlike hats, steps leave the
# function exactly flat around every point: an input may be off by a quarter of the distance to the
# neighbour on either side and the output does not move.
#
# A step is relu(x) − relu(x − 1), in one hidden layer, or relu(1 − relu(1 − x)), in two. The second is
# exactly 0 or 1 off its ramp in every float format, because nothing large is subtracted from anything large:
# short formats need it, and a builder with ``saturate`` uses it throughout.


def staircase(builder: MlpBuilder, code: Signal, points: Points, values: Points) -> list[Signal]:
    """One signal per column of ``values[point, output]``; ``points`` are increasing; steps are shared.

    Steps of one hidden layer begin in the middle of the points and go both ways: at no point do more than
    half of them add up, and their sum rounds least.
    """
    rows = np.flatnonzero((np.diff(values, axis=0) != 0).any(axis=1))
    first = 0 if builder.saturate else int(np.searchsorted(points, (points[0] + points[-1]) / 2))
    terms: list[dict[int, float]] = [{} for _ in range(values.shape[1])]
    for index in rows:
        left, right = float(points[index]), float(points[index + 1])
        back = bool(index < first)
        step = _step(builder, code, left, right, back=back)
        for column, change in enumerate(values[index + 1] - values[index]):
            if change:
                for unit, sign in step.items():
                    size = -float(change) if back else float(change)
                    terms[column][unit] = terms[column].get(unit, 0.0) + sign * size
    layer = code.layer + (2 if builder.saturate else 1)
    return [
        Signal(layer, result, float(column[first]), float(column.min()), float(column.max()))
        for result, column in zip(terms, values.T, strict=True)
    ]


def _step(
    builder: MlpBuilder, code: Signal, left: float, right: float, *, back: bool = False
) -> dict[int, float]:
    """0 up to a quarter of the way from left to right, 1 from three quarters on: units with their signs.

    ``back``: 1 on the left and 0 on the right, with units that are silent there.
    """
    width = ramp_width(right - left)
    start = (left + right - width) / 2
    if back:
        fall = builder.unit(code, -1 / width, start / width + 1)
        low = builder.unit(code, -1 / width, start / width)
        return {fall: 1.0, low: -1.0}
    if not builder.saturate:
        rise = builder.unit(code, 1 / width, -start / width)
        fall = builder.unit(code, 1 / width, -start / width - 1)
        return {rise: 1.0, fall: -1.0}
    short = builder.unit(code, -1 / width, start / width + 1)
    missing = Signal(code.layer + 1, {short: 1.0}, 0.0, 0.0, 1.0)
    return {builder.unit(missing, -1.0, 1.0): 1.0}


def ramp_width(distance: float) -> float:
    """The largest power of two that leaves a quarter of the distance flat on each side."""
    return float(2.0 ** (frexp(distance / 2)[1] - 1))


# The linear code y = Σ cᵢ·vᵢ by which a table of several inputs becomes a staircase of one.
#
# A code must separate rows with different outputs; rows that cannot occur are don't-cares. Among mixed
# radix codes in every order and codes with small coefficients, the one with the fewest steps is taken.


Integers = npt.NDArray[np.int64]

MAX_CODE_ENTRIES = 400_000
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
    candidates = _candidates(given)[: max(1, MAX_CODE_ENTRIES // len(given))]
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
        # Of a code and its negative, the one whose first coefficient is positive: the greater of two tuples.
        result += [c for c in product(range(-reach, reach + 1), repeat=count) if c > (0,) * count]
    return np.array(list(dict.fromkeys(result)), dtype=np.int64)


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
    _write_stairs(outputs, context.sum_of(terms, 0), code.points, code.values, context)


def _write_stairs(
    names: tuple[str, ...], code: Signal, points: Integers, values: Integers, context: MapContext
) -> None:
    channels, columns = context.write_columns(names, values)
    signals = staircase(context.builder, code, points.astype(np.float64), columns)
    context.signals.update(zip(channels, signals, strict=True))


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
