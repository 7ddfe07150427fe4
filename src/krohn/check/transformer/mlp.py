"""MLP blocks on a moment: run on every class with every value of counters that its state allows.

Blocks whose heads are all zero may be run together: the stream between them is then one more stage, and
errors that its channels share are tracked through it.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from krohn.check.arithmetic.affine import Affine, beside, entering, mirrors
from krohn.check.arithmetic.real import (
    Array,
    Flags,
    Integers,
    Real,
    distinct,
    hull,
    joined,
    lowest_bit,
    point,
)
from krohn.check.files.reader import Layer
from krohn.check.transformer.enclosures import finite_mlp
from krohn.check.transformer.layer_norm import Norm, normed
from krohn.check.transformer.machine import (
    MachineRows,
    Moment,
    Setting,
    counted_anew,
    follow_folds,
    lifted,
    rows_of,
)
from krohn.check.transformer.strands import Strand, chain_of, reaches, strand_to, strands, untouched
from krohn.check.transformer.witness import Tabulate
from krohn.check.verdict import inside, require

MOST_HELD = 1 << 22
BLOCK = 1 << 20


# Rule: an MLP.
# Hypotheses: those of ``follow_folds``; blocks that are run as one have no heads between them; where one has
# a LayerNorm, the stream before it stays in what that was bounded for.
# Conclusion: after x ← keep x + mlp(x) the class shown has the hull of all its rows, less wide' · Z.
# Why: each (class, values of the counters that outputs depend on) is a row, and rows are run by the network's
# own matrices; counters that nothing reads, and whose worth stays, cancel.
def tabulate(block: "Block", layers: tuple[Layer, ...]) -> Moment:
    """The claim after ``x ← keep x + mlp(x)`` of each layer; without any, counters are only written out."""
    setting, moment, step, new = block.setting, block.moment, block.step, block.new
    made = replace(moment, machine=new.machine(), wide=step.wide)
    quiet = np.broadcast_to(untouched(layers), len(moment.wide))
    lo = np.zeros((int(step.lift.shown[new.rows].max()) + 1, len(quiet)))
    hi = lo.copy()
    for channels, part in block.kept(quiet):
        lo[:, channels], hi[:, channels] = part.lo, part.hi
    if layers:
        chain = chain_of(layers, *norms_between(block, layers))
        found = block.gathered(strands(chain, quiet))
        for strand in found:
            part = block.collected(*block.run(strand), strand.outputs)
            lo[:, strand.outputs], hi[:, strand.outputs] = part.lo, part.hi
        # Channels to which MLPs add exactly 0 keep their position code; in others it is part of the box.
        pads = run_block(setting, found, moment.pads, moment.pads)
        made = replace(made, places=moment.places * quiet, pads=pads)
    return counted_anew(replace(made, box=Real(lo, hi)), setting.budget)


def norms_between(block: "Block", layers: tuple[Layer, ...]) -> tuple[list[Norm], list[Real | None]]:
    """The LayerNorm of each block, and the bounds on the stream that it relies on.

    For the first block the claim gives these bounds. For the others they are guessed from the middles of all
    rows; when the rows are run, the stream before each block is checked against them.
    """
    setting, moment = block.setting, block.moment
    norms = [normed(setting.fmt, moment.anywhere, layers[0].gain_mlp, setting.epsilon)]
    streams: list[Real | None] = [None]
    after = finite_mlp(setting, moment.anywhere, layers[0])
    for count, layer in enumerate(layers[1:], 1):
        parts = (part for head in layer.heads for part in (head.query, head.key, head.value, head.output))
        require(not any(part.any() for part in parts), "witness: blocks with heads are run as one")
        require(layer.keep_attention == 1, "witness: blocks without residual are run as one")
        streams.append(None)
        if layer.gain_mlp is not None or layer.gain_attention is not None:
            require(layers[count - 1].keep_mlp == 1, "witness: blocks without residual are run as one")
            from krohn.check.transformer import supposed  # lazy import: only needed between LayerNorms

            after = streams[-1] = supposed.after(block, layers[:count], norms)
            normed(setting.fmt, after, layer.gain_attention, setting.epsilon)  # its heads see only zeros
        norms.append(normed(setting.fmt, after, layer.gain_mlp, setting.epsilon))
        after = finite_mlp(setting, after, layer)
    return norms, streams


class Block:
    """The rows to run: for every situation, the values of the counters that some outputs depend on."""

    def __init__(self, setting: Setting, moment: Moment, step: Tabulate) -> None:
        self.setting, self.moment, self.step, self.new = setting, moment, step, lifted(moment, step.lift)
        self.situations = follow_folds(setting, moment, step, self.new)
        self.known: dict[bytes, MachineRows] = {}

    def rows(self, read: Flags) -> MachineRows:
        """Rows in which the counters ``read`` take all their values; the others stay at 0."""
        if read.tobytes() not in self.known:
            self.known[read.tobytes()] = rows_of(
                self.setting, self.moment, self.step, self.situations, np.flatnonzero(read)
            )
        return self.known[read.tobytes()]

    def collected(self, rows: MachineRows | None, values: Real, channels: Integers) -> Real:
        """[label, channel]: the hull over the situations of a label, minus what counters are still worth."""
        if rows is None:
            require(self.step.wide[channels] == 0, "witness: cut")
            return hull(values, self.situations.table[:, -1])
        left = values - point(rows.sums) @ self.step.wide[channels].T
        pairs = distinct(np.stack([rows.where, self.situations.table[:, -1]], axis=1))[0]
        return hull(hull(left[rows.back], rows.names)[pairs[:, 0]], pairs[:, 1])

    def kept(self, quiet: Flags) -> list[tuple[Integers, Real]]:
        """Unchanged channels; a counter whose worth changes there is absorbed into the box."""
        differ, found = self.moment.wide != self.step.wide, []
        for read in distinct(differ[quiet])[0]:
            channels = np.flatnonzero(quiet & (differ == read).all(axis=1))
            rows = self.rows(read)
            found.append((channels, self.collected(rows, rows.box[:, channels], channels)))
        return found

    def counters_of(self, strand: Strand) -> Flags:
        """The counters that a strand depends on, or that keep a worth in its outputs."""
        parts = self.moment.wide[strand.inputs], self.step.wide[strand.outputs]
        read: Flags = np.any([(part != 0).any(axis=0) for part in parts], axis=0)
        return read

    def gathered(self, found: list[Strand]) -> list[Strand]:
        """Joins strands that have the same rows, where this is less work because they share units."""
        made: list[Strand] = []
        for strand in sorted(found, key=lambda one: -one.entries()[1]):
            for at, other in enumerate(made):
                if (self.counters_of(other) == self.counters_of(strand)).all():
                    outputs = np.union1d(other.outputs, strand.outputs)
                    both = strand_to(strand.chain, len(strand.chain), outputs)
                    (most, work), apart = both.entries(), (other, strand)
                    if most <= MOST_HELD and work <= sum(one.entries()[1] for one in apart):
                        made[at] = both
                        break
            else:
                made.append(strand)
        return made

    def run(self, strand: Strand) -> tuple[MachineRows | None, Real]:
        """The outputs of a strand on all its rows; or, if it is cut, for every situation."""
        read = self.counters_of(strand)
        if 0 < self.step.cut < len(strand.stages) and read.sum() > 1:
            return None, self.cut(strand)
        rows = self.rows(read)
        return rows, run_strand(self.setting, strand, self.entered(rows, strand))

    def entered(self, rows: MachineRows, strand: Strand) -> Real:
        """The inputs of a strand, position codes included."""
        return rows.box[:, strand.inputs] + self.moment.codes[strand.inputs]

    def cut(self, strand: Strand) -> Real:
        """Runs the units before stage ``cut`` in groups, by the counters they read, and adds the parts."""
        at, fmt = self.step.cut, self.setting.fmt
        stage, held, units = strand.stages[at], strand.held(at), strand.units[at - 1]
        keep = next(other.keep for other in strand.stages[at:] if other.keep is not None)
        lost = stage.keep is None and keep.any()
        require(stage.norm is None and not lost, "witness: cut")  # no older stream is added after the cut
        width = len(stage.bias)
        kept = np.zeros((len(held), width))
        if stage.keep is not None:
            kept[stage.place, np.arange(width)] = stage.keep
        reach, stream = reaches(strand.chain, at)
        counters = self.moment.wide != 0
        reads = (np.concatenate([reach[:, units], stream[:, held]], axis=1).T @ counters) > 0
        shape = (len(self.situations.table), width)
        total, size = point(stage.bias).spread(*shape), np.broadcast_to(np.abs(stage.bias), shape)
        grain = np.broadcast_to(lowest_bit(stage.bias), shape)
        both = np.concatenate([stage.weight, kept])
        for kind in distinct(reads)[0]:
            chosen = (reads == kind).all(axis=1)
            own, old = units[chosen[: len(units)]], held[chosen[len(units) :]]
            part = strand_to(strand.chain, at, own, old)
            rows = self.rows(kind)
            made = run_strand(self.setting, part, self.entered(rows, part), (own, old, both[chosen]))
            made = hull(made[rows.back], rows.names)[rows.where]
            total, size = total + made[:, :width], size + made.hi[:, width : 2 * width]
            grain = np.minimum(grain, made.lo[:, 2 * width :])
        sums = total.widened(fmt.any_sum(size, (both != 0).sum(axis=0) + 1.0, grain))
        return run_strand(self.setting, strand, sums, first=at + 1)

    def some_rows(self, strand: Strand) -> Iterator[Real]:
        """Padding and the rows of all counters; if the strand would be cut, those of each counter alone."""
        yield self.moment.pads[:, strand.inputs]
        read = (self.moment.wide[strand.inputs] != 0).any(axis=0)
        apart = self.step.cut and read.sum() > 1
        for chosen in np.eye(len(read), dtype=bool)[read] if apart else [read]:
            yield self.entered(self.rows(chosen), strand)


def run_block(setting: Setting, found: list[Strand], box: Real, stream: Real) -> Real:
    """All outputs of some strands for rows of boxes; other channels of the ``stream`` stay as they are."""
    lo, hi = stream.lo.copy(), stream.hi.copy()
    for strand in found:
        made = run_strand(setting, strand, box[:, strand.inputs])
        lo[:, strand.outputs], hi[:, strand.outputs] = made.lo, made.hi
    return Real(lo, hi)


Terms = tuple[Integers, Integers, Array]
"""Units, channels of the stream, and the matrix that reads both: returned instead of the last units."""


def run_strand(
    setting: Setting,
    strand: Strand,
    box: Real,
    terms: Terms | None = None,
    first: int = 0,
    grain: Array | float = 0.0,
) -> Real:
    """The outputs of a strand for rows of boxes: equal rows are run once, in batches.

    With ``first``, the boxes are the sums of the stage before it, not yet activated. ``grain``: a power of
    two that divides each input, where it is known; 0: none.
    """
    boxes, back = distinct(np.concatenate([box.lo, box.hi], axis=1))
    half = box.lo.shape[1]
    held, _ = strand.entries(first, 0 if terms is None else terms[2].shape[1])
    require(held <= MOST_HELD, "a hidden layer is too wide for this check", "use fewer units")
    parts, rows = [], max(1, BLOCK // held)
    for start in range(0, max(len(boxes), 1), rows):
        part, left = boxes[start : start + rows], setting.budget.left
        form = entering(Real(part[:, :half], part[:, half:]), grain)
        form = form_of(setting, strand, form, terms, first)
        parts.append(form.box if terms is None else form.summary(terms[2]))
        more = max(0, len(boxes) - start - rows) / max(1, len(part))
        setting.budget.foresee((left - setting.budget.left) * more, "MLP rows")
    return joined(parts)[back]


def form_of(setting: Setting, strand: Strand, form: Affine, terms: Terms | None, first: int = 0) -> Affine:
    """The outputs of a strand for rows of forms; or the units and channels in ``terms``."""
    fmt, ends, stream, rows = setting.fmt, len(strand.stages), form, len(form.box)

    def activated(index: int, form: Affine, stream: Affine) -> tuple[Affine, Affine]:
        """The units of a hidden stage, from its sums."""
        stage, end = strand.stages[index], index + 1 == ends
        if stage.sine is None or (end and terms is None):
            return form, stream
        after = strand.stages[index + 1].weight if terms is None or not end else terms[2][: len(stage.bias)]
        return form.activated(fmt, stage.sine, mirrors(stage.weight, after)).trimmed(stream)

    if first:
        form, stream = activated(first - 1, form, stream)
    for index in range(first, ends):
        stage = strand.stages[index]
        with inside(f"MLP matrix {index + 1}"):
            if stage.within is not None:
                inside_it = (stage.within.lo <= form.box.lo) & (form.box.hi <= stage.within.hi)
                require(inside_it, "the stream between two blocks leaves what LayerNorm was bounded for")
            form = form if stage.norm is None else form.normed(stage.norm)
            each = 4 * (1 + len(form.tied)) + len(stage.weight) / 4  # products are cheaper than the rest
            setting.budget.spend(each * rows * len(stage.bias), "MLP rows")
            form = form.linear(fmt, stage.weight, stage.bias, stage.norm)
            if stage.keep is not None:
                form = form.plus(fmt, stream, stage.place, stage.keep)
                if index + 1 < ends or terms is not None:
                    form = stream = form.opened()
            form, stream = activated(index, form, stream)
    if terms is None:
        return form
    units, channels = np.searchsorted(strand.outputs, terms[0]), np.searchsorted(strand.held(ends), terms[1])
    return beside(form.chosen(units), stream.chosen(channels))
