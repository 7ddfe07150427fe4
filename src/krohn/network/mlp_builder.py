"""Building MLPs from signals: linear forms over units, and steps made from them."""

from dataclasses import dataclass, field
from itertools import pairwise
from math import frexp, pi

import numpy as np
import numpy.typing as npt

from krohn.base.portable import cos, sin
from krohn.errors import LimitExceeded
from krohn.network.program import Program
from krohn.network.transformer import RELU, Channel, Mlp

# An MLP under construction: values as sums over the units of one hidden layer, built layer by layer.


# Headroom below the least value of a carried signal, so that errors up to it pass through unclipped.
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
        for number in np.flatnonzero(kind == RELU):
            inward = max(np.abs(weights[index][:, number]).max(initial=0.0), abs(biases[index][number]))
            outward = np.abs(weights[index + 1][number]).max(initial=0.0)
            if inward and outward:
                factor = 2.0 ** ((frexp(outward)[1] - frexp(inward)[1]) // 2)
                weights[index][:, number] *= factor
                biases[index][number] *= factor
                weights[index + 1][number] /= factor


# The context of lowering a position-wise map: how it reads and writes registers.


@dataclass
class MapContext:
    """One MLP under construction: its units so far and where each register's value is."""

    program: Program
    positions: int
    narrow: bool
    rounded: bool
    builder: MlpBuilder
    signals: dict[Channel, Signal] = field(default_factory=dict)
    stored: dict[Channel, Signal] = field(default_factory=dict)  # where stored and read values differ

    def read(self, name: str) -> Signal:
        """The signal that carries a register."""
        return self.signals[Channel(register=name)]

    def write(self, name: str, signal: Signal) -> None:
        """Records where a register's value is."""
        self.signals[Channel(register=name)] = signal

    def bounds(self, name: str) -> tuple[int, int]:
        """The register's range at this length."""
        return self.program.register[name].bounds(self.positions - 1)

    def sum_of(self, terms: tuple[tuple[str, int], ...], offset: int) -> Signal:
        """``Σ cᵢ·termᵢ + offset`` as a signal."""
        return self.builder.total([self.read(name).scaled(factor) for name, factor in terms], offset)

    def write_columns(
        self, names: tuple[str, ...], values: npt.NDArray[np.int64]
    ) -> tuple[list[Channel], npt.NDArray[np.float64]]:
        """Channels and real values for integer outputs: registers on a circle take two columns."""
        channels: list[Channel] = []
        columns: list[npt.NDArray[np.float64]] = []
        for name, column in zip(names, values.T, strict=True):
            register = self.program.register[name]
            if register.kind != "circle":
                channels.append(Channel(register=name))
                columns.append(column.astype(np.float64))
                continue
            turn = 2 * pi / (register.high + 1)
            for part, function in (("cos", cos), ("sin", sin)):
                channels.append(Channel(register=name, part=part))
                columns.append(np.array([function(turn * value) for value in column.tolist()]))
        return channels, np.stack(columns, axis=1)


# A function on finitely many points of a line as flat treads and steep steps (Lemma "1-D interpolation").
#
# Between neighbouring points the value changes by one step of two ReLU units; unlike hats, steps leave the
# function exactly flat around every point: an input may be off by a quarter of the distance to the
# neighbour on either side and the output does not move.
#
# A step is relu(x) − relu(x − 1), in one hidden layer, or relu(1 − relu(1 − x)), in two. The second is
# exactly 0 or 1 off its ramp in every float format, because nothing large is subtracted from anything large:
# short formats need it, and a builder with ``saturate`` uses it throughout.


Points = npt.NDArray[np.float64]


def staircase(builder: MlpBuilder, code: Signal, points: Points, values: Points) -> list[Signal]:
    """One signal per column of ``values[point, output]``; ``points`` are increasing; steps are shared.

    Steps of one hidden layer begin in the middle of the points and go both ways: at no point do more than
    half of them add up, and their sum rounds least.
    """
    rows = np.flatnonzero((np.diff(values, axis=0) != 0).any(axis=1))
    first = 0 if builder.saturate else int(np.searchsorted(points, (points[0] + points[-1]) / 2))
    terms: list[dict[int, float]] = [{} for _ in range(values.shape[1])]
    for index in rows:
        left, right = float(points[index]), float(points[index + 1])
        back = bool(index < first)
        step = _step(builder, code, left, right, back=back)
        for column, change in enumerate(values[index + 1] - values[index]):
            if change:
                for unit, sign in step.items():
                    size = -float(change) if back else float(change)
                    terms[column][unit] = terms[column].get(unit, 0.0) + sign * size
    layer = code.layer + (2 if builder.saturate else 1)
    return [
        Signal(layer, result, float(column[first]), float(column.min()), float(column.max()))
        for result, column in zip(terms, values.T, strict=True)
    ]


def _step(
    builder: MlpBuilder, code: Signal, left: float, right: float, *, back: bool = False
) -> dict[int, float]:
    """0 up to a quarter of the way from left to right, 1 from three quarters on: units with their signs.

    ``back``: 1 on the left and 0 on the right, with units that are silent there.
    """
    width = ramp_width(right - left)
    start = (left + right - width) / 2
    if back:
        fall = builder.unit(code, -1 / width, start / width + 1)
        low = builder.unit(code, -1 / width, start / width)
        return {fall: 1.0, low: -1.0}
    if not builder.saturate:
        rise = builder.unit(code, 1 / width, -start / width)
        fall = builder.unit(code, 1 / width, -start / width - 1)
        return {rise: 1.0, fall: -1.0}
    short = builder.unit(code, -1 / width, start / width + 1)
    missing = Signal(code.layer + 1, {short: 1.0}, 0.0, 0.0, 1.0)
    return {builder.unit(missing, -1.0, 1.0): 1.0}


def ramp_width(distance: float) -> float:
    """The largest power of two that leaves a quarter of the distance flat on each side."""
    return float(2.0 ** (frexp(distance / 2)[1] - 1))
