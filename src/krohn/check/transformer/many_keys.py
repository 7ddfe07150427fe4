"""The lead of one position over very many others, without the scores of all pairs.

Position codes move slowly, so the keys of neighbouring positions lie near a line. A query is compared with
runs of keys first, and one by one only with keys of runs that may hold its best rival.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from krohn.check.arithmetic.products import products
from krohn.check.ground import Array, Integers, Real, ample, require
from krohn.check.transformer.stream import Setting

AT_ONCE = 1 << 18
"""Bounds, or products, that are computed together."""
RUN = 16
"""Keys that are compared together."""
BOUND = 3
"""Work of a bound on the scores of a run."""
ALONG = np.linspace(-1.0, 1.0, RUN)
"""Where on its line each key of a run is expected."""


class Seen(NamedTuple):
    """Where budget and arithmetic are, and the last position that each letter sees."""

    setting: Setting
    last: Integers


# Rule: the lead of a position among many.
# Hypotheses: the target of each letter is visible. Conclusion: its computed score, less the logarithm of what
# the others weigh together, is at least ``least``.
# Why: up to ``slack`` scores are products q·k. A key of a run is c + a·u + r with |a| ≤ 1 and |r| ≤ e, so its
# product is at most q·c + |q·u| + |q|·e. Every visible key of a run where that exceeds the best rival so far
# is compared, so in the end none exceeds the best rival; and n rivals weigh at most n times the best.
def lead_over_many(seen: Seen, queries: Real, keys: Real, places: Integers) -> tuple[float, float]:
    """The least lead of the position places[t] at any letter, whatever stands where; the size of scores.

    ``queries`` [query group, t, k]; ``keys`` [key group, position, k].
    """
    groups, count, width = keys.lo.shape
    least, size = np.inf, 0.0
    for query in range(len(queries)):
        flat = keys.reshape(groups * count, width)
        q, flat_keys, slack = products(seen.setting.fmt, queries[query], flat, seen.setting.root)
        k = flat_keys.reshape(groups, count, width)
        target = np.stack([(q * each[places]).sum(axis=1) for each in k]).min(axis=0)
        rival = best_rivals(seen, q, k, places)
        behind = ample(np.abs(np.log(np.maximum(seen.last, 1)))) + ample(slack + slack)
        behind = behind + rival - target
        require(~np.isnan(behind), "scores are not numbers")
        least = min(least, float(-behind.max()))
        size = max(size, float((np.abs(target) + slack).max()))
    return least, size


def best_rivals(seen: Seen, q: Array, k: Array, places: Integers) -> Array:
    """[t]: the largest product of a query with a visible key other than the one at places[t]."""
    groups, count = k.shape[:2]
    runs = -(-count // RUN)
    numbers = np.minimum(np.arange(runs * RUN), count - 1).reshape(runs, RUN)  # the last key fills up
    held = k[:, numbers]
    middle, step = (held[:, :, 0] + held[:, :, -1]) / 2, (held[:, :, -1] - held[:, :, 0]) / 2
    rest = np.abs(held - middle[:, :, None] - ALONG[:, None] * step[:, :, None]).max(axis=2)
    best, rows = np.full(len(q), -np.inf), max(1, AT_ONCE // (groups * runs))
    for first in range(0, len(q), rows):
        part = slice(first, min(first + rows, len(q)))
        reach = int(seen.last[part.stop - 1]) // RUN + 1
        seen.setting.budget.spend((part.stop - first) * groups * reach * BOUND, "scores of runs")
        most = np.stack(
            [_most(q[part], *(side[g, :reach] for side in (middle, step, rest))) for g in range(groups)], 1
        )
        _compare(seen, best, (q, held, numbers), places, most, first)
    return best


def _most(q: Array, middle: Array, step: Array, rest: Array) -> Array:
    """[t, run]: an upper bound on the products with all keys of each run."""
    most: Array = np.abs(q @ step.T)
    most += q @ middle.T
    most += np.abs(q) @ rest.T
    return most


Keys = tuple[Array, Array, npt.NDArray[np.int64]]
"""Queries [t, k]; keys by group and run; the positions of a run's keys."""


def _compare(seen: Seen, best: Array, keys: Keys, places: Integers, most: Array, first: int) -> None:
    """Raises ``best`` to the best rival of the letters from ``first`` on, given bounds [t, group, run]."""
    letters, runs = most.shape[0], most.shape[2]
    flat, own = most.reshape(letters, -1), np.arange(letters)
    top = flat.argmax(axis=1)
    _one_by_one(seen, best, keys, places, first + own, (top // runs, top % runs))
    # Bounds that are no numbers count as too large.
    open_ = ~(flat <= best[first : first + letters, None])
    open_[own, top] = False
    at, which = np.nonzero(open_)
    for begin in range(0, len(at), AT_ONCE // RUN):
        some = slice(begin, begin + AT_ONCE // RUN)
        _one_by_one(seen, best, keys, places, first + at[some], (which[some] // runs, which[some] % runs))


def _one_by_one(
    seen: Seen, best: Array, keys: Keys, places: Integers, letters: Integers, runs: tuple[Integers, Integers]
) -> None:
    """Compares letters[n] with all keys of run n."""
    q, held, numbers = keys
    seen.setting.budget.spend(len(letters) * RUN * (q.shape[1] + 8), "scores near the best")
    there = numbers[runs[1]]
    products = np.matmul(held[runs], q[letters][:, :, None])[:, :, 0]
    rival = (there <= seen.last[letters][:, None]) & (there != places[letters][:, None])
    np.maximum.at(best, letters, np.where(rival, products, -np.inf).max(axis=1))
