"""How the MLP of a scan composes two windows: a unit sees at most two points, so n or n² cases suffice."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.arithmetic.real import Array, Integers, Real, ample, lowest_bit, point
from krohn.check.transformer.machine import Setting
from krohn.check.transformer.mlp import Terms, form_of
from krohn.check.transformer.strands import Chain, Strand, StrandStage, reaches, strand_to
from krohn.check.verdict import require

Source = tuple[str, int]
"""Where the content of a channel comes from: "left" or "own" window, or another one, and which point."""
LEFT, OWN_WINDOW = "left", "own"
MAX_CASES = 5_000_000
"""Most numbers of units that see the same points, in all cases together; networks of krohn's have 10⁴."""


@dataclass(frozen=True)
class Kind:
    """Units that see the same points, and kept channels that hold one of them."""

    sources: tuple[Source, ...]
    units: Integers
    kept: Integers


Added = tuple[Real, Real, Array, Array]
"""What units add, its coefficient of the error of a left number, the size of terms, their common unit."""
Term = tuple[int, int, int, tuple[tuple[int, int], ...]]
"""Number of a kind and of a channel; the axis of left(q), or -1; axes of own points, each with its point."""


# Rule: two windows are composed.
# Hypotheses: units are grouped by the points they see, at most two; kept channels count as units that copy.
# Conclusion: row y of the channel of point q holds what it has for all x = left(q) with own(x) = y.
# Why: units add up. Each group is run on all values of its points, by the network's own matrices; its part
# for (x, y) is the hull over the points that x and y leave open. The error of a left number is one number
# for all groups that see it in one channel, so it cancels where they subtract it. Every addend is rounded in
# one sum with the bias and the stream, which is stored three times.
def composed(
    setting: Setting,
    coded: Real,
    chain: Chain,
    channels: Integers,
    sources: dict[int, Source],
    *,
    alone: bool,
) -> Real:
    """The boxes after the MLP: what each kind of units adds, for all maps; a kind sees the same points.

    A window that is ``alone`` is passed on unchanged: it counts as the left one.
    """
    last = chain[-1]
    points, d, keep = len(channels), len(last.bias), kept_by(last)
    quiet = (keep > 0) & ~(last.weight != 0).any(axis=0) & (last.bias == 0)  # they keep their position code
    place = np.full(d, -1)
    place[channels] = np.arange(points)
    adding, terms = Adding(setting, chain, coded, sources), dict[int, list[Term]]()
    for kind in _kinds(chain, sources, np.flatnonzero((keep > 0) & ~quiet).tolist()):
        # The channels that these units write; to the others they add exactly nothing.
        written = np.union1d(np.flatnonzero((last.weight[kind.units] != 0).any(axis=0)), kind.kept)
        number = adding.number(kind, written)
        for n, channel in enumerate(written.tolist()):
            terms.setdefault(channel, []).append(_term(number, n, kind.sources, int(place[channel])))
    count = (last.weight != 0).sum(axis=0) + 1.0 + keep  # weights of 0 add no term
    lo, hi = np.zeros((points, d)), np.zeros((points, d))
    known: dict[tuple[tuple[Term, ...], float, float], Real] = {}
    for channel in range(d):
        key = (tuple(terms.get(channel, ())), float(last.bias[channel]), float(count[channel]))
        if key not in known:  # points are often treated alike: the same terms in the same order
            known[key] = adding.column(*key)
        # Row y of the channel of point q: all x = left(q) with own(x) = y. Others: whatever the maps are.
        made = known[key].over(int(alone)) if place[channel] >= 0 else known[key].over((0, 1))
        lo[:, channel], hi[:, channel] = made.lo, made.hi
    return Real(lo, hi)


def kept_by(last: StrandStage) -> Array:
    """Which channels of the stream a stage keeps; none for a hidden layer."""
    return np.zeros(len(last.bias)) if last.keep is None else last.keep


def _kinds(chain: Chain, sources: dict[int, Source], again: list[int]) -> list[Kind]:
    """Units grouped by the points they see; kept channels ``again`` count as units that copy them."""
    units: dict[tuple[Source, ...], list[int]] = {}
    kept: dict[tuple[Source, ...], list[int]] = {}
    # Of a single matrix the "units" are the channels that it reads; a LayerNorm before it is not followed.
    require(len(chain) > 1 or chain[0].norm is None, "an MLP of one matrix after a LayerNorm")
    for number, column in enumerate(reaches(chain, len(chain) - 1)[0].T):
        seen = sorted({sources[int(c)] for c in np.flatnonzero(column) if int(c) in sources})
        units.setdefault(tuple(seen), []).append(number)
    for channel in again:
        kept.setdefault((sources[channel],) if channel in sources else (), []).append(channel)
    require(all(len(kind) <= 2 for kind in units), "a unit of the MLP sees more than two points")
    every = dict.fromkeys([*units, *kept])
    whole = [[np.array(side.get(kind, []), dtype=np.int64) for side in (units, kept)] for kind in every]
    return [Kind(kind, *numbers) for kind, numbers in zip(every, whole, strict=True)]


def _term(number: int, n: int, kind: tuple[Source, ...], q: int) -> Term:
    """What units add to the channel of point q (-1: no point): the axes of left(q) and of own points."""
    left = [axis for axis, source in enumerate(kind) if source == (LEFT, q)]
    own = tuple((axis, x) for axis, (window, x) in enumerate(kind) if window == OWN_WINDOW and q >= 0)
    return number, n, left[0] if left else -1, own


