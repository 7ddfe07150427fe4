"""MLP 1 of Theorem 3: a prefix sum, scaled by 1/2T′, becomes a point on a circle of a given period.

``relu``     Lemma 1D as printed: width 4(2T′+1). Its alternating sum of large terms costs about 1e-3 in
float32.
``clamped``  one more layer rounds every indicator to 0 or 1 before it is used; fit for float32.
``sin``      periodic activations: two units, whatever T′ is (the paper's remark; its footnote says one).
"""

import math
from typing import Literal, get_args

import numpy as np

from krohn.construct.paper.interpolation_1d import SIGNS, UNITS_PER_POINT, interpolate_1d
from krohn.errors import InvalidInput
from krohn.network.transformer import SIN, Mlp

Embedding = Literal["relu", "clamped", "sin"]
EMBEDDINGS: tuple[str, ...] = get_args(Embedding)


def circular_mlp(total: int, period: float, embedding: str = "relu") -> Mlp:
    """x = z/2T′ ↦ (cos 2πz/period, sin 2πz/period) for −T′ ≤ z ≤ T′."""
    if embedding not in EMBEDDINGS:
        raise InvalidInput(f"activation must be one of {', '.join(EMBEDDINGS)}; got {embedding!r}")
    if embedding == "sin":
        frequency = 2.0 * math.pi * 2.0 * total / period
        weights = (np.full((1, 2), frequency), np.eye(2))
        return Mlp(weights, (np.array([math.pi / 2, 0.0]), np.zeros(2)), (np.full(2, SIN),))
    sums = np.arange(-total, total + 1)
    angle = 2.0 * math.pi * sums / period
    values = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    table = interpolate_1d((sums / (2.0 * total)).tolist(), values, gap=1.0 / (2.0 * total))
    return table if embedding == "relu" else _clamped(table, values)


def _clamped(table: Mlp, values: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Mlp:
    """Indicators cut off at 0 and 1: v ↦ (v − ¼)_+ and (v − ¾)_+, twice their difference."""
    points = len(values)
    combine = np.kron(np.eye(points), SIGNS[:, None]) @ np.repeat(np.eye(points), 2, axis=1)
    bias = np.tile([-0.25, -0.75], points)
    third = np.repeat(values, 2, axis=0) * np.tile([2.0, -2.0], points)[:, None]
    assert combine.shape[0] == UNITS_PER_POINT * points
    return Mlp((table.weights[0], combine, third), (table.biases[0], bias, np.zeros(2)))
