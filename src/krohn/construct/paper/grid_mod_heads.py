"""Theorem 3 with S heads modulo S + 1: the recommended second layer.

The sums z_t − j and z_t − j + S + 1 are the two nearest members of one residue class, and by continuity the
last visit to that class is one of them. So head j = 1 … S looks for the latest i with z_i ≡ z_t − j mod (S
+ 1) and returns z_i, and b_j = 1[z_i = z_t − j] is bit j of the state in unary
(``grid_geometry.shift_register_meaning``). No head is ever unmatched after the padding, so errata 17 to 20
do not arise, and keys are 1 − cos(2π/(S+1)) apart instead of ~1/T².

⊥ is the default of every head: its score lies between matched and unmatched ones.

``mod``      every head has its own channel: dimension S + 8, bits by 2 ReLU each.
``mod_sum``  all heads add into one channel, because the state is linear in Σ_j z_{i_j}: dimension 9 for
every S,
             which makes the main text's "embedding dimension O(1)" true (erratum 25).
"""

import math

import numpy as np

from krohn.construct.paper.attention_lemmas import prefix_sum_head, rotation
from krohn.construct.paper.blocks import basis, lift_mlp
from krohn.construct.paper.grid_axis import Axis, circular_mlp
from krohn.construct.paper.interpolation import interpolate_1d
from krohn.network.transformer import Head, Layer, Mlp

LOGIT_GAP = 8.0
"""Score by which a visit beats the previous one; attention errors are e^(−gap) per position."""
SHARED = ("bos", "log", "recency", "one")
BOS, LOG, RECENCY, ONE, MOVE, SUM, COS, SIN, FIRST = range(9)


def mod_axis(walls: int, total: int, embedding: str, summed: bool) -> Axis:
    """The two layers of one coordinate 0 … walls on the channels SHARED + own."""
    names = (
        "move",
        "sum",
        "cos",
        "sin",
        *(["heads"] if summed else [f"visit {j}" for j in range(1, walls + 1)]),
    )
    dim = len(SHARED) + len(names)
    first_mlp = lift_mlp(circular_mlp(total, walls + 1, embedding), [SUM], [COS, SIN], dim)
    everywhere = np.ones(dim)
    first = Layer((prefix_sum_head(dim, MOVE, SUM, BOS, LOG),), first_mlp, everywhere, everywhere)
    heads = tuple(
        _head(walls, total, j, FIRST if summed else FIRST + j - 1, dim) for j in range(1, walls + 1)
    )
    local = _round_mlp(walls, total, dim) if summed else _bits_mlp(walls, total, dim)
    keep = everywhere.copy()
    keep[MOVE] = 0.0  # the state replaces the move
    return Axis(names, (first, Layer(heads, local, everywhere, keep)), MOVE)


def key_gap(walls: int) -> float:
    """c: half of what a wrong residue loses; recency costs at most c, so it never beats a match."""
    return (1.0 - math.cos(2.0 * math.pi / (walls + 1))) / 2.0


def _head(walls: int, total: int, shift: int, target: int, dim: int) -> Head:
    gap = key_gap(walls)
    scale = math.sqrt(LOGIT_GAP * total / gap)
    query, key = np.zeros((dim, 3)), np.zeros((dim, 3))
    query[ONE, 0] = math.sqrt(gap)
    query[[COS, SIN], 1:] = rotation(-2.0 * math.pi * shift / (walls + 1))
    key[RECENCY, 0] = math.sqrt(gap)
    key[BOS, 0] = (1.0 - gap / 2.0) / math.sqrt(gap)  # half-way between matched and unmatched scores
    key[[COS, SIN], [1, 2]] = 1.0
    key[BOS, 1] = -1.0  # ⊥ has the sum 0, at (1, 0): taken off, its score does not depend on the query
    return Head(scale * query, scale * key, basis(dim, [SUM]), basis(dim, [target]).T)


def _bits_mlp(walls: int, total: int, dim: int) -> Mlp:
    """state = Σ_j b_j, b_j = step at y = 1 − j − (visit_j − z) between ¼ and ¾: exact for |ξ| ≤ ¼."""
    units, size = 2 * walls, 2.0 * total
    first, second = np.zeros((dim, units)), np.zeros((units, dim))
    bias = np.zeros(units)
    for j in range(1, walls + 1):
        at = [2 * j - 2, 2 * j - 1]
        first[FIRST + j - 1, at], first[SUM, at] = -2.0 * size, 2.0 * size
        bias[at] = 2.0 * (1 - j) + np.array([-0.5, -1.5])
        second[at, MOVE] = [1.0, -1.0]
    return Mlp((first, second), (bias, np.zeros(dim)))


def _round_mlp(walls: int, total: int, dim: int) -> Mlp:
    """state = S − [2T′(A − S·x) + S(S+1)/2]/(S+1), rounded by Lemma 1D."""
    table = interpolate_1d(list(range(walls + 1)), list(range(walls + 1)))
    reads = np.zeros((dim, 1))
    reads[FIRST], reads[SUM] = -2.0 * total / (walls + 1), 2.0 * total * walls / (walls + 1)
    bias = table.biases[0] + table.weights[0][0] * (walls / 2.0)
    writes = basis(dim, [MOVE]).T
    return Mlp((reads @ table.weights[0], table.weights[1] @ writes), (bias, np.zeros(dim)))
