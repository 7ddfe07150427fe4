"""LayerNorm, as the matrices that read it see it.

y_i = gain_i (x_i − mean) / deviation. Mean and deviation are one number each for a position; over all
positions the deviation lies in a narrow interval if a pair of channels dominates it. So y_i = scale_i (x_i −
mean) up to a small error of its own, and what a matrix reads is x @ (scale W) − mean · (scale @ W): where the
columns of scale W sum to 0, as they do for readers that subtract a channel which is always 0, the mean drops
out, with all its rounding.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from krohn.check.format import Box, Format
from krohn.check.real import Array, Real, point


@dataclass(frozen=True)
class Norm:
    """y_i is within ``error(x)`` of ``scale_i`` (x_i − m): m is one number for a position, up to ``mean``."""

    fmt: Format
    scale: Array
    alike: Array  # error per size of x_i: the deviation; what it does to the mean is alike in all channels
    own: Array  # error per size of x_i − mean: rounding
    faint: Array  # error besides: products that underflow
    mean: float

    def __getitem__(self, channels: Any) -> "Norm":
        scale, alike, own, faint = (part[channels] for part in (self.scale, self.alike, self.own, self.faint))
        return Norm(self.fmt, scale, alike, own, faint, self.mean)

    def error(self, size: Array) -> Array:
        """How far y_i can be off where |x_i| is at most this."""
        return self.alike * size + self.own * (size + self.mean) + self.faint

    def shift(self, weight: Array) -> tuple[Array, Array]:
        """What the mean adds to the size of every channel, and to what each column of the matrix reads."""
        return np.abs(self.scale) * self.mean, self.mean * (point(self.scale) @ weight).size

    def apart(self, part: Real, beyond: Array) -> Box:
        """y without the mean, which lies beyond."""
        made = (part * point(self.scale)).widened(self.error(part.size + beyond))
        return Box(made, np.abs(self.scale) * (beyond + self.mean))

    def linear(self, box: Box, weight: Array, bias: Array | None = None) -> Box:
        """y @ weight + bias. Beyond stays what was beyond x, as x @ (scale W) has it."""
        made = self.fmt.linear(self.apart(box.part, box.beyond), weight, bias)
        wide = (np.abs(self.scale) * box.beyond) @ np.abs(weight)
        return Box(made.part.widened(self.shift(weight)[1]), wide)


def normed(fmt: Format, stream: Real, gain: Array | None, epsilon: float) -> Norm:
    """LayerNorm on any vector of the stream; without a gain there is none, and y is x itself."""
    if gain is None:
        nothing = np.zeros(len(stream))
        return Norm(fmt, np.ones(len(stream)), nothing, nothing, nothing, 0.0)
    mean, inverse = fmt.spread(stream, epsilon)
    return Norm(fmt, *fmt.scaled(stream.size + mean, gain, inverse), mean)
