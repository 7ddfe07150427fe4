"""One MLP block folded into the stream: evaluated on every reachable class, errors by affine arithmetic."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from krohn.certify.arithmetic import OWN, SAFE, Arithmetic, Array, guarded
from krohn.certify.cones import Cone, cones_of, local, needed_units
from krohn.certify.findings import Record
from krohn.certify.folds import Fold, choices_of, joined, step
from krohn.certify.hidden import Affine, Factors, activate, apply, factor, with_shared
from krohn.certify.machine import Integers, Machine, distinct_rows, explore
from krohn.certify.stream import Stream
from krohn.certify.wide_units import Contribution, Group, Table, advance, contribute, group_units, tabulate
from krohn.network.transformer import Layer, Mlp

ROWS_AT_ONCE = 1 << 24
SHARING_UNITS = 1 << 12
"""In wider layers errors of units that read the same sum are not tied: there are too many pairs of them."""


def transform(stream: Stream, layer: Layer, arith: Arithmetic, record: Record, limit: int = 1) -> Stream:
    """The stream after the MLP and the residual; clamped sums may cost up to ``limit`` choices a letter."""
    mlp, keep = layer.mlp, layer.keep_mlp
    if stream.carries_code(mlp.weights[0]):
        raise record.refuse("MLP", "the MLP reads a position code")
    lost = _lost(stream, layer, arith, record)
    pads, pad_radius = _known(stream.pads, stream.pad_radius, layer, arith, np.zeros(len(keep)))
    if len(mlp.weights) == 1:
        made = _linear(stream, layer, arith)
    else:
        made = _by_cones(stream, layer, arith, record, limit)
    out = replace(made, pads=pads, pad_radius=pad_radius, places=stream.places * keep, lost=lost)
    worst = float(out.radius.max(initial=0.0))
    record.note("MLP", f"evaluated on {len(out.nominal)} reachable classes", worst, _separation(out.nominal))
    return out


def _lost(stream: Stream, layer: Layer, arith: Arithmetic, record: Record) -> Array:
    """Size of what no one reads after the MLP. Units that look at such a channel must not overflow either:
    only channels that are read no more get what they say, but 0 times infinity reaches all.
    """
    pads = np.abs(stream.pads).max(axis=0, initial=0.0) + stream.pad_radius
    size = np.maximum(stream.size(), pads) + stream.lost
    touched = stream.lost > 0
    for weight, bias in zip(layer.mlp.weights, layer.mlp.biases, strict=True):
        touched = (weight[touched] != 0).any(axis=0)
        if not touched.any():
            return stream.lost * layer.keep_mlp
        size = size @ np.abs(weight) + np.abs(bias)
        record.require(
            "range", float(size[touched].max()), arith.largest, "units that nothing depends on stay finite"
        )
    return stream.lost * layer.keep_mlp + np.where(touched, size, 0.0)


def _separation(nominal: Array) -> float:
    """Half the least distance of different values of a channel, over all channels; 1 if there are none."""
    gaps = [np.diff(np.unique(np.round(column, 6))) for column in nominal.T]
    least = [float(gap.min()) for gap in gaps if len(gap)]
    return min(least) / 2 if least else 1.0


def _known(vectors: Array, radius: Array, layer: Layer, arith: Arithmetic, far: Array) -> tuple[Array, Array]:
    """The block on finitely many known vectors: outputs and error per channel."""
    centre, error = vectors, np.zeros_like(vectors)
    rows = max(1, ROWS_AT_ONCE // max(1, len(radius) * max(len(b) for b in layer.mlp.biases)))
    outs, errors = [], []
    for first in range(0, len(vectors), rows):
        part = slice(first, first + rows)
        out = _propagate(_input(centre[part], radius, layer.mlp), layer.mlp, 0, arith)
        sum_, err = _residual(out, centre[part], radius, layer, arith, far)
        outs.append(sum_)
        errors.append(err)
    if not outs:
        return centre, radius * layer.keep_mlp
    return np.concatenate(outs), np.concatenate([*errors, error[:0]]).max(axis=0, initial=0.0)


def _noisy(radius: Array, mlp: Mlp) -> Integers:
    return np.flatnonzero((radius > 0) & (mlp.weights[0] != 0).any(axis=1))


def _input(vectors: Array, radius: Array, mlp: Mlp) -> Affine:
    noisy = _noisy(radius, mlp)
    tied = np.zeros((len(noisy), 1, len(radius)))
    tied[np.arange(len(noisy)), 0, noisy] = radius[noisy]
    return Affine(vectors, tied, np.zeros_like(vectors))


def _propagate(value: Affine, mlp: Mlp, first: int, arith: Arithmetic) -> Affine:
    """Matrices ``first``, first + 1, …, each but the first of the MLP after its activation."""
    for index in range(first, len(mlp.weights)):
        if index:
            value = activate(value, mlp.activations[index - 1], arith)
        share = index + 1 < len(mlp.weights) and mlp.weights[index].shape[1] <= SHARING_UNITS
        value = apply(value, mlp.weights[index], mlp.biases[index], arith, share=share)
    return value


def _residual(
    out: Affine, vectors: Array, radius: Array, layer: Layer, arith: Arithmetic, far: Array
) -> tuple[Array, Array]:
    """``keep ⊙ x + mlp(x)``: a kept channel has the error the MLP saw; ``far`` is the size of counters."""
    keep, noisy = layer.keep_mlp, _noisy(radius, layer.mlp)
    tied = out.tied.copy()
    tied[np.arange(len(noisy)), :, noisy] += (keep * radius)[noisy][:, None]
    others = keep * radius
    others[noisy] = 0.0
    error = np.abs(tied).sum(axis=0) + out.loose + others
    both = (
        (keep > 0)
        & ((np.abs(out.centre) > 0) | (out.radius() > 0)).any(axis=0)
        & ((np.abs(vectors).max(axis=0, initial=0.0) > 0) | (radius > 0) | (far > 0))
    )
    size = np.abs(vectors) + np.abs(out.centre) + error + far
    return vectors * keep + out.centre, error + np.where(both, (arith.unit + OWN) * SAFE * size, 0.0)


def _far(stream: Stream) -> Array:
    """What counters and position codes add to the size of each channel."""
    counters = np.abs(stream.wide) @ np.abs(stream.reach).max(axis=1, initial=0)
    out: Array = counters + np.abs(stream.places).max(axis=0, initial=0.0)
    return out


def _narrow(stream: Stream, layer: Layer, arith: Arithmetic) -> Stream:
    nominal, radius = _known(stream.nominal, stream.radius, layer, arith, _far(stream))
    return replace(stream, nominal=nominal, radius=radius)


def _linear(stream: Stream, layer: Layer, arith: Arithmetic) -> Stream:
    """An MLP of one matrix: counters pass through it, and round as they do."""
    made, weight = _narrow(stream, layer, arith), layer.mlp.weights[0]
    far = np.abs(stream.wide) @ np.abs(stream.reach).max(axis=1, initial=0)
    size = far @ np.abs(weight)
    unit = SAFE * (arith.inner + arith.unit + OWN)
    rounding = np.where(
        size > 0, unit * ((weight != 0).sum(axis=0) + 4) * (stream.size() @ np.abs(weight)), 0.0
    )
    wide = stream.wide * layer.keep_mlp[:, None] + weight.T @ stream.wide
    return replace(made, wide=wide, radius=guarded(arith, size, made.radius + rounding))


def _by_cones(stream: Stream, layer: Layer, arith: Arithmetic, record: Record, limit: int) -> Stream:
    """Each cone on the classes and sums it sees, their outputs added up; channels none writes are kept."""
    cones = cones_of(layer)
    _require_idle_units(stream, layer, cones, arith, record)
    parts = [_prepare(stream, cone, arith, record) for cone in cones]
    sums = _sums(parts, stream, limit)
    record.guesses |= any(one.choices > 1 for one in sums.values())
    machine, extended = _extend(stream, sums)
    rest = layer.keep_mlp.copy()
    for cone in cones:
        rest[cone.outputs] = 0.0
    nominal, radius, wide = (
        stream.nominal[extended[:, 0]] * rest,
        stream.radius * rest,
        stream.wide * rest[:, None],
    )
    directions = list(sums)
    for part in parts:
        columns = [1 + directions.index(group.key) for group in part.groups]
        own = np.concatenate([part.row_of[extended[:, :1]], extended[:, columns]], axis=1)
        rows, which = distinct_rows(own)
        held, error, carried = _assemble(part, rows, arith)
        nominal, radius, wide = nominal + held[which], radius + error, wide + carried
    return replace(stream, machine=machine, nominal=nominal, radius=radius, wide=wide)


def _require_idle_units(
    stream: Stream, layer: Layer, cones: list[Cone], arith: Arithmetic, record: Record
) -> None:
    """Units that nothing depends on may hold anything but infinity, which times 0 is not 0."""
    mlp = layer.mlp
    written = np.any([np.zeros(len(mlp.biases[-1]), dtype=bool), *(cone.outputs for cone in cones)], axis=0)
    size = stream.size()
    for weight, bias, used in zip(mlp.weights, mlp.biases, needed_units(mlp, written)[1:-1], strict=False):
        size = size @ np.abs(weight) + np.abs(bias)
        if not used.all():
            largest = float(size[~used].max())
            record.require("range", largest, arith.largest, "units that nothing depends on stay finite")


@dataclass(frozen=True, eq=False)
class Stage:
    """One matrix: the outputs that do not belong to a single group, and what groups add to their sums."""

    inputs: Integers
    outputs: Integers
    factors: Factors
    parts: tuple[Contribution, ...]


@dataclass(frozen=True, eq=False)
class Part:
    """One cone with the rows it sees: inputs of its first units, what its groups of units add at each matrix.

    ``row_of[class]`` is the row of every class of the whole stream. Without counters there are no stages.
    """

    cone: Cone
    stream: Stream
    row_of: Integers
    groups: tuple[Group, ...] = ()
    before: Affine | None = None
    stages: tuple[Stage, ...] = ()


def _prepare(whole: Stream, cone: Cone, arith: Arithmetic, record: Record) -> Part:
    stream, row_of = local(whole, cone)
    mlp = cone.layer.mlp
    first, bias = mlp.weights[0], mlp.biases[0]
    far = np.abs(stream.reach).max(axis=1, initial=0)
    coefficients = first.T @ stream.wide  # unit × counter
    cancelled = np.abs(coefficients) <= 1e-12 * (np.abs(first).T @ np.abs(stream.wide))
    residue = np.abs(coefficients * cancelled) @ far
    groups = group_units(np.where(cancelled, 0.0, coefficients), record)
    for group in groups:
        # Small integers only nearly give the direction of a sum; the rest is error.
        off = np.abs(coefficients[group.units] - np.outer(group.slopes, group.factors)) @ far
        residue[group.units] += np.where(off > 0, off, 0.0)
    if not groups and not (np.abs(first).T @ np.abs(stream.wide)).any():
        return Part(cone, stream, row_of)
    # Counters count as size of the terms that are added, for rounding, though not as error.
    size = stream.size()
    terms = (first != 0).sum(axis=0) + (bias != 0)
    sizes = size @ np.abs(first) + np.abs(bias)
    plain = _plain(first) & (terms <= 2)
    value = _input(stream.nominal, stream.radius, mlp)
    centre, tied = value.centre @ first + bias, value.tied @ first
    rounding = SAFE * (arith.inner + OWN) * (terms + 1) * sizes + residue + 4 * arith.tiny
    if arith.half:
        rounding = rounding + 2 * SAFE * arith.unit * sizes
    rounding = guarded(arith, sizes, rounding)
    before = Affine(centre, tied, np.broadcast_to(rounding, centre.shape))
    bare = Affine(centre, tied, np.broadcast_to(residue, centre.shape))
    counted = np.where(plain, 0.0, terms.astype(np.float64))
    tables = [
        tabulate(g, stream, bare, sizes, counted, bias, mlp.activations[0], arith, record) for g in groups
    ]
    stages = _stages(mlp, tables, len(before.tied), arith, record)
    return Part(cone, stream, row_of, tuple(groups), before, tuple(stages))


def _stages(mlp: Mlp, tables: list[Table], symbols: int, arith: Arithmetic, record: Record) -> list[Stage]:
    """Follows the groups through the layers for as long as units read one group and nothing else."""
    taken = np.concatenate([table.units for table in tables]) if tables else np.zeros(0, dtype=np.int64)
    inputs = np.setdiff1d(np.arange(len(mlp.biases[0])), taken)
    stages = []
    for index in range(1, len(mlp.weights)):
        weight, last = mlp.weights[index], index + 1 == len(mlp.weights)
        readers = [(weight[table.units] != 0).any(axis=0) for table in tables]
        plain = (weight[inputs] != 0).any(axis=0)
        crowd = np.sum(readers, axis=0) + plain if tables else plain.astype(np.int64)
        own = [np.flatnonzero(reads & (crowd == 1)) if not last else inputs[:0] for reads in readers]
        outputs = np.setdiff1d(np.arange(weight.shape[1]), np.concatenate([inputs[:0], *own]))
        part = weight[:, outputs]
        factors = Factors(part, np.eye(len(outputs))) if last else factor(part)
        parts = tuple(contribute(table, symbols, factors.ways, last, record) for table in tables)
        stages.append(Stage(inputs, outputs, factors, parts))
        if not last:
            tables = [
                advance(table, units, weight, mlp.biases[index], mlp.activations[index], arith)
                for table, units in zip(tables, own, strict=True)
            ]
        inputs = outputs
    return stages


@dataclass(frozen=True)
class Sum:
    """A combination of counters that units read: what a machine keeps of it, and its whole range."""

    fold: Fold
    whole: Fold
    choices: int


def _sums(parts: list[Part], stream: Stream, limit: int) -> dict[tuple[int, ...], Sum]:
    """Every combination that some cone reads, folded as far as all its readers allow."""
    readers: dict[tuple[int, ...], list[Contribution]] = {}
    for part in parts:
        for number, group in enumerate(part.groups):
            readers.setdefault(group.key, []).extend(stage.parts[number] for stage in part.stages)
    made, left = {}, limit
    for key, given in readers.items():
        steps = stream.machine.steps @ given[0].group.factors
        fold = joined([one.fold for one in given], given[0].whole, steps, left)
        choices = choices_of(fold, given[0].whole, steps)
        made[key], left = Sum(fold, given[0].whole, choices), left // choices
    return made


def _extend(stream: Stream, sums: dict[tuple[int, ...], Sum]) -> tuple[Machine, Integers]:
    """The machine that also keeps the folded sums; rows ``[class, sums…]`` of its classes."""
    old, count = stream.machine, len(sums)
    factors = np.array(list(sums), dtype=np.int64).reshape(count, len(stream.reach))
    many = int(np.prod([one.choices for one in sums.values()], initial=1))
    digits = np.stack(np.unravel_index(np.arange(many), [one.choices for one in sums.values()] or [1]))
    begun = [int(one.fold.keep(np.zeros(1, dtype=np.int64))[0]) for one in sums.values()]

    def expand(rows: Integers) -> tuple[Integers, Integers]:
        state = rows[:, 0]
        steps = old.steps[state].repeat(many, axis=1)
        moved, choice = steps @ factors.T, np.tile(digits, old.follow.shape[1])
        kept = [
            step(one.fold, one.whole, rows[:, None, 1 + n], moved[..., n], choice[n])
            for n, one in enumerate(sums.values())
        ]
        held = np.stack(kept, axis=2) if kept else np.zeros((*moved.shape[:2], 0), dtype=np.int64)
        after = np.concatenate([old.follow[state].repeat(many, axis=1)[..., None], held], axis=2)
        shown = old.shown[state].repeat(many, axis=1)[..., None]
        return after, np.concatenate([shown, held, steps], axis=2)

    follow, outputs = explore(np.array([0, *begun], dtype=np.int64), expand, stream.length)
    extended, classes = distinct_rows(outputs[..., : 1 + count].reshape(-1, 1 + count))
    shown, steps = classes.reshape(follow.shape), outputs[..., 1 + count :]
    return Machine(follow, shown, steps, old.choices * many), extended


def _assemble(part: Part, rows: Integers, arith: Arithmetic) -> tuple[Array, Array, Array]:
    """Rows ``[row, sums…]`` through all matrices, a few at a time: vectors, errors, worth of counters."""
    stream, layer = part.stream, part.cone.layer
    mlp, wide = layer.mlp, stream.wide * layer.keep_mlp[:, None]
    if part.before is None:
        done = _narrow(stream, layer, arith)
        return done.nominal[rows[:, 0]], done.radius, wide
    slope = np.zeros((len(stream.radius), len(stream.reach)))
    for item in part.stages[-1].parts:
        slope = slope + np.outer(item.slope, item.group.factors)
    wide = wide + slope
    few = max(1, ROWS_AT_ONCE // max(1, len(stream.radius) * max(len(b) for b in mlp.biases)))
    nominal, radius = [], np.zeros(len(stream.radius))
    before, size = part.before, _far(stream)
    for first in range(0, len(rows), few):
        chunk = rows[first : first + few]
        own, inputs = chunk[:, 0], part.stages[0].inputs
        value = Affine(before.centre[own][:, inputs], before.tied[..., inputs], before.loose[own][:, inputs])
        for index, stage in enumerate(part.stages, start=1):
            hidden = activate(value, mlp.activations[index - 1][stage.inputs], arith)
            value = _join(hidden, mlp.weights[index], mlp.biases[index], stage, chunk, arith)
        sums, error = _residual(value, stream.nominal[own], stream.radius, layer, arith, size)
        nominal.append(sums)
        radius = np.maximum(radius, error.max(axis=0, initial=0.0))
    far = np.abs(wide) @ np.abs(stream.reach).max(axis=1, initial=0)
    radius = radius + np.where((slope != 0).any(axis=1), 8 * arith.unit * far, 0.0)
    return np.concatenate(nominal), radius, wide


def _join(
    hidden: Affine, weight: Array, bias: Array, stage: Stage, chunk: Integers, arith: Arithmetic
) -> Affine:
    """Inputs of the next layer: units without counters, the groups' contributions, rounding of the sum."""
    ways, scales = stage.factors.ways[stage.inputs], stage.factors.scales
    offset, radius, size = bias[stage.outputs], hidden.radius(), np.abs(hidden.centre)
    sums, tied = hidden.centre @ ways, hidden.tied @ ways
    tied = np.broadcast_to(tied, (tied.shape[0], *sums.shape)).copy()
    loose = hidden.loose @ np.abs(ways)
    high = size @ np.maximum(ways, 0) + radius @ np.abs(ways)
    low = size @ np.maximum(-ways, 0) + radius @ np.abs(ways)
    busy = ((hidden.centre != 0) | (radius != 0)).astype(np.float64)
    terms = busy @ (ways != 0).astype(np.float64)
    for number, part in enumerate(stage.parts):
        at = (part.kind_of[chunk[:, 0]], part.fold.index(chunk[:, 1 + number]))
        sums, loose = sums + part.centre[at], loose + part.loose[at]
        tied[: len(part.tied)] += part.tied[:, at[0], at[1]]
        high, low, terms = high + part.high[at], low + part.low[at], terms + part.terms[at]
    up, down = np.maximum(scales, 0), np.maximum(-scales, 0)
    high, low = (
        high @ up + low @ down + np.maximum(offset, 0),
        high @ down + low @ up + np.maximum(-offset, 0),
    )
    terms = terms @ (scales != 0).astype(np.float64) + (offset != 0)
    rough = ~_plain(weight[:, stage.outputs])
    rounding = arith.inner * (np.maximum(terms - 1, 0) * np.maximum(high, low) + rough * (high + low))
    # One rounding more for the way, one for its scale.
    rounding = SAFE * (rounding + OWN * (terms + 3) * (high + low)) + terms * arith.tiny
    centre = sums @ scales + offset
    tied = tied @ scales
    if arith.half:
        # The product is rounded, then its sum with the bias.
        off = np.abs(tied).sum(axis=0) + loose @ np.abs(scales) + rounding
        twice = np.abs(centre) + np.abs(centre - offset) * (offset != 0) + 2 * off
        rounding = rounding + SAFE * arith.unit * twice + 2 * arith.tiny
    rounding = guarded(arith, np.maximum(high, low), rounding)
    return Affine(centre, with_shared(tied, loose, scales), rounding)


def _plain(weight: Array) -> npt.NDArray[np.bool_]:
    """Columns of powers of two, with which products are exact."""
    mantissa = np.abs(np.frexp(weight)[0])
    out: npt.NDArray[np.bool_] = ((mantissa == 0.5) | (weight == 0)).all(axis=0)
    return out
