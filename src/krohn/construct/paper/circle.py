"""Proposition "Circular embeddings": positions as points on a circle, looked back at by a rotation.

Erratum 3: the printed bound |⟨p, p'⟩| ≤ 1 − 2π²/T² is false (the absolute value fails at antipodal points,
and cos(2π/T) > 1 − 2π²/T²). True for every T ≥ 2: ⟨p, p'⟩ ≤ 1 − 8/T², and 1 − 19.7/T² from T = 41 on.
"""

import math

import numpy as np
import numpy.typing as npt

from krohn.network.transformer import Matrix


def circle(indices: npt.ArrayLike, count: int) -> Matrix:
    """Points ``[len(indices), 2]``: index i sits at angle 2πi/count."""
    angle = 2.0 * math.pi * np.asarray(indices, dtype=np.float64) / count
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def rotation(angle: float) -> Matrix:
    """ρ = [[cos, sin], [−sin, cos]]: a row vector times ρ is turned by +angle."""
    cosine, sine = math.cos(angle), math.sin(angle)
    return np.array([[cosine, sine], [-sine, cosine]])


def neighbour_product(count: int) -> float:
    """The largest ⟨p_t, p_t'⟩ over t ≠ t', exactly: cos(2π/T)."""
    return math.cos(2.0 * math.pi / count)


def product_bound(count: int) -> float:
    """An upper bound on ⟨p_t, p_t'⟩, t ≠ t', of the paper's shape, true for every count ≥ 2."""
    return 1.0 - (19.7 if count >= 41 else 8.0) / count**2
