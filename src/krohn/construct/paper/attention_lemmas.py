"""What heads can do: look back along a circle, and add up everything so far."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.construct.paper.blocks import basis
from krohn.errors import InvalidInput
from krohn.network.transformer import Head, Matrix

# Proposition "Circular embeddings": positions as points on a circle, looked back at by a rotation.
#
# Erratum 3: the printed bound |⟨p, p'⟩| ≤ 1 − 2π²/T² is false (the absolute value fails at antipodal points,
# and cos(2π/T) > 1 − 2π²/T²). True for every T ≥ 2: ⟨p, p'⟩ ≤ 1 − 8/T², and 1 − 19.7/T² from T = 41 on.


def circle(indices: npt.ArrayLike, count: int) -> Matrix:
    """Points ``[len(indices), 2]``: index i sits at angle 2πi/count."""
    angle = 2.0 * math.pi * np.asarray(indices, dtype=np.float64) / count
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def rotation(angle: float) -> Matrix:
    """ρ = [[cos, sin], [−sin, cos]]: a row vector times ρ is turned by +angle."""
    cosine, sine = math.cos(angle), math.sin(angle)
    return np.array([[cosine, sine], [-sine, cosine]])


# The head of Lemma "modular counter" and Theorem 3: uniform attention, a padding token absorbs the rest.
#
# Query log(2T − t) on the flag of ⊥ gives ⊥ the weight (2T − t)/2T and every other visible position 1/2T, so
# the head computes prefix sums with one scale for all positions.


def absorber(positions: int, total: int) -> Matrix:
    """γ_i = log(2T − i) for every position, ⊥ = position 0 included.

    Erratum 16: Theorem 3 reads γ as a recency key, and the printed γ_⊥ = 0 makes ⊥ look like the newest
    position.
    """
    return np.log(2.0 * total - np.arange(positions, dtype=np.float64))


def prefix_sum_head(dim: int, source: int, target: int, flag: int, gamma: int) -> Head:
    """target_t = (1/2T)·Σ_{i ≤ t} source_i."""
    return Head(basis(dim, [gamma]), basis(dim, [flag]), basis(dim, [source]), basis(dim, [target]).T)


# Position codes that a rotation can look back on: the circle of Theorem 1, and a code of many circles.
#
# ``circle``: two channels, angle πt/T. A rotation of the keys by πk/T lets position t find t − k. Neighbours
# differ by 1 − cos(π/T) ~ 5/T² only, so scores must be of size T² and float32 loses the order between T =
# 3000 and 4096 (``computed_margin``).
#
# ``binary``: one circle for each period 2, 4, 8, … up to the number of positions. If two positions differ by
# 2^a·odd, the circle of period 2^(a+1) has them on opposite sides, so the best score wins by 2 whatever T is;
# scores grow with log T only. The price: 2·log₂ channels, and a target before the start is nowhere near
# position 0, so all of them need a padding position.


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