class Adding:
    """What kinds of units add to channels; kinds that do the same with the same numbers are run once."""

    def __init__(self, setting: Setting, chain: Chain, coded: Real, sources: dict[int, Source]) -> None:
        self.setting, self.chain, self.coded, self.sources = setting, chain, coded, sources
        self.numbers: dict[tuple[object, ...], int] = {}
        self.made: list[Added] = []
        self.known: dict[Term, tuple[Real, Real]] = {}
        self.copies = Counter(sources.values())

    def number(self, part: Kind, written: Integers) -> int:
        """The number of the kind among those that differ.

        The error of a left number is the same for all kinds that see it, so its share is kept apart: it
        cancels when all of them are added. Two channels that hold one left number have two errors: nothing
        is shared then.
        """
        chain, kind = self.chain, part.sources
        strand = strand_to(chain, len(chain) - 1, part.units, part.kept)
        axes = [kind.index(self.sources[c]) if c in self.sources else -1 for c in strand.inputs.tolist()]
        left = [n for n, axis in enumerate(axes) if axis >= 0 and kind[axis][0] == LEFT]
        if len(left) == 1 and self.copies[kind[axes[left[0]]]] > 1:
            left = []
        again = (part.kept[:, None] == written).astype(np.float64)
        weight = np.concatenate([chain[-1].weight[np.ix_(part.units, written)], again])
        rows = self.coded[:, strand.inputs]
        parts = [
            rows.lo,
            rows.hi,
            weight,
            np.searchsorted(strand.inputs, part.kept),
            *numbers_of(strand),
        ]
        key = (tuple(axes), tuple(left), *((side.shape, side.tobytes()) for side in parts))
        if key not in self.numbers:
            self.numbers[key] = len(self.made)
            points, count = len(rows), len(rows) ** len(kind)
            require(count * (len(axes) + len(weight) + len(written)) <= MAX_CASES, "units see too many cases")
            grid = np.indices((points,) * len(kind)).reshape(len(kind), count)
            index = np.zeros((count, len(axes)), dtype=np.int64)
            for n, axis in enumerate(axes):
                index[:, n] = grid[axis] if axis >= 0 else 0
            box = Real(*(np.take_along_axis(side, index, axis=0) for side in (rows.lo, rows.hi)))
            terms = (part.units, part.kept, weight)
            sums, slope, size, unit = self.added(strand, box, terms, left)
            shape = (*(points,) * len(kind), len(written))
            self.made.append((sums.shaped(*shape), slope.shaped(*shape), size, unit))
        return self.numbers[key]

    def added(self, strand: Strand, box: Real, terms: Terms, left: list[int]) -> Added:
        """What units add, row by row, and how that moves with the left number's error: the symbol of its
        channel, among those of the channels that are not known.
        """
        form = form_of(self.setting, strand, box, terms)
        slope = point(np.zeros((len(box), terms[2].shape[1])))
        unsure = (~box.known).sum(axis=0) > 0
        if len(left) == 1 and unsure[left[0]]:
            symbol = int(unsure[: left[0]].sum())
            slope = point(form.tied[symbol]) @ terms[2]
            form.tied[symbol] = 0.0
        return form.sums(terms[2]), slope, form.box.size @ np.abs(terms[2]), form.grain(terms[2])

    def column(self, terms: tuple[Term, ...], bias: float, count: float) -> Real:
        """[x, y]: what a channel holds if left(q) = x and own(x) = y."""
        shape = (len(self.coded), len(self.coded))
        total, slopes, size = point(np.full(shape, bias)), point(np.zeros(shape)), np.abs(np.asarray(bias))
        unit = lowest_bit(np.asarray(bias))
        self.setting.budget.spend(20.0 * total.lo.size * (1 + len(terms)), "points that units see")
        for term in terms:
            number, n, left, own = term
            made = self.made[number]
            if term not in self.known:
                sides = (made[0][..., n], made[1][..., n])
                if left < 0:  # nothing cancels
                    sides = (sides[0].widened(ample(sides[1].size)), point(np.zeros_like(sides[0].lo)))
                self.known[term] = (_picked(sides[0], left, own, shape), _picked(sides[1], left, own, shape))
            total, slopes = total + self.known[term][0], slopes + self.known[term][1]
            size, unit = size + made[2][:, n].max(), np.minimum(unit, made[3][n])
        off = self.setting.fmt.any_sum(size, np.asarray(count), unit)
        return total.widened(ample(slopes.size)).widened(off)


def numbers_of(strand: Strand) -> Iterator[npt.NDArray[Any]]:
    """All parameters that the units of a strand are computed from."""
    for stage in strand.stages:
        yield from (part for part in (stage.weight, stage.bias, stage.sine) if part is not None)
        if stage.norm is not None:
            yield from (stage.norm.scale, stage.norm.alike, stage.norm.own, stage.norm.faint)


def _picked(part: Real, left: int, own: tuple[tuple[int, int], ...], shape: tuple[int, int]) -> Real:
    """[x, y]: the hull over all cases with left(q) = x and own(x) = y; other points are arbitrary."""
    rows = part.over(tuple(axis for axis in range(part.lo.ndim) if axis != left))  # along x, or one number
    lo, hi = (np.broadcast_to(side.reshape(-1, 1), shape).copy() for side in (rows.lo, rows.hi))
    for axis, x in own:
        here = part if left < 0 else part[(slice(None),) * left + (x,)]
        place = axis - (0 <= left < axis)
        seen = here.over(tuple(other for other in range(here.lo.ndim) if other != place))
        lo[x], hi[x] = seen.lo, seen.hi
    return Real(lo, hi)
