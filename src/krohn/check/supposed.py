"""A guess of the bounds on the stream between two blocks, so that LayerNorm there can be bounded.

Any guess is sound: the rows are run afterwards, and the stream is checked against the guess.
"""

from collections.abc import Iterable

import numpy as np

from krohn.check.real import Array, Flags, Real
from krohn.check.strands import Chain, Strand

SLACK = 1 / 64
"""Slack of the guess, relative to one plus the size."""


def supposed(stream: Real, quiet: Flags, chain: Chain, given: Iterable[tuple[Strand, Real]]) -> Real:
    """[channel]: a guess of what any position can hold after some blocks, from the middles of their inputs.

    All channels that some block writes lie in a strand of the whole chain, since every block keeps what
    it holds; the others, which are ``quiet``, are as the claim says.
    """
    lo, hi = np.where(quiet, stream.lo, np.inf), np.where(quiet, stream.hi, -np.inf)
    for strand, box in given:
        made, own = middles_of(chain, strand, (box.lo + box.hi) / 2), strand.units[-1]
        lo[own], hi[own] = np.minimum(lo[own], made.min(axis=0)), np.maximum(hi[own], made.max(axis=0))
    slack = np.where(quiet, 0.0, (1 + np.maximum(np.abs(lo), np.abs(hi))) * SLACK)
    return Real(lo - slack, hi + slack)


def middles_of(chain: Chain, strand: Strand, values: Array) -> Array:
    """The outputs of a strand for plain numbers, in float64 without error bounds."""
    columns = held = strand.inputs
    stream = values
    for stage, chosen in zip(chain, strand.units, strict=False):
        read = values if stage.norm is None else values * stage.norm.scale[columns]
        values = read @ stage.weight[np.ix_(columns, chosen)] + stage.bias[chosen]
        if stage.keep is not None:
            values = values + stream[:, np.searchsorted(held, chosen)] * stage.keep[chosen]
            stream, held = values, chosen
        elif stage.sine is not None:
            values = np.where(stage.sine[chosen], np.sin(values), np.maximum(values, 0.0))
        columns = chosen
    return values
