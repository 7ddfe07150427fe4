"""Theorem 3 on one coordinate: two layers on local channels; a grid of k dimensions lifts k side by side.

Layer 1 adds up the moves and puts the sum on a circle; layer 2 finds last visits and turns them into the
state, in one of two ways: S heads modulo S + 1 (``mod_axis``), or the paper's 2S + 1 heads (``paper_axis``).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from krohn.base.portable import cos, each, log, sin
from krohn.errors import InvalidInput
from krohn.network.lowering.maps import MlpBuilder, Signal
from krohn.network.transformer import SIN, Head, Layer, Matrix, Mlp
from krohn.paper.blocks import basis, lift_mlp
from krohn.paper.lemmas import interpolate_1d, interpolate_nd, prefix_sum_head, rotation

# Which comparison bits can occur in Theorem 3: the rows of variant (ii).
#
# Looking back from t, the visited sums around z_t form an interval that grows by one on the left or on the
# right at a time. So the ages are an interleaving of the left and the right sums; a side may end early (never
# visited), but not both, because the padding visited S + 1 sums.
#
# The bits compare left sum a with right sum b for a + b = S and S + 1 only, and an unmatched head repeats its
# inner neighbour. So they depend on the first S steps back through their number of lefts and the length of
# the last run, and on how many sums are visited on each side: O(S⁴) interleavings stand for all C(2S, S).


Interleaving = tuple[int, int, tuple[int, ...]]
"""Visited sums on the left, on the right (at most S each), and which steps back were left."""


@lru_cache(maxsize=32)
def attainable_features(
    walls: int, comparisons: tuple[tuple[int, int], ...]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Distinct bit vectors over all interleavings, and the state each belongs to."""
    result: dict[tuple[int, ...], int] = {}
    for left, right, chosen in representative_interleavings(walls):
        ages = interleaved_ages(walls, left, right, chosen)
        bits = tuple(int(ages[a] > ages[b]) for a, b in comparisons)
        state = state_from_ages(walls, left, right, ages)
        assert result.setdefault(bits, state) == state, "features must decide the state"
    rows = tuple(sorted(result))
    return rows, tuple(result[row] for row in rows)


def representative_interleavings(walls: int) -> Iterator[Interleaving]:
    """One for every value of (lefts in the first S steps, last run, sums visited on each side)."""
    for lefts in range(walls + 1):
        for steps in set(_first_steps(lefts, walls - lefts)):
            for left in range(lefts, walls + 1):
                for right in range(walls - lefts, walls + 1):
                    whole = steps + "L" * (left - lefts)
                    yield left, right, tuple(i for i, side in enumerate(whole) if side == "L")


def _first_steps(lefts: int, rights: int) -> Iterator[str]:
    """Words with these numbers of L and R, one for every kind and length of the last run."""
    for run in range(1, rights + 1):
        if lefts or run == rights:
            yield "R" * (rights - run) + "L" * lefts + "R" * run
    for run in range(1, lefts + 1):
        if rights or run == lefts:
            yield "L" * (lefts - run) + "R" * rights + "L" * run


def interleaved_ages(walls: int, left: int, right: int, chosen: Sequence[int]) -> list[int]:
    """Ages of heads 0 … 2S: 0 in the middle, growing outwards, an unmatched head repeating its neighbour."""
    lefts = sorted(chosen)
    rights = [turn for turn in range(left + right) if turn not in set(chosen)]
    outward = [[0, *(turn + 1 for turn in side)] for side in (lefts, rights)]
    padded = [side + [side[-1]] * (walls + 1 - len(side)) for side in outward]
    return padded[0][::-1] + padded[1][1:]


def state_from_ages(walls: int, left: int, right: int, ages: Sequence[int]) -> int:
    """S − #{s : head s−1 is older than head s+S}, an unmatched head being older than any."""
    oldest = len(ages)
    final = [age + (oldest if walls - s > left or s - walls > right else 0) for s, age in enumerate(ages)]
    return walls - sum(final[s - 1] > final[s + walls] for s in range(1, walls + 1))


