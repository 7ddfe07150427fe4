"""Hidden units that read an unbounded prefix sum: tabulated over its whole range, then reduced to a residue.

Units that see the counters through the same combination Y = Σ aₖ Zₖ form a group. What the group sends on
is a function of Y and of the position's class; it is evaluated at every Y that words of length ≤ T can
reach. Where it repeats with a period m, the class and Y mod m say all there is to know (Lemma "modular
counter"); where it is constant beyond two ends, Y clamped to them does; where it is linear, the output is a
prefix sum again.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.certify.arithmetic import OWN, SAFE, Arithmetic, Array, guarded
from krohn.certify.findings import Record
from krohn.certify.folds import Fold, find_fold
from krohn.certify.hidden import Affine, activate, apply
from krohn.certify.machine import Integers, Machine
from krohn.certify.stream import Stream, cluster

MAX_TABLE = 1 << 27
MAX_SHARED = 1 << 24
FEW = 9
"""Fewer values than this are told apart one by one, never fitted by a line."""


@dataclass(frozen=True, eq=False)
class Group:
    """Units that read Y = Σ ``factors[k]·Z_k``, unit j with slope ``slopes[j]``."""

    units: Integers
    factors: Integers
    slopes: Array

    @property
    def key(self) -> tuple[int, ...]:
        """The combination, to tell groups that read the same sum."""
        return tuple(self.factors.tolist())


@dataclass(frozen=True, eq=False)
class Table:
    """A group's units at one layer for every narrow kind and every Y: rows ``[kind · Y]`` of ``out``.

    ``kind_of[c]`` is the kind of class c, ``valid[kind, Y]`` which sums occur, ``low`` the least of them.
    """

    group: Group
    units: Integers
    out: Affine
    kind_of: Integers
    valid: npt.NDArray[np.bool_]
    low: int


@dataclass(frozen=True, eq=False)
class Contribution:
    """What a group adds to sums of a later layer per kind and folded Y: affine part, sizes for rounding.

    Arrays are ``[kind, folded Y, sum]``; ``slope`` is what a unit of Y adds besides; ``whole`` is Y's range.
    """

    group: Group
    fold: Fold
    whole: Fold
    kind_of: Integers
    centre: Array
    tied: Array  # symbols × kind × residue × sum
    loose: Array
    high: Array
    low: Array
    terms: Array
    slope: Array


def group_units(wide: Array, record: Record) -> list[Group]:
    """Groups by direction; ``wide[unit, counter]`` is the coefficient, 0 for units that see no counter."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for unit in np.flatnonzero(wide.any(axis=1)):
        groups.setdefault(_factors(wide[unit], record), []).append(int(unit))
    made = []
    for factors, units in groups.items():
        first = next(k for k, a in enumerate(factors) if a)
        slopes = wide[units, first] / factors[first]
        made.append(Group(np.array(units), np.array(factors, dtype=np.int64), slopes))
    return made


def _factors(row: Array, record: Record) -> tuple[int, ...]:
    """The direction as small integers, the first not zero positive."""
    used = np.abs(row[row != 0])
    for divisor in range(1, 65):
        unit = used.min() / divisor
        multiples = np.rint(row / unit)
        if np.abs(row / unit - multiples).max() < 1e-6 * np.abs(multiples).max():
            whole = multiples.astype(np.int64)
            whole //= np.gcd.reduce(whole)
            sign = 1 if whole[np.flatnonzero(whole)[0]] > 0 else -1
            return tuple(int(a) for a in sign * whole)
    raise record.refuse("MLP", "a unit mixes prefix sums without a common measure")


def ranges(machine: Machine, classes: int, group: Group, length: int) -> Integers:
    """``[class, 2]``: ends of Y where each class stands: its own step plus those of ≤ T − 1 others."""
    steps = machine.steps @ group.factors
    low, high = (length - 1) * min(0, int(steps.min())), (length - 1) * max(0, int(steps.max()))
    far = np.iinfo(np.int64).max
    ends = np.tile(np.array([far, -far]), (classes, 1))
    np.minimum.at(ends[:, 0], machine.shown.reshape(-1), steps.reshape(-1))
    np.maximum.at(ends[:, 1], machine.shown.reshape(-1), steps.reshape(-1))
    shown = ends[:, 0] <= ends[:, 1]
    return np.where(shown[:, None], ends + np.array([low, high]), 0)


