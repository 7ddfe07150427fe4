"""Proves that every number is finite, for each block before any rule is applied, by plain intervals.

The input of a block is everything its stream can hold, channel by channel. Every tensor is bounded, read or
not, at every position, padding included: queries, keys and values, all scores, the sums of softmax, the
averages as stored, what heads add (silent ones too), every unit of every hidden layer, the stream after it,
the logits. 0 times infinity is NaN, so nothing may overflow, not even what no output depends on. The rules
rely on this: they bound errors and need not check for overflow.
"""

import numpy as np

from krohn.check.arithmetic.format import whole
from krohn.check.arithmetic.real import Real
from krohn.check.files.reader import Layer, Network
from krohn.check.transformer.layer_norm import Norm
from krohn.check.transformer.machine import Setting
from krohn.check.verdict import inside


# Hypotheses: ``stream`` bounds each channel at every position. Conclusion: nothing overflows, read or not.
# Why: plain intervals through the network's own operations; a sum is refused if its terms, all positive,
# could reach the end of the format, so no order of adding overflows.
def finite_attention(setting: Setting, stream: Real, layer: Layer, norm: Norm, positions: int) -> None:
    """Refuses unless every number of the heads, and of the stream after them, is finite."""
    fmt, rows = setting.fmt, whole(stream.shaped(1, -1))
    total = stream.size * layer.keep_attention
    for number, head in enumerate(layer.heads, 1):
        with inside(f"head {number}"):
            matrices = head.query, head.key, head.value
            query, key, value = (norm.linear(rows, matrix).size[0] for matrix in matrices)
            fmt.finite_scores(query, key)
            most = fmt.finite_average(value, float(positions))
            total = total + fmt.linear(whole(Real(-most, most).shaped(1, -1)), head.output).size[0]
    fmt.finite(total, float(len(layer.heads)))


def finite_mlp(setting: Setting, stream: Real, layer: Layer, norm: Norm) -> Real:
    """The same for an MLP, whatever reads its units; returns what the stream holds after it."""
    fmt, kept = setting.fmt, stream.shaped(1, -1)
    units, last = kept, len(layer.weights) - 1
    for index, (weight, bias) in enumerate(zip(layer.weights, layer.biases, strict=True)):
        with inside(f"MLP matrix {index + 1}"):
            units = (fmt if index else norm).linear(whole(units), weight, bias).part
            if index < last:
                sine = np.broadcast_to(layer.sine[index], units.lo.shape)
                units = fmt.sine(units).where(sine, units.positive())
    kept = Real(kept.lo * layer.keep_mlp, kept.hi * layer.keep_mlp)
    return fmt.add(whole(kept), whole(units)).part[0]


def finite_logits(setting: Setting, stream: Real, network: Network, norm: Norm) -> None:
    """The same for the read-out."""
    norm.linear(whole(stream.shaped(1, -1)), network.readout, network.readout_bias)
