"""Heads that return when a place was last visited (Theorem 3 as printed): position codes as values.

Scores must be a part for the classes of query and key plus a part for the key's position. Then the head
finds, among the visited places between its own and the one it looks for, the nearest to that, and of its
visits the latest; and what it returns is the code of that position.
"""

from dataclasses import dataclass

import numpy as np

from krohn.certify.arithmetic import EXP, Arithmetic, Array, linear
from krohn.certify.certificate import Record
from krohn.certify.scores import Scores
from krohn.certify.stream import Integers, Stream
from krohn.certify.walks import Walk
from krohn.network.transformer import Head


@dataclass(frozen=True, eq=False)
class VisitHead:
    """Looks for the place ``offset`` away and writes the code of its last visit into ``channel``."""

    offset: int
    channel: int
    codes: Array
    error: float


def visit_head(
    stream: Stream, head: Head, scores: Scores, walk: Walk, arith: Arithmetic, record: Record
) -> VisitHead:
    """Proves what the head does; refuses it otherwise."""
    tau = stream.num_padding
    if not scores.seen[0, tau] or scores.turn_q.any():
        raise record.refuse("visits", "a head must see its own position and ask the same at every one")
    own = _own_places(scores, walk, record)
    offset, apart = _offset(scores, walk, own, record)
    ages = scores.queries @ scores.turn_k.T
    if (np.diff(ages, axis=1) <= 0).any():
        raise record.refuse("visits", "later visits do not score higher")
    codes, stride, size, wrong = _codes(stream, head, arith, record)
    error = 0.0
    for age in np.unique(ages, axis=0):
        target = np.where(scores.seen, age, -np.inf)
        after = target - apart + 2 * scores.common
        leak = leak_of(target, target, after, scores.error - scores.common, arith)
        needed = 2 * (scores.error - scores.common)
        record.require("visits", needed, leak.gap, leak.lead_of(f"the last visit {offset:+d} away"))
        record.require("memory leak", leak.total, 0.5, "weight off the wanted position")
        copied = copied_error(leak, 2 * wrong, stride, size, scores.seen.shape[1], arith)
        error = max(error, float((wrong + copied)[0]))
    target_channel = np.flatnonzero(head.output[0])
    if len(target_channel) != 1 or head.output[0, target_channel[0]] != 1.0:
        raise record.refuse("visits", "a head must write what it found as it is, into one channel")
    return VisitHead(offset, int(target_channel[0]), codes, error)


def _own_places(scores: Scores, walk: Walk, record: Record) -> Integers:
    """The place of every query class."""
    own = np.full(len(scores.queries), -1, dtype=np.int64)
    own[scores.query_of] = walk.place[scores.key_of]
    if (own[scores.query_of] != walk.place[scores.key_of]).any():
        raise record.refuse("visits", "a query does not say which place it is at")
    return own


def _offset(scores: Scores, walk: Walk, own: Integers, record: Record) -> tuple[int, float]:
    """Which place is looked for, and by how much a place beats those that count less."""
    at = np.argsort(walk.place)
    worth = (scores.queries @ scores.keys.T)[:, at]
    # Near the ends of the line the place may not be there; then no word gets there either.
    away = worth.argmax(axis=1) - own
    offset = int(away[np.abs(away).argmax()])
    apart = np.inf
    for here, row in zip(own.tolist(), worth, strict=True):
        line = row if offset >= 0 else row[::-1]
        place = here if offset >= 0 else len(row) - 1 - here
        goal = place + abs(offset)
        inner = line[place : goal + 1]
        gaps = [*np.diff(inner), *(inner[0] - line[:place]), *(inner[-1] - line[goal + 1 :])]
        apart = min([apart, *(float(gap) for gap in gaps)])
    if not apart > 0:
        raise record.refuse("visits", "a head does not prefer the place nearest to the one it looks for")
    return offset, apart


