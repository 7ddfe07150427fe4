"""Writing a ReLU network as formulas: linear wires over the units of one layer, and units made from wires.

Only for MLPs with many small parts (Theorem 3). A wire is valid in the layer it was made for;
``next_layer`` turns the units asked for so far into a matrix, after which wires refer to those units.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from krohn.network.transformer import Matrix, Mlp


@dataclass(frozen=True)
class Wire:
    """Σ coefficient·unit + offset."""

    terms: tuple[tuple[int, float], ...] = ()
    offset: float = 0.0

    @staticmethod
    def constant(value: float) -> "Wire":
        """A number."""
        return Wire((), float(value))

    def __add__(self, other: "Wire") -> "Wire":
        return Wire(self.terms + other.terms, self.offset + other.offset)

    def __sub__(self, other: "Wire") -> "Wire":
        return self + other * -1.0

    def __mul__(self, factor: float) -> "Wire":
        return Wire(tuple((unit, factor * value) for unit, value in self.terms), factor * self.offset)


@dataclass
class ReluProgram:
    """Collects units layer by layer; ``finish`` gives the MLP."""

    num_inputs: int
    _pending: list[Wire] = field(default_factory=list)
    _weights: list[Matrix] = field(default_factory=list)
    _biases: list[Matrix] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Units that wires may refer to now."""
        return len(self._biases[-1]) if self._biases else self.num_inputs

    def inputs(self) -> list[Wire]:
        """The inputs as wires."""
        return [Wire(((index, 1.0),)) for index in range(self.num_inputs)]

    def relu(self, wire: Wire) -> Wire:
        """A new unit of the coming layer."""
        self._pending.append(wire)
        return Wire(((len(self._pending) - 1, 1.0),))

    def carry(self, wires: Iterable[Wire]) -> list[Wire]:
        """Wires whose values are never negative, one unit each."""
        return [self.relu(wire) for wire in wires]

    def maximum(self, a: Wire, b: Wire) -> Wire:
        """max(a, b) = a + (b − a)_+ for a ≥ 0: two units (erratum 27: the paper counts one)."""
        return self.relu(a) + self.relu(b - a)

    def minimum(self, a: Wire, b: Wire) -> Wire:
        """min(a, b) = a − (a − b)_+ for a ≥ 0."""
        return self.relu(a) - self.relu(a - b)

    def step(self, wire: Wire, low: float, high: float) -> Wire:
        """0 up to ``low``, 1 from ``high``: two units."""
        slope = 1.0 / (high - low)
        ramps = [self.relu((wire - Wire.constant(edge)) * slope) for edge in (low, high)]
        return ramps[0] - ramps[1]

    def layer_of(
        self, pairs: Sequence[tuple[Wire, Wire]], operation: Callable[[Wire, Wire], Wire]
    ) -> list[Wire]:
        """The operation on every pair, as one whole layer."""
        out = [operation(a, b) for a, b in pairs]
        self.next_layer()
        return out

    def next_layer(self) -> None:
        """Closes the layer."""
        weight, bias = self._matrix(self._pending)
        self._weights.append(weight)
        self._biases.append(bias)
        self._pending = []

    def finish(self, outputs: Sequence[Wire]) -> Mlp:
        """The MLP with these outputs; pending units belong to the last hidden layer."""
        if self._pending:
            self.next_layer()
        weight, bias = self._matrix(outputs)
        return Mlp((*self._weights, weight), (*self._biases, bias))

    def _matrix(self, wires: Sequence[Wire]) -> tuple[Matrix, Matrix]:
        weight = np.zeros((self.width, len(wires)))
        for column, wire in enumerate(wires):
            for unit, value in wire.terms:
                weight[unit, column] += value
        return weight, np.array([wire.offset for wire in wires])
