"""The most recent position with a given key (Theorem 3, keys on a circle of n values).

Meaning: the sources at the latest visible i with key_i ≡ query_t + shift mod n, BOS if there is none.
Weights: with d = 1 − cos(2π/n), a match scores β(1 + (d/3)·i/2^L), a mismatch at most β(1 − 2d/3), BOS
β(1 − d/3); BOS's own key is subtracted through its flag. β = 3·g·2^L/d makes every gap at least g.
Error: Σ e^{−gm} + N·e^{−g·2^L} of the range of values, plus the errors of the codes times β.
"""

from math import cos, exp, log, pi, sin, sqrt

from krohn.construct.lowering.head_plan import GAP, Column, HeadPlan, copies, value_range
from krohn.construct.lowering.position_codes import BOS, ONE, RECENCY, PositionCodes
from krohn.network.layout import Channel
from krohn.network.operations import LatestMatch
from krohn.network.program import Program


def lower_latest_match(
    operation: LatestMatch, codes: PositionCodes, program: Program, key_at_bos: int
) -> HeadPlan:
    """One head for all values of the operation."""
    turn = 2 * pi / operation.modulus
    lost = 1 - cos(turn)
    spread = value_range(program, operation.sources)
    gap = GAP + log(spread)
    gain = sqrt(3 * gap * codes.scale / lost)
    kx, ky = (Channel(register=operation.key, part=part) for part in ("cos", "sin"))
    c, s = gain * cos(turn * operation.shift), gain * sin(turn * operation.shift)
    query: tuple[Column, ...] = ({ONE: c}, {ONE: s}, {ONE: gain})
    if operation.query:
        qx, qy = (Channel(register=operation.query, part=part) for part in ("cos", "sin"))
        query = ({qx: c, qy: -s}, {qx: s, qy: c}, {ONE: gain})
    key = (
        {kx: gain, BOS: -gain * cos(turn * key_at_bos)},
        {ky: gain, BOS: -gain * sin(turn * key_at_bos)},
        {RECENCY: gain * lost / 3, BOS: gain * (1 - lost / 3)},
    )
    value, output = copies(operation.sources, operation.targets)
    # Older matches weigh e^(−gap·m); BOS and mismatches, 2^L·gap below, vanish.
    return HeadPlan(query, key, value, output, error=2.1 * spread * exp(-gap))
