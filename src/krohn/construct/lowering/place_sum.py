"""Sums over the positions of one rhythm: a uniform head that does not see the others.

Meaning: Σ of the sources over visible positions whose place has flag 1. Weights: such positions score g, all
others 0, BOS g + log(2^L − n_t) with n_t the number of visible flagged positions, so each flagged position
has weight 1/2^L. Error: what the others weigh, T·e^{−g}·2^L of the largest value, besides that of a sum.
"""

from math import exp

from krohn.construct.lowering.head_plan import HeadPlan, copies, value_range
from krohn.construct.lowering.position_codes import BOS, ONE, PositionCodes, log_of_places
from krohn.network.layout import Channel
from krohn.network.operations import PlaceSum
from krohn.network.program import Program

UNSEEN = 48.0
"""Nats between flagged positions and others: e^−48 < 2^−69."""


def lower_place_sum(operation: PlaceSum, codes: PositionCodes, program: Program) -> HeadPlan:
    """One head for all sums over the same places."""
    rhythm = next(place for place in program.places if place.register == operation.flag)
    value, output = copies(operation.sources, operation.targets, codes.scale)
    query = ({log_of_places(rhythm.early, rhythm.cycle): 1.0}, {ONE: 1.0})
    key = ({BOS: 1.0}, {Channel(register=operation.flag): UNSEEN, BOS: UNSEEN})
    error = codes.count * codes.scale * value_range(program, operation.sources) * exp(-UNSEEN)
    return HeadPlan(query, key, value, output, error=error)