def _codes(
    stream: Stream, head: Head, arith: Arithmetic, record: Record
) -> tuple[Array, Array, Array, Array]:
    """The code of every position, which falls along the word; its largest step, its size and its error."""
    tau = stream.num_padding
    if head.value.shape[1] != 1 or (np.abs(stream.wide).T @ np.abs(head.value)).any():
        raise record.refuse("visits", "a head must copy one number that is not a prefix sum")
    plain = stream.nominal @ head.value
    if (plain != plain[0]).any():
        raise record.refuse("visits", "what a head copies must depend on the position alone")
    letters, rounding = linear(arith, stream.places[tau:] + stream.nominal[0], stream.radius, head.value)
    pads, pad_rounding = linear(arith, stream.pads, stream.pad_radius, head.value)
    codes = np.concatenate([pads, letters])
    radius = np.maximum(stream.radius, stream.pad_radius) @ np.abs(head.value)
    error = radius + max(rounding.max(initial=0.0), pad_rounding.max(initial=0.0))
    if (np.diff(codes[:, 0]) >= 0).any():
        raise record.refuse("visits", "codes of later positions must be smaller")
    return codes[:, 0], np.abs(np.diff(codes, axis=0)).max(axis=0), np.abs(codes).max(axis=0) + error, error


@dataclass(frozen=True)
class Leak:
    """``total`` weight off target at worst, ``distance`` its sum weighted by how far away it lies,
    ``gap`` in nats to the best competitor before errors.
    """

    total: float
    distance: float
    gap: float

    def worse(self, other: "Leak") -> "Leak":
        """The worse of both, each in its own respect."""
        return Leak(
            max(self.total, other.total), max(self.distance, other.distance), min(self.gap, other.gap)
        )

    def lead_of(self, wanted: str) -> str:
        """The gap in words."""
        if self.gap > 0:
            return f"{wanted} wins by {self.gap:.3g} nats"
        return f"{wanted} may lose by {-self.gap:.3g} nats to another position"


NO_LEAK = Leak(0.0, 0.0, np.inf)


def leak_of(target: Array, before: Array, after: Array, error: float, arith: Arithmetic) -> Leak:
    """``target[t, i]``: score of i if t selects it (−∞: it cannot).

    Other positions m < i may score up to ``before[t, m]``, m > i up to ``after[t, m]``.
    """
    wanted = np.isfinite(target)
    if not wanted.any():
        return NO_LEAK
    earlier = _shift(np.logaddexp.accumulate(before, axis=1))
    later = _shift(np.logaddexp.accumulate(after[:, ::-1], axis=1))
    best = np.maximum(
        _shift(np.maximum.accumulate(before, axis=1)),
        _shift(np.maximum.accumulate(after[:, ::-1], axis=1))[:, ::-1],
    )
    gap = float((target[wanted] - best[wanted]).min())
    # exp's argument is rounded once: what lies beyond `vanish` is 0, the rest moves by less than this.
    slack = 2 * error + 4 * arith.inner * arith.vanish
    if gap - slack > arith.vanish:
        return Leak(0.0, 0.0, gap)
    # Summing the sums up to each position counts a weight once per position it lies away.
    far = np.logaddexp(
        np.logaddexp.accumulate(earlier, axis=1), np.logaddexp.accumulate(later, axis=1)[:, ::-1]
    )
    near = np.logaddexp(earlier, later[:, ::-1])
    with np.errstate(over="ignore", under="ignore"):
        total, distance = (float(np.exp(w[wanted] - target[wanted] + slack).max()) for w in (near, far))
    more = 1 + 2 * EXP * arith.inner
    return Leak(total * more, distance * more, gap)


def _shift(values: Array) -> Array:
    """Moves columns one to the right: what stands strictly before."""
    start = np.full((len(values), 1), -np.inf)
    return np.concatenate([start, values[:, :-1]], axis=1)


def copied_error(
    leak: Leak, spread: Array, stride: Array, size: Array, count: int, arith: Arithmetic
) -> Array:
    """Error of ``Σ wᵢ vᵢ`` against the wanted v: values differ by ≤ ``spread`` and ``stride`` per position.

    An addition of a small partial sum p to the one that holds the target errs by at most |p| and at most
    u; over all additions that is ≤ leak and ≤ count·u, in the denominator and again in the sum of values.
    Division and product round once each.
    """
    if leak.total == 0.0:
        return np.zeros_like(size)
    rounded = (
        4 * min(leak.total, count * arith.inner) + 4 * arith.inner + (3 * arith.unit if arith.half else 0)
    )
    return leak.total * spread + leak.distance * stride + rounded * size * (1 + leak.total)
