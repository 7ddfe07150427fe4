"""MLP 1: a prefix sum, scaled by 1/2T′, becomes a point on a circle of a given period.

``relu``     Lemma 1D as printed: width 4(2T′+1). Its alternating sum of large terms costs about 1e-3 in
             float32.
``clamped``  indicators in two hidden layers, 2(2T′+1) and 2T′+1 units, exactly 0 or 1; fit for float32.
``sin``      periodic activations: two units, whatever T′ is (the paper's remark; its footnote says one).
"""

import math
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from krohn.base.portable import cos, each, sin
from krohn.errors import InvalidInput
from krohn.network.transformer import SIN, Matrix, Mlp
from krohn.paper.interpolation import interpolate_1d

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
    # Reduced first: sums of one residue class get equal numbers, not only nearly equal ones.
    angle = 2.0 * math.pi * np.mod(sums, period) / period
    values = np.stack([each(cos, angle), each(sin, angle)], axis=1)
    if embedding == "clamped":
        return _clamp(sums, total, values)
    return interpolate_1d((sums / (2.0 * total)).tolist(), values, gap=1.0 / (2.0 * total))


def _clamp(sums: npt.NDArray[np.int64], total: int, values: Matrix) -> Mlp:
    """Indicators (1 − 4(|y − z| − ¼)_+)_+ with y = 2T′x: 1 or 0 exactly, so one stored value comes out."""
    slope = 8.0 * total
    first = np.tile([slope, -slope], len(sums))
    bias = np.kron(-4.0 * sums, [1.0, -1.0]) - 1.0
    second: Matrix = np.repeat(-np.eye(len(sums)), 2, axis=0)
    return Mlp((first[None, :], second, values), (bias, np.ones(len(sums)), np.zeros(2)))
