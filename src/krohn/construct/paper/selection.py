"""Lemma "Softmax approximates hard max": how close soft attention comes to copying one position.

Erratum 30: its proof writes e^t for e^(z_t); the mask before it hides t > t′ where it must hide t′ > t.
"""

import math

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput


def selection_error(count: int, gap: float) -> float:
    """‖softmax(z) − e_max‖₁ ≤ 2·T·e^(−γ) when every other of the T scores is at least γ below the best."""
    return 2.0 * count * math.exp(-gap)


def selection_gap(count: int, error: float) -> float:
    """The γ for which the lemma promises the given error: log(2T/ε)."""
    if count < 1 or error <= 0:
        raise InvalidInput(f"need at least one position and a positive error; got {count} and {error}")
    return math.log(2.0 * count / error)


def recency_error(gap: float) -> float:
    """Sharper bound when scores fall by γ per position: Σ_{m≥1} 2e^(−mγ), without the factor T."""
    return 2.0 * math.exp(-gap) / (1.0 - math.exp(-gap))


def selection_distance(scores: npt.ArrayLike) -> float:
    """The distance itself, by definition: the meaning the bounds are tested against."""
    z = np.asarray(scores, dtype=np.float64)
    weights = np.exp(z - z.max())
    weights /= weights.sum()
    weights[int(z.argmax())] -= 1.0
    return float(np.abs(weights).sum())
