"""Lemma "Threshold with an MLP": 1[x > 0] for |x| ≥ Δ, with inputs perturbed by up to Δ/4.

Erratum 2: the printed ramp runs over [−Δ, Δ], so at x = Δ, ξ = −Δ/4 it gives 0.875. A ramp over
[−Δ/2, Δ/2] has exactly the norms the lemma states and keeps its promise.
"""

import numpy as np
import numpy.typing as npt

from krohn.construct.paper.mlp_bound import MlpBound
from krohn.errors import InvalidInput
from krohn.network.transformer import Mlp


def threshold(gap: float) -> Mlp:
    """ψ(x) = ((x + Δ/2)/Δ)_+ − ((x − Δ/2)/Δ)_+."""
    if gap <= 0:
        raise InvalidInput(f"the gap of a threshold must be positive; got {gap}")
    first = np.array([[1 / gap, 1 / gap]])
    return Mlp((first, np.array([[1.0], [-1.0]])), (np.array([0.5, -0.5]), np.zeros(1)))


def threshold_meaning(inputs: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """1[x > 0]."""
    out: npt.NDArray[np.float64] = (np.asarray(inputs, dtype=np.float64) > 0).astype(np.float64)
    return out


def threshold_bound(gap: float) -> MlpBound:
    """Widths and ∞-norms as the lemma states them."""
    return MlpBound((2,), (1 / gap, 1.0), (0.5, 0.0))
