"""What the lowering of a position-wise map needs to know, and how it reads and writes registers."""

from dataclasses import dataclass, field
from math import cos, pi, sin
from typing import Literal

import numpy as np
import numpy.typing as npt

from krohn.construct.lowering.signals import MlpBuilder, Signal
from krohn.network.layout import Channel
from krohn.network.program import Program

Activation = Literal["relu", "sin"]


@dataclass
class MapContext:
    """One MLP under construction: its units so far and where each register's value is."""

    program: Program
    positions: int
    activation: Activation
    narrow: bool
    builder: MlpBuilder
    signals: dict[Channel, Signal] = field(default_factory=dict)
    stored: dict[Channel, Signal] = field(default_factory=dict)  # where what is written is not what is read

    def read(self, name: str) -> Signal:
        """The signal that carries a register."""
        return self.signals[Channel(register=name)]

    def write(self, name: str, signal: Signal, part: str = "") -> None:
        """Notes where a register's value is."""
        self.signals[Channel(register=name, part=part)] = signal

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
