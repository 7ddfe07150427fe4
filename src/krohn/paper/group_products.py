"""Solvable groups in constant depth: simulators, their direct, semidirect and wreath products."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import product, zip_longest
from typing import Any

import numpy as np

from krohn.algebra.counters import CounterTower
from krohn.errors import InvalidInput
from krohn.network.transformer import Layer, Mlp
from krohn.paper.blocks import identity_layer, lift_layer, lift_mlp, parallel_layers
from krohn.paper.counter import counter_layer
from krohn.paper.interpolation import SIGNS, UNITS_PER_POINT, indicator_units, interpolate_nd

Code = tuple[int, ...]
SHARED = 2
"""⊥ and position."""


@dataclass(frozen=True, eq=False)
class GroupSimulator:
    """Layers on ``rep_dim + 2`` channels, and the encoding of elements.

    ``elements`` lists the group where it is small enough; a wreath product is not, and then it is empty.

    A network that simulates a group: "Sim(G, T)" of the paper, on integer vectors with 0 for the identity.

    Channels of the layers: ``rep_dim`` channels that hold the encoded letter before and the encoded prefix
    product g_1·…·g_t after, then ⊥ and the position, which all simulators share. Products combine simulators
    by lifting their layers to more channels. A product g·h means "first g, then h", as everywhere here; the
    paper writes it the other way round.
    """

    layers: tuple[Layer, ...]
    rep_dim: int
    rep_size: int
    encode: Callable[[Any], Code] = field(repr=False)
    elements: tuple[Hashable, ...] = field(repr=False, default=())

    def place(self, channels: Sequence[int], shared: Sequence[int], dim: int) -> list[Layer]:
        """The layers lifted to the given representation channels of a wider stream."""
        return [lift_layer(layer, [*channels, *shared], dim) for layer in self.layers]


def cyclic_simulator(order: int, length: int, counting: str = "relu") -> GroupSimulator:
    """Sim(C_n, T): the modular counter; element k is encoded as (k,)."""
    layers = (counter_layer(order, length, 0, counting),)
    return GroupSimulator(layers, 1, order, lambda element: (int(element),), tuple(range(order)))


def trivial_simulator() -> GroupSimulator:
    """The group of one element: nothing to hold, nothing to do."""
    return GroupSimulator((), 0, 1, lambda element: (), (0,))


def direct_product(parts: Sequence[GroupSimulator]) -> GroupSimulator:
    """Sim(G₁ × … × G_n, T); elements are tuples, listed where every factor is.

    Lemma "Direct product via parallel simulation": simulators side by side, the shallower ones padded.
    """
    rep_dim = sum(part.rep_dim for part in parts)
    dim = rep_dim + SHARED
    listed = all(part.elements for part in parts)
    elements = tuple(product(*(part.elements for part in parts))) if listed else ()

    def encode(element: Sequence[object]) -> tuple[int, ...]:
        return tuple(v for part, own in zip(parts, element, strict=True) for v in part.encode(own))

    layers = side_by_side(parts, dim)
    size = max((part.rep_size for part in parts), default=1)
    return GroupSimulator(layers, rep_dim, size, encode, elements)


def side_by_side(parts: Sequence[GroupSimulator], dim: int) -> tuple[Layer, ...]:
    """Their layers on consecutive channels from 0; the last two channels of the stream are shared."""
    shared = [dim - 2, dim - 1]
    placed, start = [], 0
    for part in parts:
        placed.append(part.place(range(start, start + part.rep_dim), shared, dim))
        start += part.rep_dim
    return tuple(map(parallel_layers, zip_longest(*placed, fillvalue=identity_layer(dim))))


def four_stages(
    normal: GroupSimulator, quotient: GroupSimulator, change: Mlp, back: Mlp
) -> tuple[Layer, ...]:
    """H, change of basis, N, change back; both MLPs read (N, H) and write N. Channels: N, H, shared.

    Lemma "Semidirect product via 4-stage cascade": N ⋊ H from simulators of N and H.

    First (g, h), then (g′, h′) is (φ_h′(g)·g′, h·h′). With h_≤t known, φ⁻¹_{h_≤t}(g_≤t) is the plain product
    of φ⁻¹_{h_≤s}(g_s), so: simulate H; change basis; simulate N (erratum 36: the text says Sim_H again);
    change back.
    """
    n, h = normal.rep_dim, quotient.rep_dim
    dim = n + h + SHARED
    shared = [n + h, n + h + 1]
    first = quotient.place(range(n, n + h), shared, dim)
    middle = normal.place(range(n), shared, dim)
    return (*first, _mixing(change, n, h, dim), *middle, _mixing(back, n, h, dim))


def _mixing(mlp: Mlp, n: int, h: int, dim: int) -> Layer:
    """A layer with identity attention whose MLP replaces the N channels."""
    keep = np.ones(dim)
    keep[:n] = 0.0
    return Layer((), lift_mlp(mlp, range(n + h), range(n), dim), np.ones(dim), keep)


Action = Callable[[Any, Any], Any]
"""(h, g) ↦ φ_h(g)."""


def semidirect_product(normal: GroupSimulator, quotient: GroupSimulator, action: Action) -> GroupSimulator:
    """Sim(N ⋊ H, T); elements are pairs (g, h).

    Lemma "Wreath product via direct and semidirect products": N ≀ C_p = (N × … × N) ⋊ C_p.

    An element is (f, k): f = (f(0), …, f(p−1)) in N^p and k in C_p; first (f, k), then (f′, k′) is
    (φ_k′(f)·f′, k + k′) with φ_k(f)(x) = f(x − k). The change of basis only permutes channels, so it needs
    no table over N^p: every channel is picked by the indicator of k, as in the function composition of
    Theorem 1.

    The lemma asks for "Sim_wr.repDim = 1" where it means Sim_H.repDim = 1, and counts |N| copies of the
    gadget where it needs one per representation channel (errata 31).
    """
    if not (normal.elements and quotient.elements):
        raise InvalidInput("a semidirect product needs both groups listed; use the wreath product")
    inverse = {h: {action(h, g): g for g in normal.elements} for h in quotient.elements}
    change = _table(normal, quotient, lambda h, g: inverse[h][g])
    back = _table(normal, quotient, action)
    return GroupSimulator(
        four_stages(normal, quotient, change, back),
        normal.rep_dim + quotient.rep_dim,
        max(normal.rep_size, quotient.rep_size),
        lambda element: (*normal.encode(element[0]), *quotient.encode(element[1])),
        tuple(product(normal.elements, quotient.elements)),
    )


def _table(normal: GroupSimulator, quotient: GroupSimulator, image: Action) -> Mlp:
    pairs = list(product(normal.elements, quotient.elements))
    rows = [(*normal.encode(g), *quotient.encode(h)) for g, h in pairs]
    return interpolate_nd(rows, [normal.encode(image(h, g)) for g, h in pairs])


def wreath_product(normal: GroupSimulator, quotient: GroupSimulator, order: int) -> GroupSimulator:
    """Sim(N ≀ C_order, T) for a cyclic quotient encoded as one integer; elements are ((f(0), …), k)."""
    copies = direct_product([normal] * order)
    change = reindex_mlp(order, normal.rep_dim, normal.rep_size, 1)
    back = reindex_mlp(order, normal.rep_dim, normal.rep_size, -1)
    return GroupSimulator(
        four_stages(copies, quotient, change, back),
        copies.rep_dim + 1,
        max(normal.rep_size, order),
        lambda element: (*copies.encode(element[0]), *quotient.encode(element[1])),
    )


def reindex_mlp(order: int, width: int, size: int, sign: int) -> Mlp:
    """(f, k) ↦ (f(x + sign·k))_x for f in blocks of ``width`` channels with entries 0 … size−1.

    Hidden: the 4·order units that tell k, and all of f; then relu(M·1[k] + f(x ± k) − M), M = size.
    """
    entries, indicators = order * width, UNITS_PER_POINT * order
    slope, bias = indicator_units(list(range(order)), 1.0)
    first = np.zeros((entries + 1, indicators + entries))
    first[entries, :indicators] = slope
    first[:entries, indicators:] = np.eye(entries)
    second = np.zeros((indicators + entries, order * entries))
    third = np.zeros((order * entries, entries))
    for k in range(order):
        for x in range(order):
            units = range(k * entries + x * width, k * entries + (x + 1) * width)
            source = ((x + sign * k) % order) * width
            second[k * UNITS_PER_POINT : (k + 1) * UNITS_PER_POINT, units] = float(size) * SIGNS[:, None]
            second[indicators + source + np.arange(width), units] = 1.0
            third[units, x * width + np.arange(width)] = 1.0
    first_bias = np.concatenate([bias, np.zeros(entries)])
    biases = (first_bias, np.full(order * entries, -float(size)), np.zeros(entries))
    return Mlp((first, second, third), biases)


def solvable_simulator(tower: CounterTower, length: int, counting: str = "relu") -> GroupSimulator:
    """Sim(G, T) on the vectors of a prime tower: depth 3l − 2 for l sections.

    Theorem "Simulation of solvable groups": a wreath product for every step of a composition series. The
    paper cites the embedding into it but never writes it down (erratum 32): ``krohn.algebra.permgroup``.
    """
    current = trivial_simulator()
    for height, prime in enumerate(reversed(tower.moduli)):
        quotient = cyclic_simulator(prime, length, counting)
        current = wreath_product(current, quotient, prime) if height else quotient
    return GroupSimulator(
        current.layers, current.rep_dim, current.rep_size, tower.vector, tuple(tower.vectors)
    )
