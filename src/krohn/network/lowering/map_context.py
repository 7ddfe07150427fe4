"""The context of lowering a position-wise map: how it reads and writes registers."""

from dataclasses import dataclass, field
from math import pi

import numpy as np
import numpy.typing as npt

from krohn.base.portable import cos, sin
from krohn.network.layout import Channel
from krohn.network.lowering.mlp_builder import MlpBuilder, Signal
from krohn.network.program import Program


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
