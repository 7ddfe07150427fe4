"""An MLP under construction: values as sums over the units of one hidden layer, built layer by layer."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from krohn.errors import LimitExceeded
from krohn.network.transformer import RELU, Mlp

# Headroom below the least value of a carried signal, so that errors up to it pass through unclipped.
SLACK = 1.0

MAX_ENTRIES = 40_000_000
Points = npt.NDArray[np.float64]


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
    """One hidden unit, by its input."""

    terms: dict[int, float]
    bias: float


@dataclass
class MlpBuilder:
    """Hidden layers as lists of units; equal units are shared; ``balanced``: see ``_balance``."""

    dim: int
    saturate: bool = False
    balanced: bool = True
    layers: list[list[Unit]] = field(default_factory=list)
    _known: dict[tuple[object, ...], int] = field(default_factory=dict)

    def unit(self, signal: Signal, slope: float, bias: float) -> int:
        """Makes ``relu(slope·signal + bias)`` in the layer after the signal's; returns its number."""
        terms = {unit: weight * slope for unit, weight in signal.terms.items()}
        result = Unit(terms, signal.constant * slope + bias)
        key = (signal.layer, tuple(sorted(result.terms.items())), result.bias)
        if key not in self._known:
            while len(self.layers) <= signal.layer:
                self.layers.append([])
            self._known[key] = len(self.layers[signal.layer])
            self.layers[signal.layer].append(result)
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

    def positive(self, signal: Signal) -> Signal:
        """The part above 0, one unit."""
        unit = self.unit(signal, 1.0, 0.0)
        return Signal(signal.layer + 1, {unit: 1.0}, 0.0, max(signal.low, 0.0), max(signal.high, 0.0))

    def build(self, outputs: dict[int, Signal], width: int | None = None) -> Mlp:
        """The MLP whose channel c of ``width`` (or ``dim``) outputs ``outputs[c]``, every other one 0."""
        depth = len(self.layers)
        final = {channel: self.carried(signal, depth) for channel, signal in outputs.items()}
        widths = [self.dim, *(len(layer) for layer in self.layers), self.dim if width is None else width]
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
        kinds = [np.full(len(layer), RELU, dtype=np.int64) for layer in self.layers]
        if self.balanced:
            _balance(weights, biases, kinds)
        return Mlp(tuple(weights), tuple(biases), tuple(kinds))


def require_entries(entries: int, purpose: str = "") -> None:
    """Refuses matrices that are too large, and says what they are for."""
    if entries > MAX_ENTRIES:
        raise LimitExceeded(
            f"the matrices of one MLP may have at most {MAX_ENTRIES:,} entries and{purpose} would have "
            f"{entries:,}; choose another method or a smaller automaton or length"
        )


def require_positions(positions: int, dim: int) -> None:
    """Refuses a table of position encodings that is too large."""
    if positions * dim > MAX_ENTRIES:
        raise LimitExceeded(
            f"position encodings may have at most {MAX_ENTRIES:,} entries; {positions:,} positions of {dim} "
            f"channels are needed; choose a --length of at most {MAX_ENTRIES // dim:,}"
        )


def _balance(weights: list[np.ndarray], biases: list[np.ndarray], kinds: list[np.ndarray]) -> None:
    """Shifts size between a ReLU unit's input and output by a power of two: exact, and smaller norms."""
    for index, kind in enumerate(kinds):
        inner, outer = weights[index], weights[index + 1]
        inward = np.maximum(_sizes(inner, 0), np.abs(biases[index]))
        outward = _sizes(outer, 1)
        halves = (np.frexp(outward)[1] - np.frexp(inward)[1]) // 2
        factors = np.ldexp(1.0, np.where((kind == RELU) & (inward > 0) & (outward > 0), halves, 0))
        inner *= factors
        biases[index] *= factors
        outer /= factors[:, None]


def _sizes(weights: Points, axis: int) -> Points:
    """The largest size along an axis, without a copy of the matrix."""
    largest: Points = np.maximum(weights.max(axis, initial=0.0), -weights.min(axis, initial=0.0))
    return largest
