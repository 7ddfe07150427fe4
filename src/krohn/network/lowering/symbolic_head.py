"""A head before channels have numbers: columns of its matrices as sums over named channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp

import numpy as np

from krohn.network.layout import Channel
from krohn.network.program import Program
from krohn.network.transformer import Head

Column = dict[Channel, float]

# Logit gap, in nats, between the position a head wants and the next best, before values are counted
# in: e^−18 < 2^−25, so that in float32 too the weights of a selecting head are 1 and (almost) 0.
GAP = 18.0


@dataclass(frozen=True)
class SymbolicHead:
    """``query[j] · key[j]`` are summed to the score; ``value[j]`` goes to the channels ``output[j]``.

    ``error`` bounds how far, in exact arithmetic, an output may be from its meaning when inputs are exact;
    ``off`` says how far rounding moves scores, or the sums of a counter, in units of the round-off.
    """

    query: tuple[Column, ...]
    key: tuple[Column, ...]
    value: tuple[Column, ...]
    output: tuple[Column, ...]
    error: float
    off: float

    @property
    def reads(self) -> tuple[Channel, ...]:
        """Every channel the head looks at, once, in the order of its matrices."""
        parts = (self.query, self.key, self.value)
        return tuple(dict.fromkeys(channel for columns in parts for c in columns for channel in c))

    def matrices(self, before: Sequence[Channel], after: Sequence[Channel]) -> Head:
        """The matrices for the channels before and after attention, without outputs that nothing reads."""

        def fill(columns: Sequence[Column], channels: Sequence[Channel]) -> np.ndarray:
            matrix = np.zeros((len(channels), len(columns)))
            for number, column in enumerate(columns):
                for channel, weight in column.items():
                    matrix[channels.index(channel), number] += weight
            return matrix

        used = [n for n, column in enumerate(self.output) if all(channel in after for channel in column)]
        value, output = ([columns[n] for n in used] for columns in (self.value, self.output))
        return Head(
            fill(self.query, before), fill(self.key, before), fill(value, before), fill(output, after).T
        )


def copies(
    sources: tuple[str, ...], targets: tuple[str, ...], scale: float = 1.0
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Value and output columns that copy registers, times ``scale`` split between the two."""
    inner = 2.0 ** ((frexp(scale)[1] - 1) // 2)
    values = tuple({Channel(register=name): scale / inner} for name in sources)
    return values, tuple({Channel(register=name): inner} for name in targets)


def value_range(program: Program, sources: tuple[str, ...]) -> float:
    """The largest difference of two values a head could confuse."""
    registers = [program.register[name] for name in sources]
    return float(max(1, *(register.high - register.low for register in registers)))
