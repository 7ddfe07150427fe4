"""Everything that a device may compute for a recurrent network, number by number.

``Sums`` knows a format and an order of adding. In any order, fused or not, a number is the interval that
holds all results; it is one point where nothing can be rounded. From left to right every sum of points is a
point: each product is rounded, then added to the sum so far, and nothing is fused. Every method refuses
what can overflow in any partial sum, so whatever a layer computes, read or not, is finite.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from krohn.check.arithmetic.format import FORMATS, Format, whole
from krohn.check.claim import ANY, LEFT
from krohn.check.ground import (
    Array,
    Flags,
    Real,
    Work,
    between,
    distinct,
    join,
    lowest_bit,
    plain,
    point,
    require,
    total_of,
)

NO_UNIT = 1 / 1e300
"""The unit of numbers without a known one: smaller than every positive float32. Not 0: a column of zeros,
whose unit is infinite, is exact whatever it reads.
"""
CALL, ENTRY = 3e5, 50
"""Work of an operation on arrays, however small, and of each entry; a unit is one or two nanoseconds."""
MAX_RECORDED = 2_000
"""Most distinct steps of a memory that are recorded."""


@dataclass
class Notes:
    """The effect of letters on the memory of each mixer, one row per step, for ``chunks``.

    ``exact``: every number was a point; ``sizes``: the greatest number of the memories and the largest power
    of two that divides them all.
    """

    exact: bool = True
    steps: dict[str, dict[bytes, Array]] = field(default_factory=dict)
    sizes: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, name: str, memory: Real, rows: Sequence[Real]) -> None:
        """Notes these memories, which steps begin or end with, and the steps in ``rows``, side by side."""
        self.exact &= bool(memory.known.all())
        if rows:
            whole = beside(rows)
            self.exact &= bool(whole.known.all())
            known = self.steps.setdefault(name, {})
            if len(known) <= MAX_RECORDED:
                known.update((row.tobytes(), row) for row in distinct(whole.lo + 0.0)[0])
        top, unit = self.sizes.get(name, (0.0, np.inf))
        units = lowest_bit(memory.lo).min(initial=np.inf)
        self.sizes[name] = float(np.fmax(top, memory.size.max(initial=0))), float(np.fmin(unit, units))


@dataclass(frozen=True)
class Sums:
    """The operations of layers on intervals of computed numbers."""

    fmt: Format
    order: str = ANY
    notes: Notes | None = None
    budget: Work | None = None

    def spend(self, entries: float, calls: float = 1, each: float = ENTRY) -> None:
        """Charges operations on so many entries to the budget, if there is one."""
        if self.budget is not None:
            self.budget.spend(CALL * calls + each * entries, "numbers of a layer")

    @property
    def wide(self) -> "Sums":
        """The arithmetic of memories: never a half type."""
        return Sums(FORMATS["float32"], self.order, budget=self.budget) if self.fmt.coarse else self

    @property
    def ordered(self) -> bool:
        """Whether sums of points are points; half types are proved in any order only."""
        return self.order == LEFT and not self.fmt.coarse

    def note(self, name: str, memory: Real, *rows: Real) -> None:
        """Records what letters do to a memory, if there are notes."""
        if self.notes is not None:
            self.spend(memory.lo.size + sum(part.lo.size for part in rows))
            self.notes.take(name, memory, rows)

    def cast(self, x: Real) -> Real:
        """Numbers as a tensor of the format holds them."""
        return self.fmt.stored(whole(x)).part

    def product(self, x: Real, weight: Array, bias: Array | None = None) -> Real:
        """x @ weight + bias for rows x."""
        self.spend(len(x) * sum(weight.shape))
        self.spend(len(x) * float(weight.size), 0, 1)
        offset = np.zeros(weight.shape[1]) if bias is None else bias
        exact, size = self._exact(x, weight, offset)
        # Asked for the refusal alone: no partial sum of this size may overflow.
        self.fmt.inner.error(size, 0.0, 0.0)
        made = point(x.lo @ weight + offset)
        if exact.all():
            return self.cast(made)
        made = made.where(exact, self.fmt.linear(whole(x), weight, bias).part)
        return made if not self.ordered else self._row_by_row(made, x, weight, offset)

    def _exact(self, x: Real, weight: Array, offset: Array) -> tuple[Flags, Array]:
        """Where no partial sum can be rounded, in whatever order; and the size of all terms together."""
        # Every partial sum is a multiple of the unit, and none is larger than all terms together.
        size = x.size @ np.abs(weight) + np.abs(offset)
        unit = unit_of(np.where(x.known, lowest_bit(x.lo), NO_UNIT), weight, offset)
        return self.fmt.outer.holds(unit, size), size

    def _row_by_row(self, made: Real, x: Real, weight: Array, offset: Array) -> Real:
        """The sums of points that are not exact, from left to right."""
        columns = np.flatnonzero(~made.known.all(axis=0))
        narrow, total = weight[:, columns], np.zeros((len(x), len(columns)))
        self.spend(len(x) * float(narrow.size), len(narrow))
        for row, values in zip(narrow, x.lo.T, strict=True):
            total = self.fmt.inner.cast(total + self.fmt.inner.cast(values[:, None] * row))
        total = self.fmt.inner.cast(total + offset[columns])
        # A sum is a point only if no unknown number enters it.
        fixed = (~x.known).astype(np.float64) @ (narrow != 0).astype(np.float64) == 0
        lo, hi = made.lo.copy(), made.hi.copy()
        lo[:, columns] = np.where(fixed, total, lo[:, columns])
        hi[:, columns] = np.where(fixed, total, hi[:, columns])
        return Real(lo, hi)

    def products(self, *parts: tuple[Real, Array, Array | None]) -> Real:
        """Σ x @ weight + bias: one sum, which a fused cell does not store, or parts and biases."""
        (row, weight, bias), *more = parts
        if more:
            biases = [bias[None] for _, _, bias in parts if bias is not None]
            row = beside([*(x for x, _, _ in parts), *(point(np.ones((1, 1))) for _ in biases)])
            weight, bias = np.concatenate([*(weight for _, weight, _ in parts), *biases]), None
        made = self.product(row, weight, bias)
        if not self.fmt.coarse:
            return made
        exact, size = self._exact(row, weight, np.zeros(weight.shape[1]) if bias is None else bias)
        return made.widen(np.where(exact, 0.0, self.fmt.off_stores(size, 2.0 * len(parts), len(parts))))

    def dot(self, x: Real, y: Real, axis: int) -> Real:
        """Σ x·y along an axis."""
        shape = np.broadcast_shapes(x.lo.shape, y.lo.shape)
        self.spend(float(np.prod(shape)))
        x, y = x.spread(*shape), y.spread(*shape)
        terms = x * y
        size, some = terms.size.sum(axis=axis), terms.size != 0
        count, rounded = some.sum(axis=axis), (some & ~plain(x) & ~plain(y)).sum(axis=axis)
        off = self.fmt.inner.error(size, np.maximum(count - 1, 0) + (rounded > 0), rounded)
        known = ((x.known & y.known) | ~some).all(axis=axis)
        unit = np.where(some, lowest_bit(x.lo) * lowest_bit(y.lo), np.inf).min(axis=axis, initial=np.inf)
        # One term, times 0, 1 or −1, is only copied; known terms on a common grid add up exactly.
        exact, single = known & self.fmt.outer.holds(unit, size), (count <= 1) & (rounded == 0)
        made = terms.total(axis).widen(off + self.fmt.off_stores(size, count, count))
        made = Real(terms.lo.sum(axis=axis), terms.hi.sum(axis=axis)).where(single, made)
        made = point((x.lo * y.lo).sum(axis=axis)).where(exact, made)
        if self.ordered and not made.known.all():
            made = point(self._left(x.lo * y.lo, axis)).where(known, made)
        return self.cast(made)

    def _left(self, exact: Array, axis: int) -> Array:
        terms = np.moveaxis(self.fmt.inner.cast(exact), axis, 0)
        total = np.zeros(terms.shape[1:])
        self.spend(terms.size, len(terms))
        for term in terms:
            total = self.fmt.inner.cast(total + term)
        return total

    def total(self, *pairs: tuple[Real, Real]) -> Real:
        """Σ x·y over a few pairs, entry by entry."""
        shape = np.broadcast_shapes(*(side.lo.shape for pair in pairs for side in pair))
        left, right = (join([s.spread(1, *shape) for s in side]) for side in zip(*pairs, strict=True))
        return self.dot(left, right, 0)

    def plus(self, x: Real, y: Real) -> Real:
        """x + y."""
        self.spend(x.lo.size)
        made = self.fmt.add(whole(x), whole(y)).part
        if self.ordered:
            made = point(self.fmt.inner.cast(x.lo + y.lo)).where(x.known & y.known, made)
        return made

    def beside(self, parts: Sequence[Real]) -> Real:
        """Columns side by side."""
        return beside(parts)

    def either(self, first: Real, second: Real) -> Real:
        """A number that is computed by one of two formulas."""
        return first.or_in(second)

    def sigmoid(self, x: Real) -> Real:
        """1 / (1 + exp(−x)) by a library."""
        return self.cast(self.fmt.sigmoid(x))

    def tanh(self, x: Real) -> Real:
        """By a library."""
        return self.cast(self.fmt.tanh(x))

    def gate(self, x: Real) -> Real:
        """The sigmoid, perhaps as exp of its logarithm."""
        return self.cast(self.fmt.sigmoid(x, half=False))

    def normalise(self, keys: Real) -> Real:
        """Keys along the last axis divided by their norms, which must be exactly 0 or 1."""
        square = self.dot(keys, keys, -1)
        require(keys.known, "a key is not known to the last bit")
        require(square.known & np.isin(square.lo, (0.0, 1.0)), "the length of a key is not exactly 0 or 1")
        return keys

    def disc(self, x: Real, y: Real) -> tuple[Real, Real]:
        """z / max(1, |z|) for z = x + iy, in parts; on an axis a quarter turn is exact."""
        square = self.total((x, x), (y, y))
        # max(1, |z|) rises with |z|², so its ends give the ends of the quotient.
        low, high = (np.sqrt(np.maximum(end, 1.0)) for end in (square.lo, square.hi))
        return self._quotient(x, low, high, square), self._quotient(y, low, high, square)

    def _quotient(self, x: Real, low: Array, high: Array, square: Real) -> Real:
        ends = [end / root for end in (x.lo, x.hi) for root in (low, high)]
        made = between(np.minimum.reduce(ends), np.maximum.reduce(ends))
        # ``square`` has its roundings; then come the root and the quotient, and 4 are to spare.
        made = made.widen(self.fmt.inner.error(made.size, 6.0, 2.0))
        value, root = ends[0], low
        exact = x.known & square.known & (root * root == np.maximum(square.lo, 1.0)) & (value * root == x.lo)
        exact &= (self.fmt.inner.cast(root) == root) & (self.fmt.inner.cast(value) == value)
        made = point(value).where(exact, made)
        if self.ordered:
            cast = self.fmt.inner.cast
            made = point(cast(x.lo / cast(root))).where(x.known & square.known, made)
        return made

    def mixed(self, share: Real, new: Real, old: Real) -> Real:
        """(1 − s)·new + s·old, or new + s·(old − new).

        Linear in s, and rising in new and old where 0 ≤ s ≤ 1; an s beyond by d moves it by d·|old − new|.
        """
        inside = Real(np.clip(share.lo, 0.0, 1.0), np.clip(share.hi, 0.0, 1.0))
        ends = [point(inside.lo), point(inside.hi)]
        low, high = (total_of([end * old, (point(1.0) - end) * new]) for end in ends)
        size = new.size + old.size
        beyond = np.maximum(inside.lo - share.lo, share.hi - inside.hi)
        # Three roundings in a row, in both formulas: a difference, a product, a sum. In the second the terms
        # are new, s·old and s·new, twice ``size`` at most.
        off = self.fmt.inner.error(size, 6.0, 6.0) + 2 * beyond * size
        # 1 − s and both terms are computed; the other formula computes fewer.
        made = low.or_in(high).widen(off + self.fmt.off_stores(size, 2.0, 3.0))
        kept = old.or_in(self.plus(new, self.plus(old, -new)))
        made = kept.where(share.known & (share.lo == 1), made)
        return self.cast(new.where(share.known & (share.lo == 0), made))


def unit_of(grain: Array, weight: Array, offset: Array) -> Array:
    """For each entry of x @ weight + offset a power of two that divides all its terms, if x is made of
    multiples of ``grain``: the least of its row times the least bit of its column, or that of the offset.
    """
    least = grain.min(axis=1, initial=np.inf)[:, None]
    out: Array = np.minimum(least * lowest_bit(weight).min(axis=0, initial=np.inf), lowest_bit(offset))
    return out


def beside(parts: Sequence[Real]) -> Real:
    """Columns side by side; a single row is repeated as often as needed."""
    rows = max(len(part) for part in parts)
    return join([part.spread(rows, part.lo.shape[1]) for part in parts], axis=1)


def split(x: Real, *places: int) -> list[Real]:
    """Columns in parts that end at these places."""
    sides = (np.split(end, places, axis=1) for end in (x.lo, x.hi))
    return [Real(lo, hi) for lo, hi in zip(*sides, strict=True)]
