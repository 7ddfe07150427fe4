"""LayerNorm: y_i = gain_i (x_i − mean) / deviation.

Mean and deviation are one number each for a position; over all positions the deviation lies in a narrow
interval if a pair of channels dominates it. So y_i = scale_i (x_i − mean) up to a small error of its own, and
a matrix reads x @ (scale W) − mean · (scale @ W). Where the columns of scale W sum to 0, as they do for
readers that subtract a channel which is always 0, the mean drops out, and all its rounding with it. Without a
gain there is no LayerNorm: y is x, and all errors are 0.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from krohn.check.arithmetic.format import MOMENTS, ROOT, Box, Format
from krohn.check.arithmetic.real import OWN, SAFE, TOO_LARGE, Array, Real, ample, point, sum_up
from krohn.check.verdict import require


@dataclass(frozen=True)
class Norm:
    """y_i is within ``error(x)`` of ``scale_i`` (x_i − m), with one m per position, |m| ≤ ``mean``.

    m is not the mean itself: it also absorbs how far 1 / deviation is from its value in ``scale``.
    """

    fmt: Format
    scale: Array
    alike: Array  # error per size of x_i, from the deviation; its effect on the mean goes into m
    own: Array  # error per size of x_i − mean, from rounding
    faint: Array  # absolute error: products that underflow
    mean: float

    def __getitem__(self, channels: Any) -> "Norm":
        scale, alike, own, faint = (part[channels] for part in (self.scale, self.alike, self.own, self.faint))
        return Norm(self.fmt, scale, alike, own, faint, self.mean)

    def error(self, size: Array) -> Array:
        """How far y_i can be off where |x_i| is at most this."""
        return self.alike * size + self.own * (size + self.mean) + self.faint

    def shift(self, weight: Array) -> tuple[Array, Array]:
        """Bounds on what the mean adds to every channel, and to each column of y @ weight."""
        return np.abs(self.scale) * self.mean, self.mean * (point(self.scale) @ weight).size

    def apart(self, part: Real, beyond: Array) -> Box:
        """y without the mean, which goes to the part beyond."""
        made = (part * point(self.scale)).widen(self.error(part.size + beyond))
        return Box(made, np.abs(self.scale) * (beyond + self.mean))

    def linear(self, box: Box, weight: Array, bias: Array | None = None) -> Box:
        """y @ weight + bias. The part beyond x becomes its contribution to x @ (scale W)."""
        made = self.fmt.linear(self.apart(box.part, box.beyond), weight, bias)
        wide = (np.abs(self.scale) * box.beyond) @ np.abs(weight)
        return Box(made.part.widen(self.shift(weight)[1]), wide)


def normalise(fmt: Format, stream: Real, gain: Array | None, epsilon: float) -> Norm:
    """LayerNorm on all vectors of the stream; the identity if there is no gain."""
    if gain is None:
        nothing = np.zeros(len(stream))
        return Norm(fmt, np.ones(len(stream)), nothing, nothing, nothing, 0.0)
    mean, inverse = spread(fmt, stream, epsilon)
    return Norm(fmt, *scale_channels(fmt, stream.size, mean, gain, inverse))


def spread(fmt: Format, stream: Real, epsilon: float) -> tuple[float, Real]:
    """LayerNorm's statistics if channel i is in stream[i]: a bound on the mean, and 1 / deviation.

    The variance is Σx²/d − mean². It may be computed in two passes, in any order of sums: x − mean, the
    square, the quotient and ε pass 6 roundings besides those of the sum. Or by the updates of Welford and
    Chan, as torch does: MOMENTS leaves room for them, and the tests compare it with torch.
    """
    require(not fmt.coarse, "LayerNorm is proved in float32 and float64 only")
    d, sizes = float(len(stream)), stream.size
    total, whole = stream.total(0), sum_up(sizes)
    # Four times a plain sum's roundings, as ``ASSUMPTIONS['layer-norm']`` grants to running updates.
    off = ample(fmt.inner.error(whole, 4 * (d + 8), d) / d)
    mean = ample(total.size / d)
    squares = (stream * stream).total(0).hi
    # A channel whose sign is known has a square of at least the nearer end's; any other may be 0.
    least = np.where(stream.lo * stream.hi > 0, np.minimum(np.abs(stream.lo), np.abs(stream.hi)), 0.0)
    below = (point(least) * point(least)).total(0).lo - ample(d * mean * mean)
    above = squares + ample(d * off * off)
    centred = ample((sizes + mean + off) ** 2)
    slack = fmt.inner.error(sum_up(centred) + d * epsilon, MOMENTS, 2 * d) + positive_sum(fmt, centred)
    low, high = (below - slack) / d + epsilon, (above + slack) / d + epsilon
    require(low > 0, "LayerNorm may divide by 0", "let a pair of channels be far larger than the others")
    few = ROOT * (fmt.inner.unit + OWN.unit)
    return float(mean + off), Real((1 - few) / np.sqrt(high), (1 + few) / np.sqrt(low))


def positive_sum(fmt: Format, most: Array) -> Array:
    """Error of a sum of terms from 0 to ``most``, in any order, if few of them are large.

    Let k terms be large. An addition of two partial sums that both hold large terms errs by at most u times
    the total; there are k − 1 of these. An addition of a partial sum without large terms errs by at most
    that partial sum, since the other summand is itself a number of the format. Together these errors are at
    most the computed sum of the small terms, which is barely more than their exact sum.
    """
    falling = np.sort(most)[::-1]
    rest = np.concatenate([np.cumsum(falling[::-1])[::-1], np.zeros(1)])
    large = np.arange(len(rest), dtype=np.float64)
    bounds = SAFE * ((large + 1) * (fmt.inner.unit + OWN.unit) * rest[0] + SAFE * rest)
    out: Array = ample(bounds.min())
    return out


def scale_channels(
    fmt: Format, size: Array, mean: float, gain: Array, inverse: Real
) -> tuple[Array, Array, Array, Array, float]:
    """The fields of ``Norm`` for |x| up to ``size``: the factor of each channel; its error from the
    deviation; the rounding error, per size of x − mean; the loss to underflow; and a bound on what is
    subtracted from x: mean · inverse / (the number chosen for inverse).

    Any number may be chosen for ``inverse``; it is the middle.
    (x − mean) · inverse · gain, or (x · inverse − mean · inverse) · gain: at most 4 roundings each.
    """
    most = size + mean
    most = most * inverse.hi * (1 + np.abs(gain)) + most
    require(most < fmt.inner.largest / 2, "LayerNorm can overflow", TOO_LARGE)
    # How far 1 / deviation can be from this choice is an error relative to x (``alike``), and for the mean it
    # is absorbed into m, which need not be the mean itself.
    chosen = float(inverse.lo + inverse.hi) / 2
    scale = gain * chosen
    alike = ample((inverse - point(chosen)).size / chosen) * np.abs(scale)
    own = 5 * (fmt.inner.unit + 4 * OWN.unit) * ample(np.abs(gain) * inverse.hi)
    faint = np.where(gain != 0, 4 * (1 + np.abs(gain)) * fmt.inner.tiny, 0.0)
    return scale, alike, own, faint, float(ample(mean * inverse.hi / chosen))