def tabulate(
    group: Group,
    stream: Stream,
    before: Affine,
    sizes: Array,
    terms: Array,
    bias: Array,
    codes: Integers,
    arith: Arithmetic,
    record: Record,
) -> Table:
    """The group's first units. ``before`` are their inputs without counters, ``sizes`` what all their terms
    add up to, ``terms`` how many there are (0: at most two, and the product is exact).
    """
    units = group.units
    centre, kind_of, drift = cluster(before.centre[:, units])
    ends = ranges(stream.machine, len(stream.nominal), group, stream.length)
    low, high = int(ends[:, 0].min()), int(ends[:, 1].max())
    count = high - low + 1
    if len(centre) * count * len(units) * (before.tied.shape[0] + 5) > MAX_TABLE:
        raise record.refuse("MLP", f"a prefix sum with {count:,} values is too much to tabulate")
    valid = np.zeros((len(centre), count), dtype=bool)
    for number, kind in enumerate(kind_of):
        valid[kind, ends[number, 0] - low : ends[number, 1] - low + 1] = True
    sums = np.arange(low, high + 1)
    flat = (centre[:, None, :] + sums[None, :, None] * group.slopes).reshape(-1, len(units))
    slack = np.abs(before.tied[:, :, units]).sum(axis=0) + before.loose[:, units] + drift
    result = np.abs(flat) + slack.max(axis=0)
    rounding = SAFE * arith.inner * np.where(terms[units] > 0, (terms[units] + 1) * sizes[units], result)
    rounding = rounding + SAFE * (terms[units] + 4) * OWN * sizes[units] + 4 * arith.tiny
    if arith.half:  # the product is rounded, then its sum with the bias
        product = np.abs(flat - bias[units]) * (bias[units] != 0)
        rounding = rounding + SAFE * arith.unit * (2 * result + product) + 2 * arith.tiny
    rounding = guarded(arith, np.broadcast_to(sizes[units], rounding.shape), rounding)
    loose = before.loose[:, units].max(axis=0) + drift + rounding
    out = activate(Affine(flat, before.tied[:, :, units], loose), codes[units], arith)
    return Table(group, units, out, kind_of, valid, low)


def advance(
    table: Table, units: Integers, weight: Array, bias: Array, codes: Integers, arith: Arithmetic
) -> Table:
    """The units of the next layer that read nothing but the group's."""
    taken = weight[table.units][:, units]
    share = len(table.out.centre) * len(units) * len(units) < MAX_SHARED
    out = activate(apply(table.out, taken, bias[units], arith, share=share), codes[units], arith)
    return Table(table.group, units, out, table.kind_of, table.valid, table.low)


def contribute(table: Table, symbols: int, ways: Array, last: bool, record: Record) -> Contribution:
    """The sums ``ways`` over the group's units, reduced to residues; only the last layer may pass Y on."""
    out, valid, weight = table.out, table.valid, ways[table.units]
    shape = (*valid.shape, weight.shape[1])
    centre = (out.centre @ weight).reshape(shape)
    slope = _slopes(centre, valid) if last else np.zeros(shape[2])
    sums = np.arange(table.low, table.low + shape[1])
    flat = centre - sums[None, :, None] * slope
    fold = find_fold(flat, valid, table.low)
    whole = Fold(0, min(0, table.low), max(0, table.low + shape[1] - 1))  # before the first letter Y is 0
    what = f"only modulo {fold.period}" if fold.period else f"between {fold.low} and {fold.high}"
    record.note("residue", f"{len(table.units)} units depend on a prefix sum {what}")
    tied = np.broadcast_to(out.tied @ weight, (len(out.tied), shape[0] * shape[1], shape[2]))
    own = np.abs(tied[symbols:]).sum(axis=0)
    tied = tied[:symbols].reshape(symbols, *shape)
    loose = (out.loose @ np.abs(weight) + own).reshape(shape)
    residue = fold.index(sums)
    pick = np.zeros((shape[0], fold.size), dtype=np.int64)
    for kind in range(shape[0]):
        pick[kind, residue[valid[kind]][::-1]] = np.flatnonzero(valid[kind])[::-1]
    rows = np.arange(shape[0])[:, None]
    first, first_tied = flat[rows, pick], tied[:, rows, pick]
    drift = np.abs(flat - first[:, residue]) + np.abs(tied - first_tied[:, :, residue]).sum(axis=0) + loose

    def worst(values: Array) -> Array:
        held = np.zeros((shape[0], fold.size, shape[2]))
        given = np.where(valid[:, :, None], values.reshape(shape), 0.0)
        for r in range(fold.size):
            held[:, r] = given[:, residue == r].max(axis=1, initial=0.0)
        return held

    size, radius = np.abs(out.centre), out.radius()
    high = size @ np.maximum(weight, 0) + radius @ np.abs(weight)
    low = size @ np.maximum(-weight, 0) + radius @ np.abs(weight)
    terms = ((out.centre != 0) | (radius != 0)).astype(np.float64) @ (weight != 0).astype(np.float64)
    bounds = (worst(drift), worst(high), worst(low), worst(terms))
    return Contribution(table.group, fold, whole, table.kind_of, first, first_tied, *bounds, slope)


def _slopes(centre: Array, valid: npt.NDArray[np.bool_]) -> Array:
    """Slope of the columns that are linear in Y and not constant; 0 for the others."""
    pairs = valid[:, 1:] & valid[:, :-1]
    if valid.shape[1] < FEW:
        return np.zeros(centre.shape[2])
    changes = (centre[:, 1:] - centre[:, :-1])[pairs]
    mean = changes.mean(axis=0)
    span = np.abs(centre).max(axis=(0, 1)) + 1e-300
    straight = np.abs(changes - mean).max(axis=0) < 1e-9 * span
    return np.where(straight & (np.abs(mean) > 1e-6 * span / centre.shape[1]), mean, 0.0)
