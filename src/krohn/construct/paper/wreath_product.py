"""Lemma "Wreath product via direct and semidirect products": N ≀ C_p = (N × … × N) ⋊ C_p.

An element is (f, k): f = (f(0), …, f(p−1)) in N^p and k in C_p; first (f, k), then (f′, k′) is
(φ_k′(f)·f′, k + k′) with φ_k(f)(x) = f(x − k). The change of basis only permutes channels, so it needs no
table over N^p: every channel is picked by the indicator of k, as in the function composition of Theorem 1.

The lemma asks for "Sim_wr.repDim = 1" where it means Sim_H.repDim = 1, and counts |N| copies of the gadget
where it needs one per representation channel (errata 31).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from krohn.construct.paper.direct_product import direct_product
from krohn.construct.paper.group_simulator import GroupSimulator
from krohn.construct.paper.interpolation_1d import SIGNS, UNITS_PER_POINT, indicator_units
from krohn.construct.paper.semidirect_product import four_stages
from krohn.network.transformer import Mlp


def wreath_product(normal: GroupSimulator, quotient: GroupSimulator, order: int) -> GroupSimulator:
    """Sim(N ≀ C_order, T) for a cyclic quotient encoded as one integer; elements are ((f(0), …), k)."""
    copies = direct_product([normal] * order)
    change = reindex_mlp(order, normal.rep_dim, normal.rep_size, 1)
    back = reindex_mlp(order, normal.rep_dim, normal.rep_size, -1)

    def multiply(first: tuple[Any, int], second: tuple[Any, int]) -> tuple[Any, int]:
        moved = tuple(first[0][(x - second[1]) % order] for x in range(order))
        assert copies.multiply is not None
        return copies.multiply(moved, second[0]), (first[1] + second[1]) % order

    return GroupSimulator(
        four_stages(copies, quotient, change, back),
        copies.rep_dim + 1,
        max(normal.rep_size, order),
        lambda element: (*copies.encode(element[0]), *quotient.encode(element[1])),
        (),
        multiply,
    )


def reindex_mlp(order: int, width: int, size: int, sign: int) -> Mlp:
    """(f, k) ↦ (f(x + sign·k))_x for f in blocks of ``width`` channels with entries 0 … size−1.

    Hidden: the 4·order units that tell k, and all of f; then relu(M·1[k] + f(x ± k) − M), M = size.
    """
    entries, told = order * width, UNITS_PER_POINT * order
    slope, bias = indicator_units(list(range(order)), 1.0)
    first = np.zeros((entries + 1, told + entries))
    first[entries, :told] = slope
    first[:entries, told:] = np.eye(entries)
    second = np.zeros((told + entries, order * entries))
    third = np.zeros((order * entries, entries))
    for k in range(order):
        for x in range(order):
            units = range(k * entries + x * width, k * entries + (x + 1) * width)
            source = ((x + sign * k) % order) * width
            second[k * UNITS_PER_POINT : (k + 1) * UNITS_PER_POINT, units] = float(size) * SIGNS[:, None]
            second[told + source + np.arange(width), units] = 1.0
            third[units, x * width + np.arange(width)] = 1.0
    biases = (
        np.concatenate([bias, np.zeros(entries)]),
        np.full(order * entries, -float(size)),
        np.zeros(entries),
    )
    return Mlp((first, second, third), biases)


def reindex_meaning(blocks: Sequence[Sequence[int]], k: int, sign: int) -> list[list[int]]:
    """f(x + sign·k) for every x."""
    return [list(blocks[(x + sign * k) % len(blocks)]) for x in range(len(blocks))]
