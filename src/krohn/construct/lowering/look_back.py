"""The value a fixed number of positions back (the heads of Theorem 1, with codes of two frequencies).

Meaning: the sources at max(t − k, 0). Weights: the query is the position code turned back by k, the key
the position code; a wrong shift loses at least ``shift_gap`` of the inner product F. BOS has no code and
scores F − gap/2 instead, so it wins exactly when t − k ≤ 0. Error: N·e^{−g} of the range of values.
"""

from math import cos, exp, log, pi, sin, sqrt

from krohn.construct.lowering.head_plan import GAP, Column, HeadPlan, copies, value_range
from krohn.construct.lowering.position_codes import BOS, FREQUENCIES, ONE, PositionCodes, turning
from krohn.network.operations import LookBack
from krohn.network.program import Program

ONE_HOT = 112.0
"""Gap, in nats, at which float32 weights are exactly 1 and 0: values are copied as they are."""
MANY_VALUES = 32
"""Maps of so many points are composed with sums that float32 bears only where they are exact."""


def lower_look_back(operation: LookBack, codes: PositionCodes, program: Program) -> HeadPlan:
    """One head for all values of the operation."""
    spread = value_range(program, operation.sources)
    gap = GAP + log(spread * codes.count)
    if spread >= MANY_VALUES:
        gap = max(gap, ONE_HOT)
    gain = sqrt(2 * gap / codes.shift_gap)
    query: list[Column] = []
    key: list[Column] = []
    for frequency in range(FREQUENCIES):
        x, y = turning(frequency)
        angle = 2 * pi * min(operation.distance, codes.count) / codes.base ** (frequency + 1)
        # (cos, sin)(θ_t − angle), so that its product with (cos, sin)(θ_i) is cos(θ_t − angle − θ_i).
        query += [{x: gain * cos(angle), y: gain * sin(angle)}, {x: -gain * sin(angle), y: gain * cos(angle)}]
        key += [{x: gain}, {y: gain}]
    query.append({ONE: gain})
    key.append({BOS: gain * (FREQUENCIES - codes.shift_gap / 2)})
    value, output = copies(operation.sources, operation.targets)
    return HeadPlan(tuple(query), tuple(key), value, output, error=codes.count * spread * exp(-gap))
