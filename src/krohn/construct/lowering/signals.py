"""An MLP under construction: values as sums over the units of one hidden layer, built layer by layer."""

from dataclasses import dataclass, field
from itertools import pairwise
from math import frexp

import numpy as np

from krohn.errors import LimitExceeded
from krohn.network.transformer import RELU, Mlp

# Room below the least value of a carried signal, so that errors up to it pass through unharmed.
SLACK = 1.0

MAX_ENTRIES = 40_000_000


@dataclass(frozen=True)
class Signal:
    """``Σ weightᵢ·unitᵢ + constant`` over the units of ``layer`` (0: the input channels)."""

    layer: int
    terms: dict[int, float]
    constant: float
    low: float
    high: float

    def scaled(self, factor: float) -> "Signal":
        """The signal times a number."""
        ends = sorted((self.low * factor, self.high * factor))
        terms = {unit: weight * factor for unit, weight in self.terms.items()}
        return Signal(self.layer, terms, self.constant * factor, ends[0], ends[1])


@dataclass
class Unit:
    """One hidden unit: its input and its activation."""

    terms: dict[int, float]
    bias: float
    activation: int = RELU


@dataclass
class MlpBuilder:
    """Hidden layers as lists of units; equal units are made once."""

    dim: int
    saturate: bool = False
    layers: list[list[Unit]] = field(default_factory=list)
    _known: dict[tuple[object, ...], int] = field(default_factory=dict)

    def constant(self, value: float) -> Signal:
        """A number, available at every layer."""
        return Signal(0, {}, value, value, value)

    def unit(self, signal: Signal, slope: float, bias: float, activation: int = RELU) -> int:
        """Makes ``activation(slope·signal + bias)`` in the layer after the signal's; returns its number."""
        terms = {unit: weight * slope for unit, weight in signal.terms.items()}
        made = Unit(terms, signal.constant * slope + bias, activation)
        key = (signal.layer, tuple(sorted(made.terms.items())), made.bias, activation)
        if key not in self._known:
            while len(self.layers) <= signal.layer:
                self.layers.append([])
            self._known[key] = len(self.layers[signal.layer])
            self.layers[signal.layer].append(made)
        return self._known[key]

    def carried(self, signal: Signal, layer: int) -> Signal:
        """The same value at a later layer, through one unit per layer."""
        while signal.layer < layer:
            if not signal.terms:
                return Signal(layer, {}, signal.constant, signal.low, signal.high)
            shift = SLACK - signal.low
            number = self.unit(signal, 1.0, shift)
            signal = Signal(signal.layer + 1, {number: 1.0}, -shift, signal.low, signal.high)
        return signal

    def total(self, parts: list[Signal], constant: float = 0.0) -> Signal:
        """The sum of signals, at the layer of the latest."""
        layer = max((part.layer for part in parts if part.terms), default=0)
        terms: dict[int, float] = {}
        low = high = constant
        for part in (self.carried(part, layer) for part in parts):
            for unit, weight in part.terms.items():
                terms[unit] = terms.get(unit, 0.0) + weight
            constant += part.constant
            low, high = low + part.low, high + part.high
        return Signal(layer, terms, constant, low, high)

    def build(self, outputs: dict[int, Signal]) -> Mlp:
        """The MLP whose channel c outputs ``outputs[c]``, every other channel 0."""
        depth = len(self.layers)
        final = {channel: self.carried(signal, depth) for channel, signal in outputs.items()}
        widths = [self.dim, *(len(layer) for layer in self.layers), self.dim]
        require_entries(sum(n * m for n, m in pairwise(widths)))
        weights = [np.zeros((n, m)) for n, m in pairwise(widths)]
        biases = [np.zeros(m) for m in widths[1:]]
        for index, layer in enumerate(self.layers):
            for number, unit in enumerate(layer):
                biases[index][number] = unit.bias
                for source, weight in unit.terms.items():
                    weights[index][source, number] = weight
        for channel, signal in final.items():
            biases[-1][channel] = signal.constant
            for source, weight in signal.terms.items():
                weights[-1][source, channel] = weight
        kinds = [np.array([unit.activation for unit in layer], dtype=np.int64) for layer in self.layers]
        _balance(weights, biases, kinds)
        return Mlp(tuple(weights), tuple(biases), tuple(kinds))


def require_entries(entries: int) -> None:
    """Refuses matrices that are too large."""
    if entries > MAX_ENTRIES:
        raise LimitExceeded(
            f"the matrices of one MLP may have at most {MAX_ENTRIES:,} entries; {entries:,} are needed; "
            "choose another method or a smaller automaton or length"
        )


def _balance(weights: list[np.ndarray], biases: list[np.ndarray], kinds: list[np.ndarray]) -> None:
    """Shifts size between a ReLU unit's input and output by a power of two: exact, and smaller norms."""
    for index, kind in enumerate(kinds):
        for number in np.flatnonzero(kind == RELU):
            inward = max(np.abs(weights[index][:, number]).max(initial=0.0), abs(biases[index][number]))
            outward = np.abs(weights[index + 1][number]).max(initial=0.0)
            if inward and outward:
                factor = 2.0 ** ((frexp(outward)[1] - frexp(inward)[1]) // 2)
                weights[index][:, number] *= factor
                biases[index][number] *= factor
                weights[index + 1][number] /= factor
