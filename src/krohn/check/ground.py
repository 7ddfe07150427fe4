"""The ground of the checker: refusals with place, cause and advice; verdicts; the budget of work; real
numbers between two ends, and the one formula for rounding.

``Rounding`` says how far a computed sum can be off; ``Real`` is an interval of real numbers whose operations
round outwards, so that the checker's own float64 arithmetic is counted by the same formula.

Why one formula suffices. In a sum of n products, in any order, with or without fused multiply-add, each term
passes at most ``rounds`` roundings, each a factor between 1 - u and 1 + u: the sum is off by at most (1 +
u)^rounds - 1 times the sum of absolute values. Sums of floating-point numbers never underflow; products and
fused products do, by at most the least positive number each. No partial sum exceeds that total by more than
the error, so one range check covers all orders.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.errors import KrohnError, LimitExceeded


@dataclass(frozen=True)
class Verdict:
    """A rule's answer. ``certified``: right on every word, by at least ``margin`` in the logits; or a reason.

    Every rule set and every search of witnesses answers with it; ``krohn.proving.outcome.Verification`` is
    what a user is told.
    """

    certified: bool
    margin: float
    reason: str
    layer: int = 0  # where it stopped: from 1, the read-out comes after the last
    place: str = ""
    at: tuple[int, int] | None = (
        None  # of boxes: the one that fails, and the letter; −1 if it is the read-out
    )
    witness: Any = None  # what a search found, for the rules to check
    largest: int = 0  # words up to this length are proved by it, perhaps not all that were asked for


class Refused(KrohnError):
    """The proof does not go through. ``places`` runs from the network down to the head or unit."""

    def __init__(self, cause: str, advice: str = "") -> None:
        super().__init__(cause)
        self.cause, self.advice = cause, advice
        self.places: list[str] = []
        self.layer = 0

    def __str__(self) -> str:
        where = ", ".join(self.places)
        return (f"{where}: " if where else "") + self.cause + (f"; {self.advice}" if self.advice else "")


def require(condition: object, cause: str, advice: str = "") -> None:
    """Refuses unless every entry of the condition holds; a comparison with NaN does not hold."""
    if not np.asarray(condition).all():
        raise Refused(cause, advice)


@contextmanager
def inside(place: str, layer: int = 0) -> Iterator[None]:
    """Refusals from within name this place, and the number of the block."""
    try:
        yield
    except Refused as refusal:
        if refusal.places[:1] != [place]:
            refusal.places.insert(0, place)
        refusal.layer = layer or refusal.layer
        raise


def refusal_of(error: Exception) -> Verdict:
    """The verdict for an exception: refused, with the place and the cause."""
    if not isinstance(error, Refused):
        said = f"{type(error).__name__}: {error}"[:200]
        return Verdict(False, 0.0, f"the witness does not fit the network ({said})")
    return Verdict(False, 0.0, str(error), error.layer, error.places[0] if error.places else "")


class Work:
    """The array entries that may still be computed: the same limit on every machine, whatever its load."""

    def __init__(self, units: float, whole: "Work | None" = None) -> None:
        self._own, self._whole = float(units), whole

    def part(self, units: float) -> "Work":
        """A part of this budget: what it spends is spent here too."""
        return Work(units, self)

    @property
    def left(self) -> float:
        """What can still be spent."""
        return self._own if self._whole is None else min(self._own, self._whole.left)

    def spend(self, units: float, what: str) -> None:
        """Spends work; refuses if less is left."""
        self.foresee(units, what)
        self._own -= float(units)
        if self._whole is not None:
            self._whole.spend(units, what)

    def foresee(self, units: float, what: str) -> None:
        """Refuses early if work that is still to come exceeds the budget."""
        if not float(units) <= self.left:
            raise Refused(
                f"the proof needs more work than it is given ({what}: {units:.1e} entries of arrays, "
                f"{self.left:.1e} left)",
                "use a shorter length or a smaller automaton",
            )


MOST_BYTES = 800_000_000
"""Bytes that numbers may take at a time: a gigabyte, less what Python and its libraries take."""


def afford(entries: float, what: str, each: float = 8) -> None:
    """Refuses numbers that would take more memory than any file is given, before there is a verdict.

    ``each``: the bytes that an entry takes, with all arrays of this shape that are held beside it.
    """
    if not entries * each <= MOST_BYTES:
        raise LimitExceeded(
            f"{what} must take at most {MOST_BYTES:,} bytes of memory; {entries * each:,.0f} would be needed"
        )


Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

SAFE = 1.02  # sizes and errors are themselves evaluated with rounding
TOO_LARGE = "scale the weights down, or use a dtype with a larger range"


@dataclass(frozen=True)
class Rounding:
    """Rounding to nearest: ``bits`` of significand, the least positive and the largest number."""

    bits: int
    tiny: float
    largest: float

    @property
    def unit(self) -> float:
        """The largest relative error of one rounding."""
        return float(2.0**-self.bits)

    def cast(self, values: Array) -> Array:
        """Each number rounded, ties to even; what is too large becomes infinite."""
        with np.errstate(over="ignore"):
            if own := {24: np.float32, 53: np.float64}.get(self.bits):  # formats of the processor
                return values.astype(own).astype(np.float64)
        _, exponent = np.frexp(values)
        # Numbers of this size are multiples of ``grain``; subnormal ones are multiples of ``tiny``.
        grain = np.maximum(np.ldexp(1.0, exponent - self.bits), self.tiny)
        out: Array = np.rint(values / grain) * grain
        return np.where(np.abs(out) > self.largest, np.copysign(np.inf, values), out)

    def holds(self, unit: Array | float, size: Array) -> Flags:
        """Whether every multiple of ``unit``, a power of two, up to ``size`` is a number of this format."""
        # A multiple that has no more bits than the significand, and none below the least positive number. (An
        # infinite unit divides 0 alone, or comes from one that was too large: then nothing is known.)
        some, step = size == 0, np.where(np.isinf(unit), 0.0, unit)
        out: Flags = some | (step >= self.tiny) & (size < step * 2.0**self.bits)
        return out

    def error(self, size: Array, rounds: Array | float, faint: Array | float) -> Array:
        """How far a computed sum, and its evaluation here, can be off; refuses where it can overflow."""
        count = np.asarray(rounds, dtype=np.float64)
        # The network's roundings, and those of this checker in the same sum, in ``size`` and in the bound.
        relative = SAFE * (np.expm1(count * np.log1p(self.unit)) + (count + 3) * OWN.unit)
        off: Array = relative * size + np.asarray(faint) * (self.tiny + OWN.tiny)
        # Where nothing is rounded the error is exactly 0, so that a number that is known stays known.
        if count.ndim or not count > 0:
            off = np.where((count > 0) | (np.asarray(faint) > 0), off, 0.0)
        require(size + off < self.largest, "a sum can overflow", TOO_LARGE)
        return off


OWN = Rounding(53, 2.0**-1074, 1.79e308)


@dataclass(frozen=True)
class Real:
    """Intervals lo <= x <= hi of real numbers, elementwise. Every operation rounds outwards."""

    lo: Array
    hi: Array

    @property
    def size(self) -> Array:
        """The largest absolute value."""
        return np.maximum(np.abs(self.lo), np.abs(self.hi))

    @property
    def known(self) -> Flags:
        """Where the interval is one number."""
        out: Flags = self.lo == self.hi
        return out

    def __getitem__(self, key: Any) -> "Real":
        return Real(self.lo[key], self.hi[key])

    def __len__(self) -> int:
        return len(self.lo)

    def __add__(self, other: "Real") -> "Real":
        return Real(_sum(self.lo, other.lo, -np.inf), _sum(self.hi, other.hi, np.inf))

    def __neg__(self) -> "Real":
        return Real(-self.hi, -self.lo)

    def __sub__(self, other: "Real") -> "Real":
        return self + -other

    def __mul__(self, other: "Real") -> "Real":
        # A product is linear in each factor, so its extremes are at the corners.
        ends = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        low = np.minimum(np.minimum(ends[0], ends[1]), np.minimum(ends[2], ends[3]))
        high = np.maximum(np.maximum(ends[0], ends[1]), np.maximum(ends[2], ends[3]))
        exact = plain(self) | plain(other)
        return Real(_step_out(low, ~exact, -np.inf), _step_out(high, ~exact, np.inf))

    def __matmul__(self, matrix: Array) -> "Real":
        lo, hi = ends(self, matrix)
        rounds, faint = terms_of(self.size, matrix)
        off = OWN.error(self.size @ np.abs(matrix), rounds, faint)
        return Real(lo - off, hi + off).outward(off)

    def outward(self, where: Array) -> "Real":
        """One more step outwards where ``where`` is not 0: the ends were computed by a subtraction."""
        some = where != 0
        return Real(_step_out(self.lo, some, -np.inf), _step_out(self.hi, some, np.inf))

    def widen(self, slack: Array) -> "Real":
        """Real numbers within ``slack`` of these."""
        return self + Real(-slack, np.broadcast_to(slack, np.shape(slack)))

    def total(self, axis: int) -> "Real":
        """The sum along an axis."""
        count = float(self.lo.shape[axis])
        off = OWN.error(self.size.sum(axis=axis), max(count - 1, 0), 0.0)
        return Real(self.lo.sum(axis=axis) - off, self.hi.sum(axis=axis) + off).outward(off)

    def over(self, axis: int | tuple[int, ...]) -> "Real":
        """The hull along an axis."""
        return Real(self.lo.min(axis=axis), self.hi.max(axis=axis))

    def positive(self) -> "Real":
        """max(x, 0)."""
        return Real(np.maximum(self.lo, 0.0), np.maximum(self.hi, 0.0))

    def reshape(self, *shape: int) -> "Real":
        """The same entries in another shape."""
        return Real(self.lo.reshape(shape), self.hi.reshape(shape))

    def spread(self, *shape: int) -> "Real":
        """Repeated to a shape."""
        return Real(np.broadcast_to(self.lo, shape), np.broadcast_to(self.hi, shape))

    def or_in(self, other: "Real") -> "Real":
        """The hull of two intervals: for numbers that are in one of them."""
        return Real(np.minimum(self.lo, other.lo), np.maximum(self.hi, other.hi))

    def within(self, other: "Real") -> "Real":
        """The intersection of two intervals for the same number."""
        return Real(np.maximum(self.lo, other.lo), np.minimum(self.hi, other.hi))

    def where(self, choose: Flags, other: "Real") -> "Real":
        """These entries where ``choose`` holds, the other's elsewhere."""
        return Real(np.where(choose, self.lo, other.lo), np.where(choose, self.hi, other.hi))


