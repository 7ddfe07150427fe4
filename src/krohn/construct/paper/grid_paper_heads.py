"""Theorem 3 with the paper's 2S + 1 heads: head s returns γ of the last visit to the sum z_t + s − S.

Corrected (docs/errata.md): the entry −c of W_Q stands in the wrong place (15), ⊥ needs γ = log 2T′ (16),
heads have channels of their own, so the dimension is O(S) (25), and soft attention needs scores of size T′³
(26). A head whose sum was never visited does not select t, as the paper says, but repeats its inner
neighbour (17).
"""

import math

import numpy as np

from krohn.construct.paper.attention_lemmas import prefix_sum_head, rotation
from krohn.construct.paper.blocks import basis, lift_mlp
from krohn.construct.paper.grid_axis import Axis, circular_mlp
from krohn.construct.paper.grid_states import state_mlp
from krohn.network.transformer import Head, Layer, Matrix

LOGIT_GAP = 20.0
"""Score by which a visit beats the previous one. Errors of scores grow with it, those of values shrink."""
SHARED = ("bos", "log", "one")
BOS, LOG, ONE, MOVE, SUM, COS, SIN, FIRST = range(8)


def paper_axis(walls: int, total: int, embedding: str, variant: str) -> Axis:
    """The two layers of one coordinate 0 … walls; ``variant`` names the second MLP."""
    names = ("move", "sum", "cos", "sin", *(f"head {s}" for s in range(2 * walls + 1)))
    dim = len(SHARED) + len(names)
    everywhere = np.ones(dim)
    first_mlp = lift_mlp(circular_mlp(total, 4.0 * total, embedding), [SUM], [COS, SIN], dim)
    first = Layer((prefix_sum_head(dim, MOVE, SUM, BOS, LOG),), first_mlp, everywhere, everywhere)
    heads = tuple(visit_head(walls, total, s, dim) for s in range(2 * walls + 1))
    reads = range(FIRST, FIRST + 2 * walls + 1)
    keep = everywhere.copy()
    keep[MOVE] = 0.0
    second = Layer(heads, lift_mlp(state_mlp(walls, total, variant), [*reads], [MOVE], dim), everywhere, keep)
    return Axis(names, (first, second), MOVE)


def visit_head(walls: int, total: int, number: int, dim: int) -> Head:
    """Score β·[cos(π(x_t + (s−S)/2T′ − x_i)) − c·γ_i]: matched sums first, the newest among them."""
    # Erratum 24: the gap is 1 − cos(π/2T′) itself, which is less than the printed π²/8T².
    recency = (1.0 - math.cos(math.pi / (2.0 * total))) / (2.0 * math.log(2.0))
    scale = math.sqrt(2.0 * total * LOGIT_GAP / recency)
    query = query_block(recency, math.pi * (number - walls) / (2.0 * total), dim)
    key = basis(dim, [LOG, COS, SIN])
    return Head(scale * query, scale * key, basis(dim, [LOG]), basis(dim, [FIRST + number]).T)


def query_block(recency: float, angle: float, dim: int) -> Matrix:
    """Erratum 15: −c stands in row "one" against the key γ, not in row γ against the constant."""
    query = np.zeros((dim, 3))
    query[ONE, 0] = -recency
    query[[COS, SIN], 1:] = rotation(angle)
    return query
