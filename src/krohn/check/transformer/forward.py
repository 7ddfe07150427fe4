"""The forward pass, written once over an arithmetic, and plain intervals that run it.

Each operation and each store of a run stands here, where it happens. Numbers of a float type run it in the
tests, in several orders of adding, and equal ``krohn.network`` and torch there; enclosures run it here.

Plain intervals run it on padding, and on everything that a stream can hold. The second shows that every
number is finite, for each block before any rule is applied, read or not, padding
included: queries, keys and values, all scores, the sums of softmax, the averages as stored, what heads add
(silent ones too), every unit of every hidden layer, the stream after it, the logits. 0 times infinity is NaN,
so nothing may overflow, not even what no output depends on. The rules rely on this: they bound errors and
need not check for overflow.
"""

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from krohn.check.arithmetic.format import Box, Norm, normalise, whole
from krohn.check.arithmetic.real import Array, Flags, Real, join
from krohn.check.files.reader import Layer, Network
from krohn.check.transformer.machine import Moment, Setting
from krohn.check.verdict import inside

T = TypeVar("T")
NO_BIASES = (None, None, None)


class Pointwise(Protocol[T]):
    """Tensors whose last axis is that of channels or units; each position by itself."""

    def normalise(self, x: T, gain: Array | None, shift: Array | None = None) -> T:
        """LayerNorm; x itself without a gain."""

    def linear(self, x: T, weight: Array, bias: Array | None = None) -> T:
        """A product with a matrix, stored, and a bias, stored again; or both at once."""

    def activate(self, x: T, sine: Flags) -> T:
        """ReLU, or what else the network's units do; the sine where ``sine`` says so; stored."""

    def kept(self, x: T, flags: Array) -> T:
        """The product with 0 or 1: exact."""

    def total(self, parts: list[T]) -> T:
        """The sum of several tensors, each partial sum stored."""


class Arithmetic(Pointwise[T], Protocol[T]):
    """Tensors with an axis of positions, too."""

    def attend(self, query: T, key: T, value: T) -> T:
        """Scores, softmax, stored, and the average of the values that each position sees, stored."""

    def beside(self, parts: list[T]) -> T:
        """Tensors side by side: exact."""


def after_heads(run: Arithmetic[T], layer: Layer, x: T) -> T:
    """``x ← keep x + Σ heads``; a GPT-2 adds biases, and multiplies what all heads average by one matrix."""
    shifts, parts, averages = layer.shifts, [run.kept(x, layer.keep_attention)], list[T]()
    read = run.normalise(x, layer.gain_attention, shifts.attention if shifts else None)
    for number, head in enumerate(layer.heads):
        with inside(f"head {number + 1}"):
            biases = shifts.heads[number] if shifts else NO_BIASES
            sides = zip((head.query, head.key, head.value), biases, strict=True)
            averages.append(run.attend(*(run.linear(read, matrix, bias) for matrix, bias in sides)))
            if shifts is None:
                parts.append(run.linear(averages[-1], head.output))
    if shifts is not None:
        together = np.concatenate([head.output for head in layer.heads])
        parts.append(run.linear(run.beside(averages), together, shifts.written))
    return run.total(parts)


def through(run: Pointwise[T], layer: Layer, units: T, first: int, last: int) -> T:
    """The matrices ``first`` to ``last`` − 1 of an MLP, and what units make of their sums."""
    for index in range(first, last):
        with inside(f"MLP matrix {index + 1}"):
            units = run.linear(units, layer.weights[index], layer.biases[index])
            units = run.activate(units, layer.sine[index]) if index + 1 < len(layer.weights) else units
    return units


def after_mlp(run: Pointwise[T], layer: Layer, x: T) -> T:
    """``x ← keep x + mlp(x)``."""
    read = run.normalise(x, layer.gain_mlp, layer.shifts.mlp if layer.shifts else None)
    units = through(run, layer, read, 0, len(layer.weights))
    return run.total([run.kept(x, layer.keep_mlp), units])


def logits(run: Pointwise[T], network: Network, x: T) -> T:
    """What is read out."""
    return run.linear(run.normalise(x, network.gain, network.shift), network.readout, network.readout_bias)


