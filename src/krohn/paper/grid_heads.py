"""Theorem 3 on one coordinate: two layers on local channels; a grid of k dimensions lifts k side by side.

Layer 1 adds up the moves and puts the sum on a circle; layer 2 finds last visits and turns them into the
state, in one of two ways: S heads modulo S + 1 (``mod_axis``), or the paper's 2S + 1 heads (``paper_axis``).
"""

import math
from dataclasses import dataclass

import numpy as np

from krohn.base.portable import cos, log
from krohn.network.transformer import Head, Layer, Matrix, Mlp
from krohn.paper.age_mlp import state_mlp
from krohn.paper.blocks import basis, lift_mlp
from krohn.paper.circular_mlp import circular_mlp
from krohn.paper.counter import prefix_sum_head
from krohn.paper.interpolation import interpolate_1d
from krohn.paper.positions import rotation

MOD_SHARED = ("bos", "log", "recency", "one")
PAPER_SHARED = ("bos", "log", "one")
"""Position channels that all axes share; each axis has its own four after them, then one for each head."""
OWN = ("move", "sum", "cos", "sin")


@dataclass(frozen=True, eq=False)
class Axis:
    """``layers`` on local channels: shared ones first, then ``names``; the state ends in ``output``."""

    names: tuple[str, ...]
    layers: tuple[Layer, Layer]
    output: int


Places = dict[str, int]
"""Local channels by name; ``heads`` is the first of the heads' channels."""


def places_of(shared: tuple[str, ...]) -> Places:
    """The channels of an axis with these shared channels."""
    return {name: index for index, name in enumerate((*shared, *OWN, "heads"))}


def _axis(shared: tuple[str, ...], names: list[str], circle: Mlp, heads: tuple[Head, ...], mlp: Mlp) -> Axis:
    """Sum and circle, then the heads and the MLP that replaces the move by the state."""
    at, dim = places_of(shared), len(shared) + len(OWN) + len(names)
    everywhere, keep = np.ones(dim), np.ones(dim)
    keep[at["move"]] = 0.0
    total = prefix_sum_head(dim, at["move"], at["sum"], at["bos"], at["log"])
    first = Layer(
        (total,), lift_mlp(circle, [at["sum"]], [at["cos"], at["sin"]], dim), everywhere, everywhere
    )
    return Axis((*OWN, *names), (first, Layer(heads, mlp, everywhere, keep)), at["move"])


MOD_LOGIT_GAP = 8.0
"""Score by which a visit beats the previous one; attention errors are e^(−gap) per position."""


def mod_axis(walls: int, total: int, embedding: str, summed: bool) -> Axis:
    """The two layers of one coordinate 0 … walls on the channels MOD_SHARED + own.

    S heads modulo S + 1: the recommended second layer.

    The sums z_t − j and z_t − j + S + 1 are the two nearest members of one residue class, and by continuity
    the last visit to that class is one of them. So head j = 1 … S looks for the latest i with z_i ≡ z_t − j
    mod (S + 1) and returns z_i, and b_j = 1[z_i = z_t − j] is bit j of the state in unary. No head is ever
    unmatched after the padding, so errata 17 to 20 do not arise, and keys are 1 − cos(2π/(S+1)) apart
    instead of ~1/T².

    ⊥ is the default of every head: its score lies between matched and unmatched ones.

    ``mod``      every head has its own channel: dimension S + 8, bits by 2 ReLU each.
    ``mod_sum``  all heads add into one channel, because the state is linear in Σ_j z_{i_j}: dimension 9 for
                 every S, which makes the main text's "embedding dimension O(1)" true (erratum 25).
    """
    at = places_of(MOD_SHARED)
    names = ["heads"] if summed else [f"visit {j}" for j in range(1, walls + 1)]
    dim = len(MOD_SHARED) + len(OWN) + len(names)
    shifts = range(1, walls + 1)
    targets = [at["heads"] + (0 if summed else j - 1) for j in shifts]
    heads = tuple(_mod_head(walls, total, j, to, dim, at) for j, to in zip(shifts, targets, strict=True))
    mlp = (_round_mlp if summed else _bits_mlp)(walls, total, dim, at)
    return _axis(MOD_SHARED, names, circular_mlp(total, walls + 1, embedding), heads, mlp)


def key_gap(walls: int) -> float:
    """c: half of what a wrong residue loses; recency costs at most c, so it never beats a match."""
    return (1.0 - cos(2.0 * math.pi / (walls + 1))) / 2.0


