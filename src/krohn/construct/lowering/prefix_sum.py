"""Prefix sums by a uniform head (Lemma "modular counter").

Meaning: Σ of the sources over visible positions. Weights: every position but BOS scores 0, BOS scores
log(2^L − n_t), so each weight is exactly 1/2^L and W_V W_C = 2^L gives the sum itself. Error: only that
of the logarithm, the softmax and the summation, relative ~ n_t·u; nothing leaks.
"""

from krohn.construct.lowering.head_plan import HeadPlan, copies
from krohn.construct.lowering.position_codes import BOS, LOG, PositionCodes
from krohn.network.operations import PrefixSum


def lower_prefix_sum(operation: PrefixSum, codes: PositionCodes) -> HeadPlan:
    """One head for all sums of the operation."""
    value, output = copies(operation.sources, operation.targets, codes.scale)
    return HeadPlan(({LOG: 1.0},), ({BOS: 1.0},), value, output, error=0.0)
