"""A guess of the bounds on the stream between two blocks, so that LayerNorm there can be bounded.

Any guess is sound: the rows are run afterwards, and the stream is checked against the guess.
"""

from typing import Any

import numpy as np

from krohn.check.arithmetic.real import Array, Real
from krohn.check.files.reader import Layer
from krohn.check.transformer.layer_norm import Norm
from krohn.check.transformer.strands import Strand, chain_of, strands, untouched

SLACK = 1 / 64
"""Slack of the guess, relative to one plus the size."""


def after(block: Any, layers: tuple[Layer, ...], norms: list[Norm]) -> Real:
    """[channel]: a guess of what any position can hold after some MLPs, from the middles of their inputs.

    All channels that some block writes lie in a strand of the whole chain, since every block keeps what
    it holds; the others, which are ``quiet``, are as the claim says.
    """
    quiet, stream = untouched(layers), block.moment.anywhere
    lo, hi = np.where(quiet, stream.lo, np.inf), np.where(quiet, stream.hi, -np.inf)
    for strand in block.gathered(strands(chain_of(layers, norms), quiet)):
        for box in block.some_rows(strand):
            made, own = middles_of(strand, (box.lo + box.hi) / 2), strand.outputs
            lo[own], hi[own] = np.minimum(lo[own], made.min(axis=0)), np.maximum(hi[own], made.max(axis=0))
    slack = np.where(quiet, 0.0, (1 + np.maximum(np.abs(lo), np.abs(hi))) * SLACK)
    return Real(lo - slack, hi + slack)


def middles_of(strand: Strand, values: Array) -> Array:
    """The outputs of a strand for plain numbers, in float64 without error bounds."""
    stream = values
    for stage in strand.stages:
        read = values if stage.norm is None else values * stage.norm.scale
        values = read @ stage.weight + stage.bias
        if stage.keep is not None:
            values = stream = values + stream[:, stage.place] * stage.keep
        elif stage.sine is not None:
            values = np.where(stage.sine, np.sin(values), np.maximum(values, 0.0))
    return values
