"""An MLP on a moment: run on every class with every value of counters that its state allows."""

from dataclasses import replace

import numpy as np

from krohn.check.arithmetic.real import Flags, Integers, Real, distinct, hull, point
from krohn.check.files.reader import Layer
from krohn.check.transformer.enclosures import finite_mlp
from krohn.check.transformer.layer_norm import normalise
from krohn.check.transformer.machine import (
    MachineRows,
    Moment,
    Setting,
    follow_folds,
    lift_machine,
    recount,
    rows_of,
)
from krohn.check.transformer.strands import (
    MOST_HELD,
    Mlp,
    Strand,
    run_block,
    run_strand,
    strand_to,
    strands,
    untouched,
)
from krohn.check.transformer.witness import Tabulate


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