def _mod_head(walls: int, total: int, shift: int, target: int, dim: int, at: Places) -> Head:
    gap = key_gap(walls)
    scale = math.sqrt(MOD_LOGIT_GAP * total / gap)
    query, key = np.zeros((dim, 3)), np.zeros((dim, 3))
    query[at["one"], 0] = math.sqrt(gap)
    query[[at["cos"], at["sin"]], 1:] = rotation(-2.0 * math.pi * shift / (walls + 1))
    key[at["recency"], 0] = math.sqrt(gap)
    key[at["bos"], 0] = (1.0 - gap / 2.0) / math.sqrt(gap)  # half-way between matched and unmatched scores
    key[[at["cos"], at["sin"]], [1, 2]] = 1.0
    key[at["bos"], 1] = -1.0  # ⊥ has the sum 0, at (1, 0): taken off, its score does not depend on the query
    return Head(scale * query, scale * key, basis(dim, [at["sum"]]), basis(dim, [target]).T)


def _bits_mlp(walls: int, total: int, dim: int, at: Places) -> Mlp:
    """state = Σ_j b_j, b_j = step at y = 1 − j − (visit_j − z) between ¼ and ¾: exact for |ξ| ≤ ¼."""
    units, size = 2 * walls, 2.0 * total
    first, second = np.zeros((dim, units)), np.zeros((units, dim))
    bias = np.zeros(units)
    for j in range(1, walls + 1):
        pair = [2 * j - 2, 2 * j - 1]
        first[at["heads"] + j - 1, pair], first[at["sum"], pair] = -2.0 * size, 2.0 * size
        bias[pair] = 2.0 * (1 - j) + np.array([-0.5, -1.5])
        second[pair, at["move"]] = [1.0, -1.0]
    return Mlp((first, second), (bias, np.zeros(dim)))


def _round_mlp(walls: int, total: int, dim: int, at: Places) -> Mlp:
    """state = S − [2T′(A − S·x) + S(S+1)/2]/(S+1), rounded by Lemma 1D."""
    table = interpolate_1d(list(range(walls + 1)), list(range(walls + 1)))
    reads = np.zeros((dim, 1))
    reads[at["heads"]], reads[at["sum"]] = -2.0 * total / (walls + 1), 2.0 * total * walls / (walls + 1)
    bias = table.biases[0] + table.weights[0][0] * (walls / 2.0)
    writes = basis(dim, [at["move"]]).T
    return Mlp((reads @ table.weights[0], table.weights[1] @ writes), (bias, np.zeros(dim)))


PAPER_LOGIT_GAP = 20.0
"""Score by which a visit beats the previous one. Errors of scores grow with it, those of values shrink."""


def paper_axis(walls: int, total: int, embedding: str, variant: str) -> Axis:
    """The two layers of one coordinate 0 … walls; ``variant`` names the second MLP.

    The paper's 2S + 1 heads: head s returns γ of the last visit to the sum z_t + s − S.

    Corrected (docs/errata.md): the entry −c of W_Q stands in the wrong place (15), ⊥ needs γ = log 2T′ (16),
    heads have channels of their own, so the dimension is O(S) (25), and soft attention needs scores of size
    T′³ (26). A head whose sum was never visited does not select t, as the paper says, but repeats its inner
    neighbour (17).
    """
    at, count = places_of(PAPER_SHARED), 2 * walls + 1
    dim = len(PAPER_SHARED) + len(OWN) + count
    heads = tuple(visit_head(walls, total, s, dim) for s in range(count))
    reads = [*range(at["heads"], at["heads"] + count)]
    mlp = lift_mlp(state_mlp(walls, total, variant), reads, [at["move"]], dim)
    circle = circular_mlp(total, 4.0 * total, embedding)
    return _axis(PAPER_SHARED, [f"head {s}" for s in range(count)], circle, heads, mlp)


def visit_head(walls: int, total: int, number: int, dim: int) -> Head:
    """Score β·[cos(π(x_t + (s−S)/2T′ − x_i)) − c·γ_i]: matched sums first, the newest among them."""
    at = places_of(PAPER_SHARED)
    # Erratum 24: the gap is 1 − cos(π/2T′) itself, which is less than the printed π²/8T².
    recency = (1.0 - cos(math.pi / (2.0 * total))) / (2.0 * log(2.0))
    scale = math.sqrt(2.0 * total * PAPER_LOGIT_GAP / recency)
    query = query_block(recency, math.pi * (number - walls) / (2.0 * total), dim)
    key = basis(dim, [at["log"], at["cos"], at["sin"]])
    return Head(scale * query, scale * key, basis(dim, [at["log"]]), basis(dim, [at["heads"] + number]).T)


def query_block(recency: float, angle: float, dim: int) -> Matrix:
    """Erratum 15: −c stands in row "one" against the key γ, not in row γ against the constant."""
    at = places_of(PAPER_SHARED)
    query = np.zeros((dim, 3))
    query[at["one"], 0] = -recency
    query[[at["cos"], at["sin"]], 1:] = rotation(angle)
    return query