# MLP 2 of Theorem 3, four ways: from the ages of the last visits to z_t − S … z_t + S to the state.
#
# Input: x_0 … x_2S, x_s = log(2T′ − i) of the last visit i to z_t + s − S; larger is older. An unmatched head
# repeats its inner neighbour, so "matched" means strictly older than the inner neighbour (erratum 17).
#
# ``log_depth``       variant (i): window maxima, a tree of minima, the arg min; depth O(log S), width O(S).
# ``max_pool``        the same with the tree replaced by all pairs of windows, two ReLU a pair: what a pooling
#                     layer computes, in constant depth and width O(S²) (the network class has no pooling).
# ``constant_depth``  variant (ii): comparison bits, then Lemma nD over the bit vectors that can occur (O(S³)
#                     many, not 2^O(S): erratum 21).
# ``count``           state = S − #{s : x′_{s−1} > x′_{s+S}}: two layers of width O(S) replace both.


StateMlp = Literal["log_depth", "max_pool", "constant_depth", "count"]
STATE_MLPS: tuple[str, ...] = get_args(StateMlp)


def state_mlp(walls: int, total: int, variant: str) -> Mlp:
    """The MLP from 2·walls + 1 ages to the state."""
    if variant == "constant_depth":
        return _constant_depth(walls, total)
    if variant not in STATE_MLPS:
        raise InvalidInput(f"variant must be one of {', '.join(STATE_MLPS)}; got {variant!r}")
    net = MlpBuilder(2 * walls + 1, balanced=False)
    ages = _mark_unmatched(net, walls, total)
    if variant == "count":
        older = [_later(net, ages[s - 1], ages[s + walls], total) for s in range(1, walls + 1)]
        return net.build({0: net.total([bit.scaled(-1.0) for bit in older], walls)}, 1)
    # max(a, b) = a + (b − a)_+: two units (erratum 27: the paper counts one).
    pairs = zip(ages, ages[walls:], strict=False)
    tops = [_age(net.total([a, net.positive(minus(net, b, a))]), total) for a, b in pairs]
    chosen = (_first_by_tree if variant == "log_depth" else _first_by_pairs)(net, tops, total)
    # Erratum 20: both branches of the printed formula are S − s; the boundary bit is not needed.
    return net.build({0: net.total([bit.scaled(walls - s) for s, bit in enumerate(chosen)])}, 1)


def age_signals(net: MlpBuilder, total: int) -> list[Signal]:
    """The inputs: logarithms of T′ … 2T′."""
    return [Signal(0, {index: 1.0}, 0.0, 0.0, log(2.0 * total)) for index in range(net.dim)]


def _age(signal: Signal, total: int) -> Signal:
    """The signal, known to be an age, or one more: what interval bounds do not see."""
    return replace(signal, low=0.0, high=log(2.0 * total) + 1.0)


def minus(net: MlpBuilder, a: Signal, b: Signal) -> Signal:
    """a − b; carried before its sign is turned, so that one unit carries it for all readers."""
    return net.total([a, net.carried(b, a.layer).scaled(-1.0)])


def _later(net: MlpBuilder, a: Signal, b: Signal, total: int) -> Signal:
    """1[a > b] for differences that are ≤ 0 or ≥ 1/2T′ (Lemma threshold, shifted by 1/4T′)."""
    difference = minus(net, a, b)
    rise, fall = (net.unit(difference, 4.0 * total, -edge) for edge in (0.5, 1.5))
    return Signal(difference.layer + 1, {rise: 1.0, fall: -1.0}, 0.0, 0.0, 1.0)


def _mark_unmatched(net: MlpBuilder, walls: int, total: int) -> list[Signal]:
    """x′_s = x_s + 1[unmatched]: unmatched heads become older than all others (errata 17 and 18)."""
    inputs = age_signals(net, total)
    ages = []
    for s, own in enumerate(inputs):
        inner = own if s == walls else inputs[s + 1 if s < walls else s - 1]
        unmatched = [] if s == walls else [_later(net, own, inner, total).scaled(-1.0)]
        ages.append(_age(net.total([own, *unmatched], float(s != walls)), total))
    return ages


def _first_by_tree(net: MlpBuilder, tops: list[Signal], total: int) -> list[Signal]:
    """M_s = 1[top_s ≤ least top] (erratum 19: the printed inequality is always true)."""
    nodes = tops
    while len(nodes) > 1:
        pairs = zip(nodes[::2], nodes[1::2], strict=False)
        rest = nodes[len(nodes) - len(nodes) % 2 :]
        # min(a, b) = a − (a − b)_+
        nodes = [_age(minus(net, a, net.positive(minus(net, a, b))), total) for a, b in pairs] + rest
    return [net.total([_later(net, top, nodes[0], total).scaled(-1.0)], 1.0) for top in tops]


