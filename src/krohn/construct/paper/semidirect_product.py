"""Lemma "Semidirect product via 4-stage cascade": N ⋊ H from simulators of N and H.

First (g, h), then (g′, h′) is (φ_h′(g)·g′, h·h′). With h_≤t known, φ⁻¹_{h_≤t}(g_≤t) is the plain product of
φ⁻¹_{h_≤s}(g_s), so: simulate H; change basis; simulate N (erratum 36: the text says Sim_H again); change
back.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from krohn.construct.paper.channels import lift_mlp
from krohn.construct.paper.group_simulator import SHARED, GroupSimulator
from krohn.construct.paper.interpolation_nd import interpolate_nd
from krohn.errors import InvalidInput
from krohn.network.transformer import Layer, Mlp

Action = Callable[[Any, Any], Any]
"""(h, g) ↦ φ_h(g)."""


def semidirect_product(normal: GroupSimulator, quotient: GroupSimulator, action: Action) -> GroupSimulator:
    """Sim(N ⋊ H, T); elements are pairs (g, h)."""
    if not (normal.elements and quotient.elements):
        raise InvalidInput("a semidirect product needs both groups listed; use the wreath product")
    inverse = {h: {action(h, g): g for g in normal.elements} for h in quotient.elements}
    change = _table(normal, quotient, lambda h, g: inverse[h][g])
    back = _table(normal, quotient, action)

    def multiply(first: tuple[Any, Any], second: tuple[Any, Any]) -> tuple[Any, Any]:
        assert normal.multiply is not None
        assert quotient.multiply is not None
        moved = action(second[1], first[0])
        return normal.multiply(moved, second[0]), quotient.multiply(first[1], second[1])

    return GroupSimulator(
        four_stages(normal, quotient, change, back),
        normal.rep_dim + quotient.rep_dim,
        max(normal.rep_size, quotient.rep_size),
        lambda element: (*normal.encode(element[0]), *quotient.encode(element[1])),
        tuple((g, h) for g in normal.elements for h in quotient.elements),
        multiply,
    )


def four_stages(
    normal: GroupSimulator, quotient: GroupSimulator, change: Mlp, back: Mlp
) -> tuple[Layer, ...]:
    """H, change of basis, N, change back; both MLPs read (N, H) and write N. Channels: N, H, shared."""
    n, h = normal.rep_dim, quotient.rep_dim
    dim = n + h + SHARED
    shared = [n + h, n + h + 1]
    first = quotient.placed(range(n, n + h), shared, dim)
    middle = normal.placed(range(n), shared, dim)
    return (*first, _mixing(change, n, h, dim), *middle, _mixing(back, n, h, dim))


def _mixing(mlp: Mlp, n: int, h: int, dim: int) -> Layer:
    """A layer with identity attention whose MLP replaces the N channels."""
    keep = np.ones(dim)
    keep[:n] = 0.0
    return Layer((), lift_mlp(mlp, range(n + h), range(n), dim), np.ones(dim), keep)


def _table(normal: GroupSimulator, quotient: GroupSimulator, image: Action) -> Mlp:
    rows, values = [], []
    for g in normal.elements:
        for h in quotient.elements:
            rows.append((*normal.encode(g), *quotient.encode(h)))
            values.append(normal.encode(image(h, g)))
    return interpolate_nd(np.array(rows), np.array(values))
