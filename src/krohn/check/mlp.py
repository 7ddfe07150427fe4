"""The MLP block on a claim: run on every class with every value of counters that its state allows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from krohn.check.affine import Affine, entering, mirrors
from krohn.check.folds import Rows, Situations, follow_folds, rows_of
from krohn.check.format import Box, whole
from krohn.check.machine import Claim, Setting, counted_anew, lifted
from krohn.check.norm import Norm, normed
from krohn.check.reader import Layer
from krohn.check.real import Array, Flags, Integers, Real, affine_error, hull, joined, lowest_bit, point
from krohn.check.verdict import inside, require
from krohn.check.witness import Tabulate

MOST_HELD = 1 << 22
BLOCK = 1 << 22


def tabulate(setting: Setting, claim: Claim, layer: Layer | None, step: Tabulate) -> Claim:
    """The claim after ``x ← keep x + mlp(x)``; without a layer, counters are only written out."""
    new = lifted(claim, step.lift)
    situations = follow_folds(setting, claim, step, new)
    machine = replace(
        claim.machine, follow=step.lift.follow, shown=step.lift.shown, steps=new.steps, letter=new.letter
    )
    made = replace(claim, machine=machine, wide=step.wide)
    if layer is None:
        require(not step.cut, "witness: cut")
        rows = rows_of(setting, claim, step, situations, np.arange(len(claim.low)))
        made = replace(made, box=_joined_rows(rows, rows.box, step, situations))
    else:
        # A channel with a code that the MLP adds exactly 0 to keeps it; any other has it in its box.
        quiet, norm = untouched(layer), normed(setting.fmt, claim.anywhere, layer.gain_mlp, setting.epsilon)
        box = _cut_block(setting, claim, layer, step, situations, norm) if step.cut else None
        if box is None:
            rows = rows_of(setting, claim, step, situations, np.arange(len(claim.low)))
            out = run_block(setting, layer, rows.box + claim.codes, norm)
            box = _joined_rows(
                rows, rows.box.where(np.broadcast_to(quiet, out.lo.shape), out), step, situations
            )
        pads = run_block(setting, layer, claim.pads, norm)
        made = replace(made, box=box, places=claim.places * quiet, pads=pads)
    return counted_anew(made, setting.budget)


def untouched(layer: Layer) -> Flags:
    """Channels that are kept and to which the MLP adds exactly 0."""
    out: Flags = (layer.keep_mlp > 0) & ~(layer.weights[-1] != 0).any(axis=0) & (layer.biases[-1] == 0)
    return out


def _joined_rows(rows: Rows, box: Real, step: Tabulate, situations: Situations) -> Real:
    """Less what counters stay worth; each distinct set of rows belongs to all situations that have it."""
    left = box - point(rows.sums) @ step.wide.T
    pairs = np.unique(np.c_[rows.where, situations.table[:, -1]], axis=0)
    return hull(hull(left[rows.back], rows.names)[pairs[:, 0]], pairs[:, 1])


@dataclass(frozen=True)
class Strand:
    """Outputs that depend on the same inputs, with the units between; or units that no output depends on."""

    inputs: Integers
    units: tuple[Integers, ...]  # per matrix: the columns of it that count
    ends: int  # how many matrices it passes


def strands(layer: Layer) -> list[Strand]:
    """Every output and every unit that nothing reads lies in one: none is left out of the range checks.

    Outputs that only keep what they hold are in none: adding 0 to a finite number is exact.
    """
    there = [(weight != 0).astype(np.float64) for weight in layer.weights]
    reach, found = np.eye(len(layer.keep_mlp)), []
    for depth, matrix in enumerate(there, 1):
        reach = (reach @ matrix > 0).astype(np.float64)
        last = depth == len(there)
        unread = ~untouched(layer) if last else ~(there[depth] != 0).any(axis=1)
        sinks = np.flatnonzero(unread)
        own = np.diag(layer.keep_mlp) if last else np.zeros((len(reach), matrix.shape[1]))
        reads = ((reach + own) > 0).T[sinks]
        kinds, which = np.unique(reads, axis=0, return_inverse=True)
        for number, kind in enumerate(kinds):
            ends = sinks[which.reshape(-1) == number]
            found.append(Strand(np.flatnonzero(kind), _units(there[:depth], ends), depth))
    return found


def _units(there: list[Array], ends: Integers) -> tuple[Integers, ...]:
    """The units of each hidden layer that these ends depend on."""
    chosen = [ends]
    for matrix in reversed(there[1:]):
        chosen.append(np.flatnonzero((matrix[:, chosen[-1]] != 0).any(axis=1)))
    return tuple(reversed(chosen))


def run_block(setting: Setting, layer: Layer, box: Real, norm: Norm) -> Real:
    """keep x + mlp(x) for rows of boxes, strand by strand: rows that agree on its inputs are run once."""
    quiet = untouched(layer)
    lo, hi = box.lo * quiet, box.hi * quiet
    for strand in strands(layer):
        part = box[:, strand.inputs]
        distinct, back = np.unique(np.c_[part.lo, part.hi], axis=0, return_inverse=True)
        half = len(strand.inputs)
        rows = Real(distinct[:, :half], distinct[:, half:])
        widths = [len(units) for units in strand.units]
        made = in_parts(setting, widths, partial(_run_strand, setting, layer, strand, norm), rows)
        if strand.ends == len(layer.weights):
            lo[:, strand.units[-1]], hi[:, strand.units[-1]] = (
                made.lo[back.reshape(-1)],
                made.hi[back.reshape(-1)],
            )
    return Real(lo, hi)


def _run_strand(setting: Setting, layer: Layer, strand: Strand, norm: Norm, box: Real) -> Real:
    first = norm[strand.inputs]
    columns, form = strand.inputs, entering(box, first)
    for index in range(strand.ends):
        chosen = strand.units[index]
        weight, bias = layer.weights[index][np.ix_(columns, chosen)], layer.biases[index][chosen]
        with inside(f"MLP matrix {index + 1}"):
            form = form.linear(setting.fmt, weight, bias, None if index else first)
        if index + 1 < len(layer.weights):
            after = layer.weights[index + 1][np.ix_(chosen, strand.units[index + 1])] if index + 1 < strand.ends else None
            pairs = None if after is None else mirrors(weight, after)
            form = form.activated(setting.fmt, layer.sine[index][chosen], pairs).trimmed(len(strand.inputs))
        columns = chosen
    if strand.ends < len(layer.weights):
        return form.box
    return _with_residual(setting, layer, strand, box, form)


def _with_residual(setting: Setting, layer: Layer, strand: Strand, box: Real, form: Affine) -> Real:
    """Adds what is kept: the error of a channel that is kept is the one the MLP saw, symbol by symbol."""
    fmt, outputs = setting.fmt, strand.units[-1]
    keep = layer.keep_mlp[outputs]
    place = np.searchsorted(strand.inputs, outputs)
    place = np.where((keep > 0), place, 0) if len(strand.inputs) else np.zeros(len(outputs), dtype=np.int64)
    if not keep.any():
        return form.box
    kept = Real(box.lo[:, place] * keep, box.hi[:, place] * keep)
    out = fmt.add(whole(kept), whole(form.box)).part
    size = kept.size + form.box.size
    both = (kept.size != 0) & (form.box.size != 0)
    off = np.where(both, fmt.inner.error(size, 1.0, 0.0) + fmt.rounding(size), 0.0)
    start = entering(box)
    tied, symbols = form.tied.copy(), np.arange(len(strand.inputs))
    tied[symbols] += start.tied[:, :, place][symbols] * keep
    centre = form.centre + start.centre[:, place] * keep
    own = affine_error(
        np.abs(centre) + np.abs(tied).sum(axis=0) + form.own, np.eye(len(outputs)), np.zeros(len(outputs))
    )
    return Affine(out, centre, tied, form.own + 2 * off + own).shared().box


def in_parts(setting: Setting, widths: list[int], run: Callable[[Real], Real], box: Real) -> Real:
    """Some rows at a time, through layers of these widths."""
    inputs = box.lo.shape[1]
    held = max([1, *((1 + inputs + sum(widths[:n])) * width for n, width in enumerate(widths))])
    require(held <= MOST_HELD, f"a layer of {max(widths)} units is too wide for this check")
    rows = max(1, BLOCK // held)
    parts = []
    for first in range(0, max(len(box), 1), rows):
        part = box[first : first + rows]
        setting.budget.spend(float(len(part)) * held, "MLP rows")
        parts.append(run(part))
    return joined(parts)


def _cut_block(
    setting: Setting, claim: Claim, layer: Layer, step: Tabulate, situations: Situations, norm: Norm
) -> Real:
    """Units of hidden layer ``cut`` by the counters they read; what each kind adds is joined."""
    cut = step.cut
    fits = cut < len(layer.weights) and (step.wide == claim.wide * layer.keep_mlp[:, None]).all()
    require(fits, "witness: cut")
    reads, before = claim.wide != 0, []
    for weight in layer.weights[:cut]:
        reads = (weight != 0).T.astype(np.int64) @ reads > 0
        before.append(reads)
    for row in np.unique(np.concatenate(before), axis=0):  # units that nothing reads must not overflow either
        require(
            (reads | ~row).all(axis=1).any(),
            "witness: a unit before the cut reads more counters than one there",
        )
    weight, bias = layer.weights[cut], layer.biases[cut]
    width, count = len(bias), len(situations.table)
    total, size = point(bias).spread(count, width), np.broadcast_to(np.abs(bias), (count, width))
    unit = np.broadcast_to(lowest_bit(bias), (count, width))
    for kind in np.unique(reads, axis=0):
        units = np.flatnonzero((reads == kind).all(axis=1))
        rows = rows_of(setting, claim, step, situations, np.flatnonzero(kind))

        def run(part: Real, units: Integers = units) -> Real:
            return _partial_sums(setting, layer, part, cut, units, norm)

        made = in_parts(
            setting,
            [*(len(b) for b in layer.biases[: cut - 1]), len(units), width],
            run,
            rows.box + claim.codes,
        )
        made = hull(made[rows.back], rows.names)[rows.where]
        total, size = total + made[:, :width], size + made.hi[:, width : 2 * width]
        unit = np.minimum(unit, made.lo[:, 2 * width :])
    terms = (weight != 0).sum(axis=0) + 1.0
    sums = total.widened(setting.fmt.any_sum(size, terms, unit))
    return _after_cut(setting, claim, layer, step, situations, sums)


def _after_cut(
    setting: Setting, claim: Claim, layer: Layer, step: Tabulate, situations: Situations, sums: Real
) -> Real:
    fmt, cut, quiet = setting.fmt, step.cut, untouched(layer)
    if cut + 1 < len(layer.weights):
        nothing = np.zeros_like(sums.lo)
        sums = Affine(sums, sums.lo, nothing[None][:0], nothing).activated(fmt, layer.sine[cut]).box

    def run(part: Real) -> Real:
        return run_units(setting, layer, part, cut + 1, len(layer.weights)).box

    last = in_parts(setting, [len(b) for b in layer.biases[cut:]], run, sums)
    own = situations.table[:, 0]
    kept = claim.box[own] + Real(claim.codes.lo * ~quiet, claim.codes.hi * ~quiet)
    beyond = claim.counted + claim.placed * quiet
    there = Box(kept, np.broadcast_to(beyond, kept.lo.shape)).kept(layer.keep_mlp)
    return hull(fmt.add(there, whole(last)).part, situations.table[:, -1])


def run_units(
    setting: Setting,
    layer: Layer,
    box: Real,
    first: int,
    last: int,
    chosen: Integers | None = None,
    norm: Norm | None = None,
) -> Affine:
    """Matrices first..last-1 of the MLP on what enters them; of the last one, the ``chosen`` units."""
    form = entering(box, norm)
    for index in range(first, last):
        units = np.arange(len(layer.biases[index])) if chosen is None or index + 1 < last else chosen
        with inside(f"MLP matrix {index + 1}"):
            weight, bias = layer.weights[index][:, units], layer.biases[index][units]
            form = form.linear(setting.fmt, weight, bias, None if index else norm)
        if index + 1 < len(layer.weights):
            pairs = mirrors(weight, layer.weights[index + 1][units])
            form = form.activated(setting.fmt, layer.sine[index][units], pairs).trimmed(box.lo.shape[1])
    return form


def _partial_sums(
    setting: Setting, layer: Layer, box: Real, cut: int, units: Integers, norm: Norm
) -> Real:
    """What some units of a hidden layer add to the next sums; beside it size and unit of the terms."""
    form, weight = run_units(setting, layer, box, 0, cut, units, norm), layer.weights[cut][units]
    size = form.box.size @ np.abs(weight)
    return joined(
        [form.sums(weight), Real(-size, size), point(form.grain(weight)).spread(*size.shape)], axis=1
    )