@dataclass(frozen=True)
class Rows:
    """Rows of computed numbers; with a ``norm``, what LayerNorm makes of them."""

    box: Box
    norm: Norm | None = None


class Intervals:
    """All that any order of adding computes; rows are positions, and ``stream`` bounds every position."""

    def __init__(self, setting: Setting, stream: Real) -> None:
        self.setting, self.fmt, self.stream = setting, setting.fmt, stream

    def normalise(self, x: Rows, gain: Array | None, shift: Array | None = None) -> Rows:
        """LayerNorm, bounded for all positions; a network with shifts is refused before."""
        return Rows(x.box, normalise(self.fmt, self.stream, gain, self.setting.epsilon))

    def linear(self, x: Rows, weight: Array, bias: Array | None = None) -> Rows:
        """A product with a matrix, and a bias."""
        return Rows((x.norm or self.fmt).linear(x.box, weight, bias))

    def activate(self, x: Rows, sine: Flags) -> Rows:
        """ReLU or sine."""
        units = x.box.part
        waves = np.broadcast_to(sine, units.lo.shape)
        return Rows(whole(self.fmt.sine(units).where(waves, units.positive())))

    def attend(self, query: Rows, key: Rows, value: Rows) -> Rows:
        """Each row sees those before it."""
        scores = self.fmt.scores(query.box.part, key.box.part, self.setting.root)
        seen = np.tri(len(scores), dtype=bool)
        weights = self.fmt.weights(scores, seen, np.ones_like(scores.lo))
        return Rows(whole(self.fmt.mixed(weights, value.box.part)))

    def beside(self, parts: list[Rows]) -> Rows:
        """Side by side."""
        return Rows(whole(join([part.box.part for part in parts], axis=1)))

    def kept(self, x: Rows, flags: Array) -> Rows:
        """The product with 0 or 1."""
        return Rows(x.box.kept(flags))

    def total(self, parts: list[Rows]) -> Rows:
        """A sum in any order."""
        return Rows(self.fmt.gathered([part.box for part in parts]))


# Hypotheses: ``stream`` bounds each channel at every position. Conclusion: nothing overflows, read or not.
# Why: plain intervals through the network's own operations; a sum is refused if its terms, all positive,
# could reach the end of the format, so no order of adding overflows.
class Anywhere(Intervals):
    """One row that holds at each of some positions."""

    def __init__(self, setting: Setting, stream: Real, positions: int) -> None:
        super().__init__(setting, stream)
        self.positions, self.row = float(positions), Rows(whole(stream.reshape(1, -1)))

    def attend(self, query: Rows, key: Rows, value: Rows) -> Rows:
        """Whatever is seen, and with what weights."""
        # All scores, also of keys that are not visible, and their differences are finite.
        size, width = np.asarray(query.box.size[0] @ key.box.size[0]), float(len(query.box.size[0]))
        self.fmt.inner.error(2 * size, width + 2, width)
        most = self.fmt.finite_average(value.box.size[0], self.positions)
        return Rows(whole(Real(-most, most).reshape(1, -1)))

    def total(self, parts: list[Rows]) -> Rows:
        """No partial sum overflows; of two parts there is none but the sum."""
        if len(parts) > 2:
            self.fmt.finite(np.sum([part.box.size[0] for part in parts], axis=0), len(parts) - 1.0)
        return super().total(parts)


def bound_padding(setting: Setting, moment: Moment, layer: Layer) -> Real:
    """Padding after a block of heads; refuses unless all that they compute is finite, at each position."""
    everything = Anywhere(setting, moment.anywhere, moment.positions)
    after_heads(everything, layer, everything.row)
    return after_heads(Intervals(setting, everything.stream), layer, Rows(whole(moment.pads))).box.part


def finite_mlp(setting: Setting, stream: Real, layer: Layer) -> Real:
    """What the stream holds after an MLP; refuses unless every number of it is finite."""
    everything = Anywhere(setting, stream, 1)
    return after_mlp(everything, layer, everything.row).box.part[0]
