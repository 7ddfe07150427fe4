"""The forward pass, written once, over an arithmetic.

Each operation and each store of a run stands here, where it happens. Numbers of a float type run it in the
tests, in several orders of adding, and equal ``krohn.network`` and torch there; enclosures run it here.
"""

from typing import Protocol, TypeVar

from krohn.check.arithmetic.real import Array, Flags
from krohn.check.files.reader import Layer, Network
from krohn.check.verdict import inside

T = TypeVar("T")


class Arithmetic(Protocol[T]):
    """Tensors whose last axis is that of channels or units."""

    def normed(self, x: T, gain: Array | None) -> T:
        """LayerNorm; x itself without a gain."""

    def linear(self, x: T, weight: Array, bias: Array | None = None) -> T:
        """A product with a matrix, stored, and a bias, stored again; or both at once."""

    def activated(self, x: T, sine: Flags) -> T:
        """ReLU, or the sine where ``sine`` says so, stored."""

    def attended(self, query: T, key: T, value: T) -> T:
        """Scores, softmax, stored, and the average of the values that each position sees, stored."""

    def kept(self, x: T, flags: Array) -> T:
        """The product with 0 or 1: exact."""

    def total(self, parts: list[T]) -> T:
        """The sum of several tensors, each partial sum stored."""


def after_heads(run: Arithmetic[T], layer: Layer, x: T) -> T:
    """``x ← keep x + Σ heads``."""
    read, parts = run.normed(x, layer.gain_attention), [run.kept(x, layer.keep_attention)]
    for number, head in enumerate(layer.heads, 1):
        with inside(f"head {number}"):
            query, key, value = (run.linear(read, matrix) for matrix in (head.query, head.key, head.value))
            parts.append(run.linear(run.attended(query, key, value), head.output))
    return run.total(parts)


def after_mlp(run: Arithmetic[T], layer: Layer, x: T) -> T:
    """``x ← keep x + mlp(x)``."""
    units, last = run.normed(x, layer.gain_mlp), len(layer.weights) - 1
    for index, (weight, bias) in enumerate(zip(layer.weights, layer.biases, strict=True)):
        with inside(f"MLP matrix {index + 1}"):
            units = run.linear(units, weight, bias)
            units = run.activated(units, layer.sine[index]) if index < last else units
    return run.total([run.kept(x, layer.keep_mlp), units])


def logits(run: Arithmetic[T], network: Network, x: T) -> T:
    """What is read out."""
    return run.linear(run.normed(x, network.gain), network.readout, network.readout_bias)
