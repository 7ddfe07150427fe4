"""An MLP: run on every class with every value of counters that its state allows, all rows at once.

It is split by dependence into strands, MLPs of fewer units for some of the outputs, which affine forms run.
The logits are run by the same forms.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from krohn.check.arithmetic.affine import Affine, entering, mirrors
from krohn.check.arithmetic.real import Array, Flags, Integers, Real, distinct, hull, join, point
from krohn.check.files.reader import Layer
from krohn.check.transformer.enclosures import finite_mlp
from krohn.check.transformer.forward import Pointwise, T, after_mlp, through
from krohn.check.transformer.layer_norm import Norm, normalise
from krohn.check.transformer.machine import (
    MachineRows,
    Moment,
    Setting,
    follow_folds,
    lift_machine,
    recount,
    rows_of,
)
from krohn.check.transformer.witness import Tabulate
from krohn.check.verdict import require

MOST_HELD = 1 << 22
BLOCK = 1 << 20
Mlp = tuple[Layer, Norm]
"""A layer, whose heads are left out here, and what its LayerNorm does."""


@dataclass(frozen=True)
class Strand:
    """An MLP with the units that ``outputs`` depend on, and no others: it reads the channels ``inputs``.

    Or the matrices ``first`` to ``last`` − 1 of one: inputs, outputs or both are then units of hidden layers.
    """

    layer: Layer
    norm: Norm
    inputs: Integers
    outputs: Integers
    place: Integers  # among the inputs, of each output that is kept
    first: int = 0
    last: int | None = None

    def passed(self, run: Pointwise[T], x: T) -> T:
        """The forward pass, from inputs to outputs."""
        if self.last is None:
            return after_mlp(run, self.layer, x)
        units = x if self.first else run.normalise(x, self.layer.gain_mlp)
        return through(run, self.layer, units, self.first, self.last)

    @property
    def entries(self) -> tuple[int, int]:
        """Entries of the largest affine form, and of all forms together, for one row and its inputs."""
        widths = [(1 + len(self.inputs)) * len(bias) for bias in self.layer.biases]
        return max(1, *widths), sum(widths)


def untouched(layer: Layer) -> Flags:
    """Channels that are kept and to which the MLP adds exactly 0."""
    out: Flags = (layer.keep_mlp > 0) & ~(layer.weights[-1] != 0).any(axis=0) & (layer.biases[-1] == 0)
    return out


def read_through(weights: Sequence[Array]) -> Array:
    """[input, unit]: the inputs that units read through some matrices."""
    reach = np.eye(len(weights[0]))
    for weight in weights:
        some = np.flatnonzero(reach.any(axis=0))  # units that depend on nothing add nothing
        reach = (reach[:, some] @ (weight[some] != 0).astype(np.float64) > 0).astype(np.float64)
    return reach


def strands(mlp: Mlp, quiet: Flags) -> list[Strand]:
    """All outputs except the ``quiet`` channels: adding 0 to a finite number is exact."""
    outputs, layer = np.flatnonzero(~quiet), mlp[0]
    kinds, which = distinct(((read_through(layer.weights) + np.diag(layer.keep_mlp)) > 0).T[outputs])
    return [strand_to(mlp, outputs[which == number]) for number in range(len(kinds))]


# Rule: a strand.
# Hypotheses: none. Conclusion: on the inputs of the MLP its outputs are those of the MLP, in every order.
# Why: a unit is left out only if all weights by which the outputs would see it are 0, and every number is
# finite (``enclosures``): terms of 0 are added, which change no partial sum.
def strand_to(mlp: Mlp, ends: Integers, first: int = 0, last: int | None = None) -> Strand:
    """The units on which these ends depend, matrix by matrix; matrices that are left out are empty."""
    layer, norm = mlp
    units = [np.isin(np.arange(len(layer.biases[-1 if last is None else last - 1])), ends)]
    for weight in reversed(layer.weights[first:last]):
        units.insert(0, (weight[:, units[0]] != 0).any(axis=1))
    if last is None:
        units[0] = units[0] | (units[-1] & (layer.keep_mlp > 0))
    columns = [np.flatnonzero(flags) for flags in units]
    weights: list[Array] = [np.zeros((0, 0))] * len(layer.weights)
    biases: list[Array] = [np.zeros(0)] * len(layer.weights)
    sine: list[Flags] = [np.zeros(0, dtype=bool)] * len(layer.sine)
    for index, (before, after) in enumerate(pairwise(columns), first):
        weights[index] = layer.weights[index][np.ix_(before, after)]
        biases[index] = layer.biases[index][after]
        if index < len(sine):
            sine[index] = layer.sine[index][after]
    inputs, outputs = columns[0], columns[-1]
    keep = layer.keep_mlp[outputs] if last is None else np.zeros(len(outputs))
    place = np.where(keep > 0, np.searchsorted(inputs, outputs), 0)
    parts = tuple(weights), tuple(biases), tuple(sine)
    made = Layer((), *parts, np.ones(len(inputs)), keep, gain_mlp=layer.gain_mlp)
    return Strand(made, norm if first else norm[inputs], inputs, outputs, place, first, last)


@dataclass(frozen=True)
class Units:
    """Rows of forms, and what the next matrix must know of them."""

    form: Affine
    norm: Norm | None = None  # LayerNorm made them; the mean is yet to be subtracted
    into: Array | None = None  # the matrix that made them
    sums: Affine | None = None  # before the activation
    sine: Flags | None = None


# Hypotheses: each row of inputs is in its box. Conclusion: all that any order of adding computes of the row,
# stored where it is, is in the box that comes out. Why: ``Affine`` bounds each operation by itself; symbols
# stand for the same errors of the same row in all units, so what two units share may cancel.
class Forms:
    """Any order of adding; errors with a common source cancel. ``place``: where the stream of outputs is."""

    def __init__(self, setting: Setting, norm: Norm, place: Integers | None = None) -> None:
        self.setting, self.fmt, self.norm, self.place = setting, setting.fmt, norm, place

    def normalise(self, x: Units, gain: Array | None, shift: Array | None = None) -> Units:
        """LayerNorm, without the mean."""
        return x if gain is None else Units(x.form.normalise(self.norm), self.norm)

    def linear(self, x: Units, weight: Array, bias: Array | None = None) -> Units:
        """A product with a matrix, and a bias; of a pair of opposite units the first carries their sum."""
        form, rows = x.form, len(x.form.box)
        each = 4 * (1 + len(form.tied)) + len(weight) / 4  # products are cheaper than the rest
        self.setting.budget.spend(each * rows * weight.shape[1], "MLP rows")
        if x.sums is not None and x.into is not None and x.sine is not None:
            form = x.sums.paired(form, mirrors(x.into, weight), x.sine)
        offset = np.zeros(weight.shape[1]) if bias is None else bias
        return Units(form.linear(self.fmt, weight, offset, x.norm), into=weight)

    def activate(self, x: Units, sine: Flags) -> Units:
        """ReLU or sine."""
        return Units(x.form.activate(self.fmt, sine), into=x.into, sums=x.form, sine=sine)

    def kept(self, x: Units, flags: Array) -> Units:
        """The product with 0 or 1."""
        return Units(x.form.kept(flags, np.arange(len(flags)) if self.place is None else self.place))

    def total(self, parts: list[Units]) -> Units:
        """The stream and what an MLP adds."""
        stream, units = parts
        return Units(units.form.plus(self.fmt, stream.form))


def run_strand(setting: Setting, strand: Strand, box: Real, grain: Array | float = 0.0) -> Real:
    """The outputs of a strand for rows of its inputs: equal rows are run once, in batches.

    ``grain``: a power of two that divides each input, where it is known; 0: none.
    """
    boxes, back = distinct(np.concatenate([box.lo, box.hi], axis=1))
    half, (held, _), run = box.lo.shape[1], strand.entries, Forms(setting, strand.norm, strand.place)
    require(held <= MOST_HELD, "a hidden layer is too wide for this check", "use fewer units")
    parts, rows = [], max(1, BLOCK // held)
    for start in range(0, max(len(boxes), 1), rows):
        part, left = boxes[start : start + rows], setting.budget.left
        form = entering(Real(part[:, :half], part[:, half:]), grain)
        parts.append(strand.passed(run, Units(form)).form.box)
        more = max(0, len(boxes) - start - rows) / max(1, len(part))
        setting.budget.foresee((left - setting.budget.left) * more, "MLP rows")
    return join(parts)[back]


def run_block(setting: Setting, found: list[Strand], box: Real, stream: Real) -> Real:
    """All outputs of some strands for rows of boxes; other channels of the ``stream`` stay as they are."""
    lo, hi = stream.lo.copy(), stream.hi.copy()
    for strand in found:
        made = run_strand(setting, strand, box[:, strand.inputs])
        lo[:, strand.outputs], hi[:, strand.outputs] = made.lo, made.hi
    return Real(lo, hi)


# Rule: an MLP.
# Hypotheses: those of ``follow_folds``.
# Conclusion: after x ← keep x + mlp(x) the class shown has the hull of all its rows, less wide' · Z.
# Why: each (class, values of the counters that outputs depend on) is a row, and rows are run by the network's
# own matrices; counters that nothing reads, and whose worth stays, cancel.
def tabulate(block: "Block", layer: Layer | None) -> Moment:
    """The claim after ``x ← keep x + mlp(x)``; without a layer, counters are only written out."""
    setting, moment, step, new = block.setting, block.moment, block.step, block.new
    made = replace(moment, machine=new.machine(), wide=step.wide)
    quiet = np.ones(len(moment.wide), dtype=bool) if layer is None else untouched(layer)
    lo = np.zeros((int(step.lift.shown[new.rows].max()) + 1, len(quiet)))
    hi = lo.copy()
    for channels, part in block.kept(quiet):
        lo[:, channels], hi[:, channels] = part.lo, part.hi
    if layer is not None:
        finite_mlp(setting, moment.anywhere, layer)
        mlp = layer, normalise(setting.fmt, moment.anywhere, layer.gain_mlp, setting.epsilon)
        found = block.gathered(mlp, strands(mlp, quiet))
        for strand in found:
            part = block.collect_labels(*block.run(strand), strand.outputs)
            lo[:, strand.outputs], hi[:, strand.outputs] = part.lo, part.hi
        # Channels to which MLPs add exactly 0 keep their position code; in others it is part of the box.
        pads = run_block(setting, found, moment.pads, moment.pads)
        made = replace(made, places=moment.places * quiet, pads=pads)
    return recount(replace(made, box=Real(lo, hi)), setting.budget)


class Block:
    """The rows to run: for every situation, the values of the counters that some outputs depend on."""

    def __init__(self, setting: Setting, moment: Moment, step: Tabulate) -> None:
        self.setting, self.moment, self.step, self.new = (
            setting,
            moment,
            step,
            lift_machine(moment, step.lift),
        )
        self.situations = follow_folds(setting, moment, step, self.new)
        self.known: dict[bytes, MachineRows] = {}

    def rows(self, read: Flags) -> MachineRows:
        """Rows in which the counters ``read`` take all their values; the others stay at 0."""
        if read.tobytes() not in self.known:
            self.known[read.tobytes()] = rows_of(
                self.setting, self.moment, self.step, self.situations, np.flatnonzero(read)
            )
        return self.known[read.tobytes()]

    def collect_labels(self, rows: MachineRows, values: Real, channels: Integers) -> Real:
        """[label, channel]: the hull over the situations of a label, minus what counters are still worth."""
        left = values - point(rows.sums) @ self.step.wide[channels].T
        pairs = distinct(np.stack([rows.where, self.situations.table[:, -1]], axis=1))[0]
        return hull(hull(left[rows.back], rows.names)[pairs[:, 0]], pairs[:, 1])

    def kept(self, quiet: Flags) -> list[tuple[Integers, Real]]:
        """Unchanged channels; a counter whose worth changes there is absorbed into the box."""
        differ, found = self.moment.wide != self.step.wide, []
        for read in distinct(differ[quiet])[0]:
            channels = np.flatnonzero(quiet & (differ == read).all(axis=1))
            rows = self.rows(read)
            found.append((channels, self.collect_labels(rows, rows.box[:, channels], channels)))
        return found

    def counters_of(self, strand: Strand) -> Flags:
        """The counters that a strand depends on, or that keep a worth in its outputs."""
        parts = self.moment.wide[strand.inputs], self.step.wide[strand.outputs]
        read: Flags = np.any([(part != 0).any(axis=0) for part in parts], axis=0)
        return read

    def gathered(self, mlp: Mlp, found: list[Strand]) -> list[Strand]:
        """Joins strands that have the same rows, where this is less work because they share units."""
        made: list[Strand] = []
        for strand in sorted(found, key=lambda one: -one.entries[1]):
            for at, other in enumerate(made):
                if (self.counters_of(other) == self.counters_of(strand)).all():
                    both = strand_to(mlp, np.union1d(other.outputs, strand.outputs))
                    (most, work), apart = both.entries, (other, strand)
                    if most <= MOST_HELD and work <= sum(one.entries[1] for one in apart):
                        made[at] = both
                        break
            else:
                made.append(strand)
        return made

    def run(self, strand: Strand) -> tuple[MachineRows, Real]:
        """The outputs of a strand on all its rows."""
        rows = self.rows(self.counters_of(strand))
        return rows, run_strand(self.setting, strand, self.read_inputs(rows, strand))

    def read_inputs(self, rows: MachineRows, strand: Strand) -> Real:
        """The inputs of a strand, position codes included."""
        return rows.box[:, strand.inputs] + self.moment.codes[strand.inputs]
