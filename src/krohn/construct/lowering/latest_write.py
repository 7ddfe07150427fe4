"""The most recent flagged value (Lemma "memory").

Meaning: the sources at the latest visible position with flag 1. Weights: score g·2^L·(flag_i + i/2^L), so
a flagged position beats every unflagged one and a later one beats an earlier one, by at least g each.
Error: Σ_{m≥1} e^{−gm} ≤ 1.01·e^{−g} of the range of values, plus 2·g·2^L·ε when flags are off by ε.
"""

from math import exp, log, sqrt

from krohn.construct.lowering.head_plan import GAP, HeadPlan, copies, value_range
from krohn.construct.lowering.position_codes import ONE, RECENCY, PositionCodes
from krohn.network.layout import Channel
from krohn.network.operations import LatestWrite
from krohn.network.program import Program


def lower_latest_write(operation: LatestWrite, codes: PositionCodes, program: Program) -> HeadPlan:
    """One head for all values of the operation."""
    spread = value_range(program, operation.sources)
    gap = GAP + log(spread)
    gain = sqrt(gap * codes.scale)
    value, output = copies(operation.sources, operation.targets)
    key = {Channel(register=operation.flag): gain, RECENCY: gain}
    # Flagged positions m places older weigh e^(−gap·m), all unflagged ones together less than e^(−gap)·1.01.
    return HeadPlan(({ONE: gain},), (key,), value, output, error=2.1 * spread * exp(-gap))
