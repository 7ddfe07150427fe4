"""Position codes that a rotation can look back on: the circle of Theorem 1, and a code of many circles.

``circle``: two channels, angle πt/T. A rotation of the keys by πk/T lets position t find t − k. Neighbours
differ by 1 − cos(π/T) ~ 5/T² only, so scores must be of size T² and float32 loses the order between T =
3000 and 4096 (``computed_margin``).

``binary``: one circle for each period 2, 4, 8, … up to the number of positions. If two positions differ by
2^a·odd, the circle of period 2^(a+1) has them on opposite sides, so the best score wins by 2 whatever T is;
scores grow with log T only. The price: 2·log₂ channels, and a target before the start is nowhere near
position 0, so all of them need a padding position.
"""

import math
from dataclasses import dataclass

import numpy as np

from krohn.construct.paper.circle import circle, rotation
from krohn.errors import InvalidInput
from krohn.network.transformer import Matrix

EXACT_GAP = 800.0
"""A gap at which softmax is one-hot even in float64, where exp underflows at −746."""


@dataclass(frozen=True, eq=False)
class PositionCode:
    """``points[position]`` on circles of the given periods, and the factor on each matrix of a head."""

    points: Matrix
    periods: tuple[float, ...]
    scale: float

    @property
    def channels(self) -> int:
        """Channels the code needs."""
        return int(self.points.shape[1])

    def key_rotation(self, distance: int) -> Matrix:
        """The matrix on keys that sends position i to where position i + distance is."""
        out = np.zeros((self.channels, self.channels))
        for index, period in enumerate(self.periods):
            at = slice(2 * index, 2 * index + 2)
            out[at, at] = rotation(2.0 * math.pi * distance / period)
        return out


def circle_code(positions: int, length: int, gamma: float) -> PositionCode:
    """One circle of period 2·length: the half circle holds positions 0 … length."""
    return PositionCode(circle(np.arange(positions), 2 * length), (2.0 * length,), math.sqrt(gamma))


def binary_code(positions: int) -> PositionCode:
    """Circles of periods 2, 4, …, at least ``positions``."""
    if positions < 1:
        raise InvalidInput(f"there must be at least one position; got {positions}")
    count = max(1, math.ceil(math.log2(positions)))
    periods = tuple(2.0**k for k in range(1, count + 1))
    points = np.concatenate([circle(np.arange(positions), int(p)) for p in periods], axis=1)
    return PositionCode(np.round(points, 15), periods, math.sqrt(EXACT_GAP / 2))


def nearest_back_meaning(positions: int, distance: int) -> list[int]:
    """What a look-back head must select from every position: max(t − distance, 0)."""
    return [max(t - distance, 0) for t in range(positions)]


def computed_margin(code: PositionCode, distance: int, dtype: str) -> float:
    """The least score by which max(t − distance, 0) wins, computed in ``dtype`` as the forward pass does.

    Softmax is one-hot if it exceeds 746 (float64) or 104 (float32); at 0 or less the head is wrong.
    """
    points, turned = code.points.astype(dtype), code.scale * code.key_rotation(distance)
    query, key = points @ (code.scale * np.eye(code.channels)).astype(dtype), points @ turned.astype(dtype)
    count, worst = len(points), math.inf
    for first in range(0, count, 512):
        rows = np.arange(first, min(first + 512, count))
        scores = (query[rows] @ key.T).astype(np.float64)
        scores[np.arange(count)[None, :] > rows[:, None]] = -math.inf
        targets = (np.arange(len(rows)), np.maximum(rows - distance, 0))
        best = scores[targets]
        scores[targets] = -math.inf
        worst = min(worst, float((best - scores.max(axis=1)).min()))
    return worst
