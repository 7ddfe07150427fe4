"""Positions as points on a circle, and how close soft attention comes to copying one of them."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.base.portable import cos, each, sin
from krohn.errors import InvalidInput
from krohn.network.transformer import Matrix


def selection_error(count: int, gap: float) -> float:
    """‖softmax(z) − e_max‖₁ ≤ 2·T·e^(−γ) when every other of the T scores is at least γ below the best.

    Lemma "Softmax approximates hard max": how close soft attention comes to copying one position. Erratum
    30: its proof writes e^t for e^(z_t); the mask before it hides t > t′ where it must hide t′ > t.
    """
    return 2.0 * count * math.exp(-gap)


def selection_gap(count: int, error: float) -> float:
    """The γ for which the lemma promises the given error: log(2T/ε)."""
    if count < 1 or error <= 0:
        raise InvalidInput(f"need at least one position and a positive error; got {count} and {error}")
    return math.log(2.0 * count / error)


def circle(indices: npt.ArrayLike, count: int) -> Matrix:
    """Points ``[len(indices), 2]``: index i sits at angle 2πi/count.

    Proposition "Circular embeddings": positions as points on a circle, looked back at by a rotation.

    Erratum 3: the printed bound |⟨p, p'⟩| ≤ 1 − 2π²/T² is false (the absolute value fails at antipodal
    points, and cos(2π/T) > 1 − 2π²/T²). True for every T ≥ 2: ⟨p, p'⟩ ≤ 1 − 8/T², and 1 − 19.7/T² from T =
    41 on.
    """
    angle = 2.0 * math.pi * np.asarray(indices, dtype=np.float64) / count
    return np.stack([each(cos, angle), each(sin, angle)], axis=-1)


def rotation(angle: float) -> Matrix:
    """ρ = [[cos, sin], [−sin, cos]]: a row vector times ρ is turned by +angle."""
    cosine, sine = cos(angle), sin(angle)
    return np.array([[cosine, sine], [-sine, cosine]])


@dataclass(frozen=True, eq=False)
class PositionCode:
    """``points[position]`` on a circle of the given period, and the factor on each matrix of a head.

    The position code of Theorem 1, which a rotation can look back on: two channels, angle πt/T.

    A rotation of the keys by πk/T lets position t find t − k. Neighbours differ by 1 − cos(π/T) ~ 5/T² only,
    so scores must be of size T² and float32 loses the order between T = 3000 and 4096 (``computed_margin``).
    """

    points: Matrix
    period: float
    scale: float

    def key_rotation(self, distance: int) -> Matrix:
        """The matrix on keys that sends position i to where position i + distance is."""
        return rotation(2.0 * math.pi * distance / self.period)


def circle_code(positions: int, length: int, gamma: float) -> PositionCode:
    """One circle of period 2·length: the half circle holds positions 0 … length."""
    return PositionCode(circle(np.arange(positions), 2 * length), 2.0 * length, math.sqrt(gamma))
