"""Maps of one layer without maps in between: a counter and the table that reads it in two hidden layers.

Lowered one after the other, a count is first reduced (two hidden layers, if steps are to be exactly 0 or 1 in
short floats) and then looked up in a table (two more). But a table of a class (letter, earlier registers) and
a residue of a sum y is, for every class, a function of y alone. So it is a sum of steps, one for each place k
at which the function of a class c changes:

    relu(1 − relu(1 − r_k(y)) − |code − c|),   r_k the ramp of the step at k,

which is exactly 1 where y is beyond k and the class is c, and exactly 0 otherwise, because the inner unit and
the distance of the class are each 0 or at least 1. Two hidden layers, whatever is composed; errors up to a
quarter of y and of the code do not move it.

Several sums may meet in a table if for each class one whole-number combination of them decides, modulo the
modulus that they share: in Q8 every letter sees a parity of its own. Other maps are lowered one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from krohn.construct.lowering.map_gadgets import residue
from krohn.network.mlp_builder import MapContext, Signal, ramp_width, staircase
from krohn.network.position_maps import Clamp, Modulo, PositionMap, Table
from krohn.network.transformer import Channel

Integers = npt.NDArray[np.int64]
Columns = npt.NDArray[np.float64]
Terms = tuple[tuple[str, int], ...]
Lower = Callable[[PositionMap, MapContext], None]


@dataclass(frozen=True, eq=False)
class Function:
    """``values[y − low]`` of the sum y = Σ cᵢ·termᵢ of stored registers; ``modulus``: it is y mod this."""

    terms: Terms
    low: int
    values: Integers
    modulus: int | None = None


def lower_fused(maps: Sequence[PositionMap], context: MapContext, lower: Lower) -> None:
    """Lowers the maps of a layer; functions of one sum are written at the end, or where a map needs them."""
    functions: dict[str, Function] = {}
    for change in maps:
        function = _function(change, functions, context)
        if function is not None:
            functions[change.writes[0]] = function
            continue
        if isinstance(change, Table) and any(name in functions for name in change.inputs):
            steps = _steps(change, functions, context)
            if steps is not None:
                _write_table(change, steps, context)
                continue
        for name in change.reads:
            if name in functions and Channel(register=name) not in context.signals:
                _write(name, functions[name], context)
        lower(change, context)
    for name, function in functions.items():
        _write(name, function, context)


def _function(change: PositionMap, functions: dict[str, Function], context: MapContext) -> Function | None:
    """A residue or a clamped sum as a function of one sum of stored registers, if it is one."""
    if not isinstance(change, (Modulo, Clamp)):
        return None
    inner = functions.get(change.terms[0][0]) if len(change.terms) == 1 else None
    if inner is not None:
        sums, terms, low = change.terms[0][1] * inner.values, inner.terms, inner.low
    else:
        if any(name in functions or context.read(name).layer for name, _ in change.terms):
            return None
        total, terms = context.sum_of(change.terms, 0), change.terms
        low = round(total.low)
        sums = np.arange(low, round(total.high) + 1)
    sums = sums + change.offset
    if isinstance(change, Clamp):
        return Function(terms, low, np.clip(sums, change.low, change.high))
    values = sums % change.modulus
    if change.values is not None:
        return Function(terms, low, np.array(change.values)[values])
    plain = inner is None and change.offset == 0
    return Function(terms, low, values, change.modulus if plain else None)


def _write(name: str, function: Function, context: MapContext) -> None:
    """A function of one sum as a staircase; a residue as the sum less its wraps, which takes fewer steps."""
    total = context.sum_of(function.terms, 0)
    if function.modulus is not None and context.program.register[name].kind != "circle":
        context.write(name, residue(context.builder, total, function.modulus, narrow=False))
        return
    points = function.low + np.arange(len(function.values), dtype=np.float64)
    channels, columns = context.write_columns((name,), function.values[:, None])
    for channel, signal in zip(channels, staircase(context.builder, total, points, columns), strict=True):
        context.signals[channel] = signal


# Tables: for each class of the stored inputs a function of one sum.


@dataclass(frozen=True, eq=False)
class ClassSteps:
    """The outputs in one class: ``values[y − low]`` of a sum y; −1 row numbers are don't-cares, filled in."""

    given: tuple[int, ...]
    terms: Terms
    low: int
    rows: Integers


def _steps(change: Table, functions: dict[str, Function], context: MapContext) -> list[ClassSteps] | None:
    """The table class by class, rows by their number; ``None`` where it is not of this form."""
    inner = [name for name in change.inputs if name in functions]
    outer = [place for place, name in enumerate(change.inputs) if name not in functions]
    if any(context.read(change.inputs[place]).layer for place in outer):
        return None
    classes: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}
    for number, (given, _) in enumerate(change.rows):
        key = tuple(given[place] for place in outer)
        seen = tuple(given[place] for place in range(len(given)) if place not in outer)
        classes.setdefault(key, {})[seen] = number
    results = [result for _, result in change.rows]
    made = []
    for key, rows in sorted(classes.items()):
        found = next(_along_one_sum(rows, results, [functions[name] for name in inner], context), None)
        if found is None:
            return None
        made.append(ClassSteps(key, *found))
    return made