def _first_by_pairs(net: MlpBuilder, tops: list[Signal], total: int) -> list[Signal]:
    """M_s = 1 iff top_s is not above any other top."""
    beaten = [[_later(net, top, other, total) for other in tops if other is not top] for top in tops]
    return [net.positive(net.total([bit.scaled(-1.0) for bit in bits], 1.0)) for bits in beaten]


def _constant_depth(walls: int, total: int) -> Mlp:
    """Bits 1[x_s > x_{s+S}], 1[x_{s−1} > x_{s+S}], "matched"; then the table of vectors that occur."""
    net = MlpBuilder(2 * walls + 1, balanced=False)
    inputs = age_signals(net, total)
    bits = [_later(net, inputs[a], inputs[b], total) for a, b in comparisons(walls)]
    first = net.build(dict(enumerate(bits)), len(bits))
    vectors, states = attainable_features(walls, comparisons(walls))
    table = interpolate_nd(np.array(vectors), np.array(states))
    weights = (first.weights[0], first.weights[1] @ table.weights[0], *table.weights[1:])
    return Mlp(
        weights, (first.biases[0], first.biases[1] @ table.weights[0] + table.biases[0], *table.biases[1:])
    )


def comparisons(walls: int) -> tuple[tuple[int, int], ...]:
    """Pairs (a, b) whose bit 1[x_a > x_b] is a feature; the last 2S say which heads are matched."""
    ends = [(s, s + walls) for s in range(walls + 1)]
    beyond = [(s - 1, s + walls) for s in range(1, walls + 1)]
    inner = [(s, s + 1) for s in range(walls)] + [(s, s - 1) for s in range(walls + 1, 2 * walls + 1)]
    return (*ends, *beyond, *inner)


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


# MLP 1: a prefix sum, scaled by 1/2T′, becomes a point on a circle of a given period.
#
# ``relu``     Lemma 1D as printed: width 4(2T′+1). Its alternating sum of large terms costs about 1e-3 in
#              float32.
# ``clamped``  indicators in two hidden layers, 2(2T′+1) and 2T′+1 units, exactly 0 or 1; fit for float32.
# ``sin``      periodic activations: two units, whatever T′ is (the paper's remark; its footnote says one).


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


# S heads modulo S + 1: the recommended second layer.
#
# The sums z_t − j and z_t − j + S + 1 are the two nearest members of one residue class, and by continuity the
# last visit to that class is one of them. So head j = 1 … S looks for the latest i with z_i ≡ z_t − j mod (S
# + 1) and returns z_i, and b_j = 1[z_i = z_t − j] is bit j of the state in unary. No head is ever unmatched
# after the padding, so errata 17 to 20 do not arise, and keys are 1 − cos(2π/(S+1)) apart instead of ~1/T².
#
# ⊥ is the default of every head: its score lies between matched and unmatched ones.
#
# ``mod``      every head has its own channel: dimension S + 8, bits by 2 ReLU each.
# ``mod_sum``  all heads add into one channel, because the state is linear in Σ_j z_{i_j}: dimension 9 for
#              every S, which makes the main text's "embedding dimension O(1)" true (erratum 25).


MOD_LOGIT_GAP = 8.0
"""Score by which a visit beats the previous one; attention errors are e^(−gap) per position."""


def mod_axis(walls: int, total: int, embedding: str, summed: bool) -> Axis:
    """The two layers of one coordinate 0 … walls on the channels MOD_SHARED + own."""
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


# The paper's 2S + 1 heads: head s returns γ of the last visit to the sum z_t + s − S.
#
# Corrected (docs/errata.md): the entry −c of W_Q stands in the wrong place (15), ⊥ needs γ = log 2T′ (16),
# heads have channels of their own, so the dimension is O(S) (25), and soft attention needs scores of size T′³
# (26). A head whose sum was never visited does not select t, as the paper says, but repeats its inner
# neighbour (17).


PAPER_LOGIT_GAP = 20.0
"""Score by which a visit beats the previous one. Errors of scores grow with it, those of values shrink."""


def paper_axis(walls: int, total: int, embedding: str, variant: str) -> Axis:
    """The two layers of one coordinate 0 … walls; ``variant`` names the second MLP."""
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
