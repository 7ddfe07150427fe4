"""MLP 2 of Theorem 3, four ways: from the ages of the last visits to z_t − S … z_t + S to the state.

Input: x_0 … x_2S, x_s = log(2T′ − i) of the last visit i to z_t + s − S; larger is older. An unmatched head
repeats its inner neighbour, so "matched" means strictly older than the inner neighbour (erratum 17).

``log_depth``       variant (i): window maxima, a tree of minima, the arg min; depth O(log S), width O(S).
``max_pool``        the same with the tree replaced by all pairs of windows, two ReLU a pair: what a pooling
layer
                    computes, in constant depth and width O(S²) (there is no pooling in the network class).
``constant_depth``  variant (ii): comparison bits, then Lemma nD over the bit vectors that can occur (O(S³)
many,
                    not 2^O(S): erratum 21).
``count``           state = S − #{s : x′_{s−1} > x′_{s+S}}: two layers of width O(S), replacing both variants.
"""

from typing import Literal, get_args

import numpy as np

from krohn.construct.paper.grid_features import attainable_features
from krohn.construct.paper.interpolation_nd import interpolate_nd
from krohn.construct.paper.relu_program import ReluProgram, Wire
from krohn.errors import InvalidInput
from krohn.network.transformer import Mlp

StateMlp = Literal["log_depth", "max_pool", "constant_depth", "count"]
STATE_MLPS: tuple[str, ...] = get_args(StateMlp)


def state_mlp(walls: int, total: int, variant: str) -> Mlp:
    """The MLP from 2·walls + 1 ages to the state."""
    if variant == "constant_depth":
        return _constant_depth(walls, total)
    if variant not in STATE_MLPS:
        raise InvalidInput(f"variant must be one of {', '.join(STATE_MLPS)}; got {variant!r}")
    net = ReluProgram(2 * walls + 1)
    ages = _aged(net, walls, total)
    if variant == "count":
        older = [_later(net, ages[s - 1] - ages[s + walls], total) for s in range(1, walls + 1)]
        return net.finish([Wire.constant(walls) - sum(older, Wire())])
    tops = net.layer_of([(ages[s], ages[s + walls]) for s in range(walls + 1)], net.maximum)
    chosen = _first_by_tree(net, tops, total) if variant == "log_depth" else _first_by_pairs(net, tops, total)
    # Erratum 20: both branches of the printed formula are S − s; the boundary bit is not needed.
    return net.finish([sum((chosen[s] * (walls - s) for s in range(walls + 1)), Wire())])


def _later(net: ReluProgram, difference: Wire, total: int) -> Wire:
    """1[difference > 0] for differences that are ≤ 0 or ≥ 1/2T′ (Lemma threshold, shifted by 1/4T′)."""
    return net.step(difference, 1.0 / (8.0 * total), 3.0 / (8.0 * total))


def _aged(net: ReluProgram, walls: int, total: int) -> list[Wire]:
    """x′_s = x_s + 1[unmatched]: unmatched heads become older than all others (errata 17 and 18)."""
    inputs = net.inputs()
    matched = {}
    for s in range(2 * walls + 1):
        if s != walls:
            inner = s + 1 if s < walls else s - 1
            matched[s] = _later(net, inputs[s] - inputs[inner], total)
    ages = net.carry(inputs)
    net.next_layer()
    return [
        ages[s] + (Wire.constant(1) - matched[s] if s in matched else Wire()) for s in range(2 * walls + 1)
    ]


def _first_by_tree(net: ReluProgram, tops: list[Wire], total: int) -> list[Wire]:
    """M_s = 1[top_s ≤ least top] (erratum 19: the printed inequality is always true)."""
    nodes = tops
    while len(nodes) > 1:
        pairs = [net.minimum(a, b) for a, b in zip(nodes[::2], nodes[1::2], strict=False)]
        rest = net.carry(nodes[len(nodes) - len(nodes) % 2 :])
        tops = net.carry(tops)
        nodes = pairs + rest
        net.next_layer()
    chosen = [Wire.constant(1) - _later(net, top - nodes[0], total) for top in tops]
    net.next_layer()
    return chosen


def _first_by_pairs(net: ReluProgram, tops: list[Wire], total: int) -> list[Wire]:
    """M_s = 1 iff top_s is not above any other top."""
    beaten = [
        sum((_later(net, top - other, total) for other in tops if other is not top), Wire()) for top in tops
    ]
    net.next_layer()
    chosen = [net.relu(Wire.constant(1) - count) for count in beaten]
    net.next_layer()
    return chosen


def _constant_depth(walls: int, total: int) -> Mlp:
    """Bits 1[x_s > x_{s+S}], 1[x_{s−1} > x_{s+S}], "matched"; then the table of vectors that occur."""
    net = ReluProgram(2 * walls + 1)
    inputs = net.inputs()
    bits = [_later(net, inputs[a] - inputs[b], total) for a, b in comparisons(walls)]
    net.next_layer()
    first = net.finish(bits)
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