def _along_one_sum(
    rows: dict[tuple[int, ...], int],
    results: Sequence[tuple[int, ...]],
    inner: Sequence[Function],
    context: MapContext,
) -> Iterator[tuple[Terms, int, Integers]]:
    """Sums that decide the row in one class, with the number of a row for each value; simple ones first."""
    if len({function.terms for function in inner}) == 1:
        seen = zip(*(function.values.tolist() for function in inner), strict=True)
        numbers = np.array([rows.get(values, -1) for values in seen])
        yield inner[0].terms, inner[0].low, _filled(numbers)
        return
    modulus = inner[0].modulus
    if modulus is None or any(function.modulus != modulus for function in inner):
        return
    for factors in sorted(product(range(modulus), repeat=len(inner)), key=lambda one: (sum(one), one)):
        row_of: dict[int, int] = {}
        for values, number in rows.items():
            place = sum(f * v for f, v in zip(factors, values, strict=True)) % modulus
            if results[row_of.setdefault(place, number)] != results[number]:
                break
        else:
            sums: dict[str, int] = {}
            for factor, function in zip(factors, inner, strict=True):
                for name, weight in function.terms:
                    sums[name] = sums.get(name, 0) + factor * weight
            terms = tuple((name, weight) for name, weight in sums.items() if weight)
            total = context.sum_of(terms, 0)
            places = np.arange(round(total.low), round(total.high) + 1) % modulus
            numbers = np.array([row_of.get(place, -1) for place in places.tolist()])
            yield terms, round(total.low), _filled(numbers)


def _filled(numbers: Integers) -> Integers:
    """Values that cannot occur take the row of the value before, or of the first that can."""
    known = np.flatnonzero(numbers >= 0)
    before = np.searchsorted(known, np.arange(len(numbers)), side="right") - 1
    return numbers[known[np.maximum(before, 0)]]


def _write_table(change: Table, classes: list[ClassSteps], context: MapContext) -> None:
    """A constant for each class, and a step in one class for each place where its outputs change."""
    builder = context.builder
    results = np.array([result for _, result in change.rows], dtype=np.int64)
    channels, columns = context.write_columns(change.outputs, results)
    inputs = [name for name in change.inputs if Channel(register=name) in context.signals]
    code, codes = _class_code(inputs, classes, context)
    order = np.argsort(codes)
    first = np.array([columns[classes[number].rows[0]] for number in order])
    base = staircase(builder, code, codes[order].astype(np.float64), first)
    layer = max([signal.layer for signal in base] + [2])
    terms: list[dict[int, float]] = [{} for _ in channels]
    for own, place in zip(classes, codes.tolist(), strict=True):
        values = columns[own.rows]
        total = context.sum_of(own.terms, 0)
        away = _away(code, float(place), context) if len(classes) > 1 else {}
        for index in np.flatnonzero((np.diff(values, axis=0) != 0).any(axis=1)).tolist():
            width = ramp_width(1.0)
            start = own.low + index + (1 - width) / 2
            short = builder.unit(total, -1 / width, start / width + 1)
            signal = Signal(1, {short: -1.0, **away}, 1.0, 0.0, 1.0)
            step = builder.unit(signal, 1.0, 0.0)
            for column, difference in enumerate(values[index + 1] - values[index]):
                if difference:
                    terms[column][step] = terms[column].get(step, 0.0) + float(difference)
    for channel, constant, steps, column in zip(channels, base, terms, columns.T, strict=True):
        result = builder.carried(constant, layer)
        both = {**result.terms}
        for unit, weight in steps.items():
            both[unit] = both.get(unit, 0.0) + weight
        context.signals[channel] = Signal(
            layer, both, result.constant, float(column.min()), float(column.max())
        )


def _class_code(
    inputs: Sequence[str], classes: Sequence[ClassSteps], context: MapContext
) -> tuple[Signal, Integers]:
    """A sum of the stored inputs that differs by at least 1 between classes, and its value in each."""
    given = np.array([own.given for own in classes], dtype=np.int64).reshape(len(classes), len(inputs))
    radix, terms = 1, []
    for name, column in zip(inputs, given.T, strict=True):
        terms.append((name, radix))
        radix *= int(column.max() - column.min()) + 1
    codes = given @ np.array([factor for _, factor in terms], dtype=np.int64).reshape(len(terms))
    return context.sum_of(tuple(terms), 0), codes


def _away(code: Signal, place: float, context: MapContext) -> dict[int, float]:
    """Two units that are 0 within a quarter of a class and together at least 1 in every other."""
    builder = context.builder
    above = builder.unit(code, 2.0, -2 * place - 0.5)
    below = builder.unit(code, -2.0, 2 * place - 0.5)
    return {above: -1.0, below: -1.0}
