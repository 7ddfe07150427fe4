"""Softmax selects: how much weight can escape from the position a head is meant to copy.

If the wanted score beats the others by g₁, g₂, … (after the error of scores is taken off), the other
weights add up to at most Σ e^(−gᵢ), whatever the order of summation. When every gᵢ exceeds the number at
which exp underflows, the weights are exactly 1 and 0 and copying is exact.
"""

from dataclasses import dataclass

import numpy as np

from krohn.certify.arithmetic import EXP, Arithmetic, Array


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
