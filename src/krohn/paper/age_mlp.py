"""MLP 2 of Theorem 3, four ways: from the ages of the last visits to z_t − S … z_t + S to the state.

Input: x_0 … x_2S, x_s = log(2T′ − i) of the last visit i to z_t + s − S; larger is older. An unmatched
head repeats its inner neighbour, so "matched" means strictly older than the inner neighbour (erratum
17).

``log_depth``       variant (i): window maxima, a tree of minima, the arg min; depth O(log S), width O(S).
``max_pool``        the same with the tree replaced by all pairs of windows, two ReLU a pair: what a pooling
                    layer computes, in constant depth and width O(S²) (the network class has no pooling).
``constant_depth``  variant (ii): comparison bits, then Lemma nD over the bit vectors that can occur (O(S³)
                    many, not 2^O(S): erratum 21).
``count``           state = S − #{s : x′_{s−1} > x′_{s+S}}: two layers of width O(S) replace both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from krohn.base.portable import log
from krohn.errors import InvalidInput
from krohn.network.lowering.mlp_builder import MlpBuilder, Signal
from krohn.network.transformer import Mlp
from krohn.paper.interpolation import interpolate_nd

Interleaving = tuple[int, int, tuple[int, ...]]
"""Visited sums on the left, on the right (at most S each), and which steps back were left."""


@lru_cache(maxsize=32)
def attainable_features(
    walls: int, comparisons: tuple[tuple[int, int], ...]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Distinct bit vectors over all interleavings, and the state each belongs to.

    Which comparison bits can occur in Theorem 3: the rows of variant (ii).

    Looking back from t, the visited sums around z_t form an interval that grows by one on the left or on the
    right at a time. So the ages are an interleaving of the left and the right sums; a side may end early
    (never visited), but not both, because the padding visited S + 1 sums.

    The bits compare left sum a with right sum b for a + b = S and S + 1 only, and an unmatched head repeats
    its inner neighbour. So they depend on the first S steps back through their number of lefts and the
    length of the last run, and on how many sums are visited on each side: O(S⁴) interleavings stand for all
    C(2S, S).
    """
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
    outside = [(s - 1, s + walls) for s in range(1, walls + 1)]
    inner = [(s, s + 1) for s in range(walls)] + [(s, s - 1) for s in range(walls + 1, 2 * walls + 1)]
    return (*ends, *outside, *inner)
