"""Lemma "function composition": an MLP that turns the transition maps of g (left) and f (right) into f ∘ g.

Channels: ``states`` left values g(q), then ``states`` right values f(q); output f(g(q)). States are
numbered 0 … |Q|−1 here (1 … |Q| in the paper), which only makes biases smaller.

Three gadgets, which all compute the same function (erratum 7: the lemma claims width |Q|² + |Q| but its own
construction uses 4|Q|² + |Q|; the other two are what the claim can really mean):

``plateau``  as printed: 4|Q|² + |Q| units, three layers, tolerates 1/4 in the left values;
``hat``      |Q|² + |Q| units, three layers, as claimed; no plateau, so it needs one-hot attention;
``direct``   2|Q|² units and only two layers, tolerance 1/4: 1[x ≥ q']·y is a difference of two ReLU of a
             linear form in x and y, so no layer of indicators is needed. The |Q|⁴-entry second matrix of
             the other two disappears, which is what lets 120 states fit into memory.
"""

from typing import Literal, get_args

import numpy as np

from krohn.errors import InvalidInput
from krohn.network.lowering.mlp_builder import require_entries
from krohn.network.transformer import Matrix, Mlp
from krohn.paper.interpolation import SIGNS, indicator_units

Gadget = Literal["direct", "plateau", "hat"]
GADGETS: tuple[str, ...] = get_args(Gadget)


def composition_mlp(states: int, gadget: str = "direct") -> Mlp:
    """The MLP from 2·states channels (left, right) to states channels."""
    if gadget not in GADGETS:
        raise InvalidInput(f"gadget must be one of {', '.join(GADGETS)}; got {gadget!r}")
    width = composition_width(states, gadget)
    entries = 2 * states * width + (width * states**2 if gadget != "direct" else 0)
    require_entries(entries, f", to compose maps of {states:,} states,")
    if gadget == "direct":
        return _direct(states)
    return _by_indicators(states, *(_plateau if gadget == "plateau" else _hat)(states))


def composition_width(states: int, gadget: str) -> int:
    """Hidden width of the gadget, as its lemma counts it."""
    widths = {
        "plateau": 4 * states**2 + states,
        "hat": states**2 + states,
        "direct": 2 * states**2,
    }
    return widths[gadget]


def _plateau(states: int) -> tuple[float, Matrix, Matrix]:
    slope, bias = indicator_units(range(states), 1.0)
    return slope, bias, np.kron(np.eye(states), SIGNS[:, None])


def _hat(states: int) -> tuple[float, Matrix, Matrix]:
    # 1[x = q'] = (x−q'+1)_+ − 2(x−q')_+ + (x−q'−1)_+; units (x−j)_+ for j = −1 … |Q|−2 suffice.
    combine = np.eye(states) - 2 * np.eye(states, k=-1) + np.eye(states, k=-2)
    return 1.0, 1.0 - np.arange(states, dtype=np.float64), combine


def _by_indicators(states: int, slope: float, unit_bias: Matrix, combine: Matrix) -> Mlp:
    """Indicators, then relu(M·1[g(q)=q'] + f(q') − M) = f(q')·1[g(q)=q'] with M = |Q|.

    ``slope`` and ``unit_bias`` are those of the units of one left channel, which ``combine`` to 1[x = q'] for
    every q'. Erratum 8: printed as a product with g(q'), and with a third matrix that sums over q' alone.
    """
    per_state, total = len(unit_bias), float(states)
    first = np.zeros((2 * states, states * per_state + states))
    second = np.zeros((states * per_state + states, states * states))
    for q in range(states):
        units = slice(q * per_state, (q + 1) * per_state)
        first[q, units] = slope
        second[units, q * states : (q + 1) * states] = total * combine
    first[states:, states * per_state :] = np.eye(states)
    second[states * per_state :] = np.tile(np.eye(states), (1, states))
    third = np.repeat(np.eye(states), states, axis=0)
    first_bias = np.concatenate([np.tile(unit_bias, states), np.zeros(states)])
    second_bias = np.full(states * states, -total)
    return Mlp((first, second, third), (first_bias, second_bias, np.zeros(states)))


def _direct(states: int) -> Mlp:
    """Σ_q' [relu(f(q') + M(x−q')) − relu(f(q') + M(x−q'−1))] − M·relu(x), x = g(q) + 1/4, M = 2|Q|.

    For |ξ| ≤ 1/4 the terms with q' < g(q) give M each, q' = g(q) gives f(q') + M(x−q'), later ones 0; what is
    left after the last summand is f(g(q)). A power of two, the nearest to |Q| from above, moves size from
    biases to the second layer, so that both stay below the lemma's 4|Q| + 2 and integers stay exact.
    """
    slope, scale = 2.0 * states, 2.0 ** (states - 1).bit_length()
    values = np.arange(states, dtype=np.float64)
    rises, falls = values, values[:-1] + 1.0  # the falling edge of the last value never fires
    offsets = np.concatenate([rises, falls, [0.0]])
    reads = np.concatenate([np.eye(states), np.eye(states)[:, :-1], np.zeros((states, 1))], axis=1)
    signs = np.concatenate([np.ones(states), -np.ones(states - 1), [-1.0]])
    left = np.kron(np.eye(states), np.full((1, len(offsets)), slope))
    first = np.concatenate([left, np.tile(reads, (1, states))], axis=0) / scale
    bias = np.tile(slope * (0.25 - offsets), states) / scale
    second = scale * np.kron(np.eye(states), signs[:, None])
    return Mlp((first, second), (bias, np.zeros(states)))
