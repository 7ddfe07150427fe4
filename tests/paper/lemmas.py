"""What the lemmas of the paper mean and promise: naive meanings and bounds for the constructions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.cascade.holonomy import Update
from krohn.network.transformer import Mlp
from krohn.paper.component_cascade import PermutationReset
from krohn.paper.grid_runs import padding_moves
from krohn.paper.interpolation import UNITS_PER_POINT, separation, table_rows, validate
from krohn.paper.positions import PositionCode

ROUNDING = 1e-9
"""Slack for the float64 rounding of a norm that meets its bound with equality."""


@dataclass(frozen=True)
class MlpBound:
    """Hidden widths, then one ∞-norm per weight matrix and per bias."""

    widths: tuple[int, ...]
    weights: tuple[float, ...]
    biases: tuple[float, ...]

    def violations(self, mlp: Mlp) -> list[str]:
        """Every promise the network breaks, in words; empty if it keeps them all."""
        result = []
        if len(mlp.weights) != len(self.weights):
            result.append(f"{len(mlp.weights)} layers, promised {len(self.weights)}")
        for index, (width, limit) in enumerate(zip(mlp.hidden_widths, self.widths, strict=False)):
            if width > limit:
                result.append(f"hidden layer {index} has width {width} > {limit}")
        for kind, arrays, limits in (("W", mlp.weights, self.weights), ("b", mlp.biases, self.biases)):
            for index, (array, bound) in enumerate(zip(arrays, limits, strict=False)):
                norm = float(np.abs(array).max(initial=0.0))
                if norm > bound * (1 + ROUNDING) + ROUNDING:
                    result.append(f"{kind}_{index + 1} has norm {norm:g} > {bound:g}")
        return result


def threshold_meaning(inputs: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """1[x > 0]."""
    out: npt.NDArray[np.float64] = (np.asarray(inputs, dtype=np.float64) > 0).astype(np.float64)
    return out


def threshold_bound(gap: float) -> MlpBound:
    """Widths and ∞-norms as the lemma states them."""
    return MlpBound((2,), (1 / gap, 1.0), (0.5, 0.0))


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


def interpolation_1d_meaning(
    points: Sequence[float], values: npt.ArrayLike, inputs: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """What the network must compute: the value of the nearest point, for inputs within Δ/4 of one."""
    table = table_rows(points, values)
    distances = np.abs(np.asarray(inputs, dtype=np.float64)[:, None] - np.asarray(points)[None, :])
    nearest: npt.NDArray[np.float64] = table[distances.argmin(axis=1)]
    return nearest


def interpolation_1d_bound(points: Sequence[float], values: npt.ArrayLike) -> MlpBound:
    """Widths and ∞-norms as the lemma states them."""
    gap, radius = separation(points), float(np.abs(np.asarray(points)).max())
    size = float(np.abs(table_rows(points, values)).max())
    return MlpBound((UNITS_PER_POINT * len(points),), (4 / gap, size), (4 * radius / gap + 2, 0.0))


def interpolation_nd_meaning(
    points: npt.ArrayLike, values: npt.ArrayLike, inputs: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """The value of the row nearest in ∞-norm."""
    rows, table = np.asarray(points, dtype=np.float64), np.asarray(values, dtype=np.float64)
    distances = np.abs(np.asarray(inputs, dtype=np.float64)[:, None, :] - rows[None, :, :]).max(axis=2)
    nearest: npt.NDArray[np.float64] = table[distances.argmin(axis=1)]
    return nearest


def interpolation_nd_bound(points: npt.ArrayLike, values: npt.ArrayLike) -> MlpBound:
    """Widths and ∞-norms as the lemma states them; they hold after the correction too."""
    rows, table = validate(points, values)
    radius = float(np.abs(rows).max(initial=0.0))
    distinct = sum(len(np.unique(column)) for column in rows.T)
    widths = (UNITS_PER_POINT * distinct, len(rows))
    biases = (4 * radius + 2, float(rows.shape[1]), 0.0)
    return MlpBound(widths, (4.0, 1.0, float(np.abs(table).max(initial=0.0))), biases)


def prefix_sum_meaning(values: list[float], total: int) -> list[float]:
    """What the head must compute at positions 1, 2, …"""
    return [math.fsum(values[: t + 1]) / (2.0 * total) for t in range(len(values))]


def neighbour_product(count: int) -> float:
    """The largest ⟨p_t, p_t'⟩ over t ≠ t', exactly: cos(2π/T)."""
    return math.cos(2.0 * math.pi / count)


def product_bound(count: int) -> float:
    """An upper bound on ⟨p_t, p_t'⟩, t ≠ t', of the paper's shape, true for every count ≥ 2."""
    return 1.0 - (19.7 if count >= 41 else 8.0) / count**2


def nearest_back_meaning(positions: int, distance: int) -> list[int]:
    """What a look-back head must select from every position: max(t − distance, 0)."""
    return [max(t - distance, 0) for t in range(positions)]


def computed_margin(code: PositionCode, distance: int, dtype: str) -> float:
    """The least score by which max(t − distance, 0) wins, computed in ``dtype`` as the forward pass does.

    Softmax is one-hot if it exceeds 746 (float64) or 104 (float32); at 0 or less the head is wrong.
    """
    points, turned = code.points.astype(dtype), code.scale * code.key_rotation(distance)
    query, key = points @ (code.scale * np.eye(2)).astype(dtype), points @ turned.astype(dtype)
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


def reindex_meaning(blocks: Sequence[Sequence[int]], k: int, sign: int) -> list[list[int]]:
    """f(x + sign·k) for every x."""
    return [list(blocks[(x + sign * k) % len(blocks)]) for x in range(len(blocks))]


def composition_meaning(left: npt.ArrayLike, right: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """f ∘ g for transition maps: first ``left``, then ``right``."""
    g, f = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
    out: npt.NDArray[np.int64] = f[g]
    return out


def modular_meaning(prefix_sum: int, modulus: int, start: int) -> int:
    """(j + q₀) mod n."""
    return (prefix_sum + start) % modulus


def permutation_reset_meaning(part: PermutationReset, actions: list[Update]) -> list[int]:
    """The states of one component, naively."""
    state, states = part.initial, []
    for action in actions:
        state = action if isinstance(action, int) else action[state]
        states.append(state)
    return states


def shift_register_meaning(moves: Sequence[int], walls: int, start: int) -> list[int]:
    """The identity behind the construction, evaluated naively.

    q_t = Σ_j b_j with b_j = 1 iff the last visit to the sum z_t − j is later than that to z_t − j + S + 1.
    A move right shifts a 1 into b, a move left a 0, which is clamping in unary.
    """
    sums, states = [0], []
    prefix = padding_moves(walls, start)
    for index, move in enumerate([*prefix, *moves]):
        sums.append(sums[-1] + move)
        if index >= len(prefix):
            last = {z: when for when, z in enumerate(sums)}
            here = sums[-1]
            bits = [last.get(here - j, -1) > last.get(here - j + walls + 1, -1) for j in range(1, walls + 1)]
            states.append(sum(bits))
    return states
