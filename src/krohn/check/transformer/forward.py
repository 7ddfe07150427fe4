"""The forward pass, written once, over an arithmetic.

Each operation and each store of a run stands here, where it happens. Numbers of a float type run it in the
tests, in several orders of adding, and equal ``krohn.network`` and torch there; enclosures run it here.
"""

from typing import Protocol, TypeVar

import numpy as np

from krohn.check.arithmetic.real import Array, Flags
from krohn.check.files.reader import Layer, Network
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