def point(values: npt.ArrayLike) -> Real:
    """Numbers that are known."""
    known = np.asarray(values, dtype=np.float64)
    return Real(known, known)


def between(low: npt.ArrayLike, high: npt.ArrayLike) -> Real:
    """An interval from two ends."""
    return Real(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))


def hull(rows: Real, labels: Integers) -> Real:
    """One row per label 0, 1, …: the hull of the rows with that label. A label that no row has is refused."""
    order, first = runs_of(labels)
    require(len(first) == int(labels.max(initial=-1)) + 1, "witness: a label is left out")
    ordered = rows[order]
    if len(first) == len(order):
        return ordered
    return Real(np.minimum.reduceat(ordered.lo, first), np.maximum.reduceat(ordered.hi, first))


def runs_of(labels: Integers) -> tuple[Integers, Integers]:
    """An order in which equal labels stand together, and where each run of them begins."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    return order, np.flatnonzero(np.r_[len(order) > 0, ordered[1:] != ordered[:-1]][: len(order)])


def distinct(rows: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Integers]:
    """The different rows in order, and the number of each row among them."""
    order = np.lexsort([np.arange(len(rows)), *rows.T[::-1]])
    ordered, first, number = rows[order], np.ones(len(rows), dtype=bool), np.empty(len(rows), dtype=np.int64)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    number[order] = np.cumsum(first) - 1
    return ordered[first], number


def join(parts: Sequence[Real], axis: int = 0) -> Real:
    """Concatenation along an axis."""
    return Real(np.concatenate([p.lo for p in parts], axis), np.concatenate([p.hi for p in parts], axis))


def _sum(left: Array, right: Array, towards: float) -> Array:
    """left + right, one float further out where rounding went the wrong way (Knuth's two-sum)."""
    total = left + right
    part = total - left
    missed = (left - (total - part)) + (right - part)
    enough = missed >= 0 if towards < 0 else missed <= 0  # false where something is NaN
    return _step_out(total, ~enough, towards)


def _step_out(values: Array, some: Flags, towards: float) -> Array:
    """The next float in a direction, where ``some`` holds."""
    if not some.any():
        return values
    shape = np.broadcast_shapes(np.shape(values), some.shape)
    if some.all():
        return np.asarray(np.nextafter(np.broadcast_to(values, shape), towards))
    out: Array = np.nextafter(values, towards, out=np.broadcast_to(values, shape).copy(), where=some)
    return out


def total_of(parts: Sequence[Real]) -> Real:
    """A sum of intervals."""
    made = parts[0]
    for part in parts[1:]:
        made = made + part
    return made


def plain(factor: Real) -> Flags:
    """Factors 0, 1 and −1 multiply exactly."""
    out: Flags = factor.known & ((factor.lo == 0) | (np.abs(factor.lo) == 1))
    return out


def ends(box: Real, matrix: Array) -> tuple[Array, Array]:
    """Both ends of x @ matrix, as float64 happens to round them."""
    up, down = np.maximum(matrix, 0), np.minimum(matrix, 0)
    return box.lo @ up + box.hi @ down, box.hi @ up + box.lo @ down


def terms_of(sizes: Array, matrix: Array, offset: Array | float = 0.0) -> tuple[Array, Array]:
    """Roundings that a term of x @ matrix + offset passes, and how many products may underflow."""
    # A product with a power of two is not rounded, and if that is at least 1 it cannot underflow either. A
    # term that is 0 changes no partial sum: n others make n − 1 additions.
    used, there = (sizes != 0).astype(np.float64), matrix != 0
    odd = np.abs(np.frexp(matrix)[0]) != 0.5
    faint = used @ ((odd | (np.abs(matrix) < 1)) & there).astype(np.float64)
    count = used @ there.astype(np.float64) + (np.asarray(offset) != 0)
    rounds = np.maximum(count - 1, 0) + (used @ (odd & there).astype(np.float64) > 0)
    return rounds, faint


FRACTION = (1 << 52) - 1  # of a float64: what is stored of its significand


def lowest_bit(numbers: Array) -> Array:
    """The largest power of two that divides each number; infinity for 0."""
    # ``bits & (bits - 1)`` lacks the lowest bit of the significand; a power of two has the hidden one alone.
    bits = np.asarray(numbers, np.float64).view(np.int64)
    rest = np.where(bits & FRACTION, bits & (bits - 1), 0).view(np.float64)
    bit = np.abs(numbers - rest)
    return np.where(bit == 0, np.inf, bit)


def dividing(unit: Array, matrix: Array) -> Array:
    """Per column of x @ matrix: a power of two dividing all terms if x[i] is a multiple of ``unit[i]``."""
    there = matrix != 0
    terms = np.where(there, unit[:, None] * np.where(there, lowest_bit(matrix), 1.0), np.inf)
    out: Array = terms.min(axis=0, initial=np.inf)
    return out


def affine_error(size: Array, terms: int) -> Array:
    """The rounding error of this checker in sums of ``terms`` terms of this total size, kept as forms."""
    parts = float(terms + 2)
    return OWN.error(size, parts, parts)


def sum_up(parts: Array, *others: Array) -> Array:
    """An upper bound on the sum of absolute values along the first axis, and of ``others``."""
    total: Array = np.abs(parts).sum(axis=0)
    for other in others:
        total = total + np.abs(other)
    return total + OWN.error(total, float(len(parts) + len(others) + 1), 0.0)


def ample(size: Array) -> Array:
    """An upper bound for a size that was computed with a few roundings."""
    return size + 64 * OWN.unit * size


def rivals(before: Array, after: Array) -> Array:
    """Upper bounds on log(Σ_{j<i} exp before[j] + Σ_{j>i} exp after[j]) for every i, along the last axis."""

    def sums(scores: Array) -> Array:
        shifted = np.concatenate([np.full((*scores.shape[:-1], 1), -np.inf), scores[..., :-1]], axis=-1)
        out: Array = np.logaddexp.accumulate(shifted, axis=-1)
        return out

    # Each of the n steps of ``accumulate`` errs by a few roundings of numbers no larger than ``far`` + log n.
    far = max(np.abs(np.where(np.isfinite(side), side, 0.0)).max(initial=0.0) for side in (before, after))
    both = np.logaddexp(sums(before), sums(after[..., ::-1])[..., ::-1])
    out: Array = both + 16 * (before.shape[-1] + 4) * OWN.unit * (1 + far)
    return out


def leak_of(lead: float, size: float) -> float:
    """Σ exp(−gap), rounded up, where scores of this size trail by ``lead`` altogether."""
    return float(ample(np.exp(np.minimum(-lead, 1.0) + 16 * OWN.unit * (1 + size))))
