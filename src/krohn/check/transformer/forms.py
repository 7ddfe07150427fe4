"""Affine forms that run the forward pass: MLPs at letters, all rows at once, and the logits."""

from dataclasses import dataclass

import numpy as np

from krohn.check.arithmetic.affine import Affine, entering, mirrors
from krohn.check.arithmetic.real import Array, Flags, Integers, Real, distinct, joined
from krohn.check.transformer.layer_norm import Norm
from krohn.check.transformer.machine import Setting
from krohn.check.transformer.strands import Strand
from krohn.check.verdict import require

MOST_HELD = 1 << 22
BLOCK = 1 << 20


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

    def normed(self, x: Units, gain: Array | None, shift: Array | None = None) -> Units:
        """LayerNorm, without the mean."""
        return x if gain is None else Units(x.form.normed(self.norm), self.norm)

    def linear(self, x: Units, weight: Array, bias: Array | None = None) -> Units:
        """A product with a matrix, and a bias; of a pair of opposite units the first carries their sum."""
        form, rows = x.form, len(x.form.box)
        each = 4 * (1 + len(form.tied)) + len(weight) / 4  # products are cheaper than the rest
        self.setting.budget.spend(each * rows * weight.shape[1], "MLP rows")
        if x.sums is not None and x.into is not None and x.sine is not None:
            form = x.sums.paired(form, mirrors(x.into, weight), x.sine)
        offset = np.zeros(weight.shape[1]) if bias is None else bias
        return Units(form.linear(self.fmt, weight, offset, x.norm), into=weight)

    def activated(self, x: Units, sine: Flags) -> Units:
        """ReLU or sine."""
        return Units(x.form.activated(self.fmt, sine), into=x.into, sums=x.form, sine=sine)

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
    return joined(parts)[back]


def run_block(setting: Setting, found: list[Strand], box: Real, stream: Real) -> Real:
    """All outputs of some strands for rows of boxes; other channels of the ``stream`` stay as they are."""
    lo, hi = stream.lo.copy(), stream.hi.copy()
    for strand in found:
        made = run_strand(setting, strand, box[:, strand.inputs])
        lo[:, strand.outputs], hi[:, strand.outputs] = made.lo, made.hi
    return Real(lo, hi)
