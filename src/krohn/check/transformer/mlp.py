"""MLPs and the read-out: run on every class with every value of its counters, all rows at once.

An MLP is split by dependence into strands, MLPs of fewer units for some of the outputs, which affine forms
run: errors with a common source cancel when matrices add them up.

x = centre + Σ_e tied[e]·e ± own: one noise symbol e in [−1, 1] per channel of the stream before, and ``own``,
a bound on the error of the unit alone (its rounding, its unknown sign). ``box`` bounds the same numbers by
plain intervals, and in every row x is a multiple of ``grain``, a power of two (0: nothing is known). All
three bounds hold, so their intersection does. Sums of multiples of a grain that are small enough for the
format are exact, whatever the numbers are.

The logits are run by the same forms. At the end of the proof every class decodes to one state, and the
machine runs in step with the automaton.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from krohn.check.arithmetic.format import Box, Format, Norm, normalise, whole
from krohn.check.files.reader import Automaton, Layer, Network
from krohn.check.files.witness import Tabulate
from krohn.check.ground import (
    Array,
    Flags,
    Integers,
    Real,
    Refused,
    affine_error,
    ample,
    distinct,
    dividing,
    hull,
    join,
    lowest_bit,
    point,
    require,
    sum_up,
)
from krohn.check.transformer.stream import (
    Anywhere,
    Machine,
    MachineRows,
    Moment,
    Pointwise,
    Setting,
    T,
    after_mlp,
    finite_mlp,
    follow_folds,
    lift_machine,
    logits,
    recount,
    rows_of,
    through,
)
from krohn.errors import counted


@dataclass(frozen=True)
class Affine:
    """Rows × units; ``tied``: symbols × rows × units; ``grain``: units."""

    box: Real
    centre: Array
    tied: Array
    own: Array
    grain: Array

    @property
    def reach(self) -> Array:
        """The largest absolute value that the form allows."""
        out: Array = np.abs(self.centre) + np.abs(self.tied).sum(axis=0) + self.own
        return out

    def shared(self) -> "Affine":
        """The box, narrowed to what form and grain allow; a number that is known has no error."""
        radius = sum_up(self.tied, self.own)
        form = Real(self.centre, self.centre).widen(radius)
        box = snap(self.box.where(self.box.known, self.box.within(form)), self.grain)
        centre, own = np.where(box.known, box.lo, self.centre), np.where(box.known, 0.0, self.own)
        return Affine(box, centre, self.tied * ~box.known, own, self.grain)

    def linear(self, fmt: Format, weight: Array, bias: Array, norm: Norm | None = None) -> "Affine":
        """x @ weight + bias as a form, with the rounding errors of the network and of this checker.

        After a LayerNorm the form leaves out the mean; what the mean contributes to each sum is added here.
        """
        box = whole(self.box)
        if norm is not None:
            beyond, shift = norm.shift(weight)
            box = Box(self.box, beyond)
        computed, off = fmt.measured(box, weight, bias)
        made, sizes = computed.part, np.abs(weight)
        unit = np.minimum(dividing(self.grain, weight), lowest_bit(bias))
        # Every partial sum, in whatever order, is a multiple of ``unit``, and no larger than all terms are.
        exact = fmt.outer.holds(unit, ample(self.box.size @ sizes + np.abs(bias)))
        # LayerNorm divides: its outputs are multiples of nothing.
        exact = exact & (norm is None)
        off = np.where(exact, 0.0, off)  # no partial sum is rounded, and no store
        size = self.reach @ sizes
        own = np.where(off + size > 0, affine_error(size + np.abs(bias), len(weight)), 0.0)
        own = own + ample(self.own @ sizes)  # own errors of inputs add to the sum's own error
        if norm is not None:
            made, own = made.widen(shift), ample(own + shift)
        centre, grain = self.centre @ weight + bias, np.where(exact.all(axis=0), unit, 0.0)
        return Affine(made, centre, self.read(weight), off + own, grain).shared()

    def read(self, weight: Array) -> Array:
        """The coefficient of each symbol in x @ weight."""
        symbols, rows, units = self.tied.shape
        return (self.tied.reshape(symbols * rows, units) @ weight).reshape(symbols, rows, weight.shape[1])

    def kept(self, flags: Array, place: Integers) -> "Affine":
        """The product of the units at some places with 0 or 1."""
        some = np.flatnonzero(flags)

        def spread(part: Array, other: float = 0.0) -> Array:
            made = np.full((*part.shape[:-1], len(flags)), other)
            made[..., some] = part[..., place[some]]
            return made

        box, grain = Real(spread(self.box.lo), spread(self.box.hi)), spread(self.grain, np.inf)
        return Affine(box, spread(self.centre), spread(self.tied), spread(self.own), grain)

    def activate(self, fmt: Format, sine: Flags) -> "Affine":
        """ReLU, or the sine where ``sine`` says so."""
        on, off = (self.box.lo >= 0) & ~sine, (self.box.hi <= 0) & ~sine
        box = self.box.positive()
        if sine.any():
            box = fmt.sine(self.box).where(np.broadcast_to(sine, on.shape), box)
        # A unit that is on all over its box is linear there and keeps its symbols. One of unknown sign,
        # or a sine, forgets them: it is its middle, up to an error of its own.
        middle = (box.lo + box.hi) / 2
        unsure = np.where(on | off, 0.0, ample(np.maximum(box.hi - middle, middle - box.lo)))
        centre = np.where(on, self.centre, np.where(off, 0.0, middle))
        grain = np.where(sine, 0.0, self.grain)
        return Affine(box, centre, self.tied * on, np.where(on, self.own, unsure), grain)

    def paired(self, made: "Affine", pairs: Integers, sine: Flags) -> "Affine":
        """``made`` of these sums, where of a pair relu(s), relu(s') the first unit stands for s; the second
        bounds how far s' is from −s. See ``mirrors``.
        """
        first, second = pairs[:, 0], pairs[:, 1]
        unsure = (self.box.lo < 0) & (self.box.hi > 0) & ~sine
        unsure = unsure[:, first] & unsure[:, second]
        if not unsure.any():
            return made
        # |s + s'| bounds what the pair loses if the first unit counts as s and the second as 0.
        tied, centre = (part[..., first] + part[..., second] for part in (self.tied, self.centre))
        gap = ample(sum_up(tied, centre, self.own[:, first], self.own[:, second]))
        use = unsure & (gap < made.own[:, first] + made.own[:, second])
        centre, tied, own = made.centre.copy(), made.tied.copy(), made.own.copy()
        centre[:, first] = np.where(use, self.centre[:, first], centre[:, first])
        tied[..., first] = np.where(use, self.tied[..., first], tied[..., first])
        own[:, first] = np.where(use, self.own[:, first], own[:, first])
        centre[:, second], own[:, second] = (
            np.where(use, 0.0, centre[:, second]),
            np.where(use, gap, own[:, second]),
        )
        return Affine(made.box, centre, tied, own, made.grain)

    def leads(self, rows: Integers, units: Integers) -> Array:
        """How far each row's chosen unit is above every unit, at least: by the boxes, or by the form."""
        own = [part[..., rows, units][..., None] for part in (self.centre, self.tied, self.own)]
        apart = point(own[0]) - point(self.centre)
        radius = sum_up(own[1] - self.tied, own[2] + self.own)
        boxes = point(self.box.lo[rows, units][:, None]) - point(self.box.hi)
        return np.maximum((apart - point(ample(radius))).lo, boxes.lo)

    def normalise(self, norm: Norm) -> "Affine":
        """LayerNorm of these numbers, without the mean; its error is added to ``own``."""
        own = ample(self.own * np.abs(norm.scale) + norm.error(self.box.size))
        box = norm.apart(self.box, np.zeros(1)).part
        return Affine(box, self.centre * norm.scale, self.tied * norm.scale, own, np.zeros(len(norm.scale)))

    def plus(self, fmt: Format, stream: "Affine") -> "Affine":
        """One addition, of numbers with the same symbols: errors that they share can cancel."""
        if not stream.box.size.any():
            return self
        box = fmt.add(whole(stream.box), whole(self.box)).part
        grain = np.minimum(self.grain, stream.grain)
        exact = fmt.outer.holds(grain, ample(stream.box.size + self.box.size))
        off = np.where(exact, 0.0, fmt.off_sum(stream.box.size, self.box.size))
        centre, tied = self.centre + stream.centre, self.tied + stream.tied
        old = self.own + stream.own
        own = affine_error(np.abs(centre) + np.abs(tied).sum(axis=0) + old, len(grain))
        grain = np.where(exact.all(axis=0), grain, 0.0)
        return Affine(box, centre, tied, old + 2 * off + own, grain).shared()


def entering(box: Real, grain: Array | float = 0.0) -> Affine:
    """The form of inputs: one symbol for each that is not known, and is a multiple of ``grain`` then."""
    centre = np.where(box.known, box.lo, (box.lo + box.hi) / 2)
    radius = np.where(box.known, 0.0, ample(np.maximum(box.hi - centre, centre - box.lo)))
    every = np.where(box.known, lowest_bit(box.lo), grain).min(axis=0, initial=np.inf)
    return Affine(box, centre, diagonal(radius), np.zeros_like(radius), every)


def entered(box: Real) -> int:
    """Entries of the form of one row of these inputs: a symbol for each that is not known in every row."""
    held = int((~box.known).any(axis=0).sum() * box.lo.shape[1])
    require(held <= MOST_ENTERED, "too many inputs are not known exactly", "use fewer channels")
    return held


def snap(box: Real, grain: Array) -> Real:
    """The multiples of the grain in a box: quotients by a power of two are exact, up to 2^52 of them."""
    some = (grain > 0) & np.isfinite(grain) & ~box.known
    some = some & (box.size < np.where(some, grain, 1.0) * 2.0**52)
    step = np.where(some, grain, 1.0)
    lo, hi = np.ceil(box.lo / step) * step, np.floor(box.hi / step) * step
    return Real(lo, hi).where(some & (lo <= hi), box)


def mirrors(into: Array, out: Array) -> Integers:
    """Pairs of units with opposite weights, before and after: x = relu(x) − relu(−x).

    Soundness needs only the output weights: relu(s) − relu(s') is within |s + s'| of s, for any s and s'.
    """
    waiting: dict[bytes, int] = {}
    found = []
    for unit, row in enumerate(np.concatenate([into.T, out], axis=1)):
        other = waiting.pop((0.0 - row).tobytes(), None)
        if other is None:
            waiting[(0.0 + row).tobytes()] = unit
        else:
            found.append((other, unit))
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def diagonal(radius: Array) -> Array:
    """[row, unit] to [symbol, row, unit]: one symbol for each unit that is not known."""
    units = np.flatnonzero(np.any(radius, axis=0))
    out = np.zeros((len(units), *radius.shape))
    out[np.arange(len(units)), :, units] = radius[:, units].T
    return out


MOST_HELD, MOST_ENTERED = 1 << 22, 1 << 24
"""Entries of the largest form of one row, and of the form of its inputs; more is refused. In float64 they are
34 and 134 MB, of which a few copies are made.
"""
FORMS_AT_ONCE = 1 << 20
"""Entries of forms that are run together: 8 MB, so that their copies stay near the processor."""
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
    units: tuple[Flags, ...]  # layer by layer, inputs and outputs included: the units that it has
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
        return entries_of(self.units)


def entries_of(units: Sequence[Flags]) -> tuple[int, int]:
    """Entries of the largest affine form over the inputs, and of all forms together."""
    inputs, *widths = (int(np.count_nonzero(flags)) for flags in units)
    entries = [(1 + inputs) * width for width in widths]
    return max(1, *entries), sum(entries)


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
    return Strand(made, norm if first else norm[inputs], inputs, outputs, place, tuple(units), first, last)


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
    parts, rows = [], max(1, FORMS_AT_ONCE // max(held, entered(box)))
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
# Hypotheses: those of ``follow_folds``; counters keep their worth in channels to which 0 is added.
# Conclusion: after x ← keep x + mlp(x) the class shown has the hull of all its rows, less wide' · Z.
# Why: each (class, values of the counters that outputs depend on) is a row, and rows are run by the network's
# own matrices; counters that nothing reads, and whose worth stays, cancel.
def tabulate(block: "Block", layer: Layer) -> Moment:
    """The claim after ``x ← keep x + mlp(x)``."""
    setting, moment, step, new = block.setting, block.moment, block.step, block.new
    quiet = untouched(layer)
    require((moment.wide == step.wide)[quiet], "witness: worth of counters")
    lo = np.zeros((int(step.lift.shown[new.rows].max()) + 1, len(quiet)))
    hi = lo.copy()
    finite_mlp(setting, moment.anywhere, layer)
    mlp = layer, normalise(setting.fmt, moment.anywhere, layer.gain_mlp, setting.epsilon)
    found = block.gathered(mlp, strands(mlp, quiet))
    for channels, part in (block.kept(quiet), *map(block.run, found)):
        lo[:, channels], hi[:, channels] = part.lo, part.hi
    # Channels to which MLPs add exactly 0 keep their position code; in others it is part of the box.
    pads = run_block(setting, found, moment.pads, moment.pads)
    made = replace(moment, machine=new.machine(), wide=step.wide, places=moment.places * quiet, pads=pads)
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

    def kept(self, quiet: Flags) -> tuple[Integers, Real]:
        """The unchanged channels; no value of a counter matters there."""
        channels, rows = np.flatnonzero(quiet), self.rows(np.zeros(len(self.moment.low), dtype=bool))
        return channels, self.collect_labels(rows, rows.box[:, channels], channels)

    def counters_of(self, strand: Strand) -> Flags:
        """The counters that a strand depends on, or that keep a worth in its outputs."""
        parts = self.moment.wide[strand.inputs], self.step.wide[strand.outputs]
        read: Flags = np.any([(part != 0).any(axis=0) for part in parts], axis=0)
        return read

    def gathered(self, mlp: Mlp, found: list[Strand]) -> list[Strand]:
        """Joins strands that have the same rows, where this is less work because they share units."""
        made: list[tuple[Strand, Flags]] = []
        for strand in sorted(found, key=lambda one: -one.entries[1]):
            read = self.counters_of(strand)
            for at, (other, counters) in enumerate(made):
                if (counters == read).all():
                    # What outputs depend on together is what they depend on one by one.
                    units = [one | two for one, two in zip(other.units, strand.units, strict=True)]
                    (most, work), apart = entries_of(units), (other, strand)
                    if most <= MOST_HELD and work <= sum(one.entries[1] for one in apart):
                        made[at] = strand_to(mlp, np.union1d(other.outputs, strand.outputs)), read
                        break
            else:
                made.append((strand, read))
        return [strand for strand, _ in made]

    def run(self, strand: Strand) -> tuple[Integers, Real]:
        """The outputs of a strand, run on all its rows, position codes included."""
        rows = self.rows(self.counters_of(strand))
        values = self.evaluate(strand, rows.box[:, strand.inputs] + self.moment.codes[strand.inputs])
        return strand.outputs, self.collect_labels(rows, values, strand.outputs)

    def evaluate(self, strand: Strand, inputs: Real) -> Real:
        """The outputs of a strand for rows of its inputs."""
        return run_strand(self.setting, strand, inputs)


LEADS_AT_ONCE = 1 << 22
"""Entries of the forms whose logits are compared together: 34 MB."""
TINY = 1 / 1024
"""If errors are below this share of the largest logit, the weights are at fault, not rounding."""


# Rule: the read-out.
# Hypotheses: in each class one logit is above all others for every number of its box, LayerNorm included.
# Conclusion: whatever word shows this class, the output is that one; the margin is the least lead.
# Why: logits are run as affine forms of the box: what two of them share cancels in their difference.
def decode(setting: Setting, moment: Moment, network: Network) -> tuple[Integers, float]:
    """The output of each class, and the least lead of its logit over the others."""
    rows = moment.over_counters(moment.box, moment.wide) + moment.codes
    norm = normalise(setting.fmt, moment.anywhere, network.gain, setting.epsilon)
    everything = Anywhere(setting, moment.anywhere, moment.positions)
    logits(everything, network, everything.row)  # nothing overflows
    setting.budget.spend(float(len(rows)) * network.readout.size, "logits")
    held = max(network.readout.size, entered(rows), 1)
    parts = [
        _leads(setting, network, rows[first : first + max(1, LEADS_AT_ONCE // held)], norm)
        for first in range(0, len(rows), max(1, LEADS_AT_ONCE // held))
    ]
    states, others, margins, ideal, sizes = (np.concatenate(found) for found in zip(*parts, strict=True))
    worst, bad = int(margins.argmin()), ~(margins > 0)
    if bad.any():
        raise Refused(
            f"outputs {states[worst]} and {others[worst]} are not told apart: their logits are "
            f"{ideal[worst]:.3g} apart and may err by {ideal[worst] - margins[worst]:.3g} "
            f"({int(bad.sum())} of {len(states)} classes)",
            "the errors are too large: use a wider dtype or a shorter length"
            if ((ideal - margins)[bad] > TINY * sizes.max()).any()
            else "the weights are at fault, no rounding: look at the layer that should tell them apart",
        )
    return states, float(margins[worst])


def _leads(
    setting: Setting, network: Network, rows: Real, norm: Norm
) -> tuple[Integers, Integers, Array, Array, Array]:
    """For each row the likely output, its nearest rival, the lead of its logit, the lead without errors, and
    the size of logits.

    Errors that logits share cancel.
    """
    form = logits(Forms(setting, norm), network, Units(entering(rows))).form
    states, every = form.box.lo.argmax(axis=1), np.arange(len(rows))
    leads = form.leads(every, states)
    leads[every, states] = np.inf
    others = leads.argmin(axis=1)
    ideal = form.centre[every, states] - form.centre[every, others]
    return states, others, leads.min(axis=1), ideal, form.box.size.max(axis=1)


# Rule: simulation.
# Hypotheses: on all pairs of states that words of at most ``length`` letters reach together, the class shown
# decodes to what the automaton shows. Conclusion: the network is right on these words.
# Why: for each word some run of the machine has the stream in its boxes, and all runs are followed here.
def simulate(setting: Setting, machine: Machine, states: Integers, automaton: Automaton, length: int) -> int:
    """Breadth-first over pairs of machine and automaton states, up to ``length`` letters."""
    size = len(automaton.table)
    setting.budget.spend(float(machine.follow.size) * size, "pairs of states")
    seen = np.zeros(len(machine.follow) * size, dtype=bool)
    frontier = np.array([automaton.start])
    for read in range(length):
        seen[frontier] = True
        own, right = np.divmod(frontier, size)
        wanted = automaton.table[right][:, machine.letter]
        if (automaton.shows[wanted] != states[machine.shown[own]]).any():
            raise Refused(f"after {counted(read + 1, 'letter')} the network may disagree with the automaton")
        frontier = np.unique(machine.follow[own] * size + wanted)
        frontier = frontier[~seen[frontier]]
        if not len(frontier):
            break
    return int(seen.sum())
