"""A head before channels have numbers: columns of its matrices as sums over named channels."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from krohn.construct.lowering.head_sums import HeadSums
from krohn.network.layout import Channel
from krohn.network.program import Program
from krohn.network.transformer import Head

Column = dict[Channel, float]

# Logit gap, in nats, between the position a head wants and the next best, before values are counted
# in: e^−18 < 2^−25, so that in float32 too the weights of a selecting head are 1 and (almost) 0.
GAP = 18.0


@dataclass(frozen=True)
class HeadPlan:
    """``query[j] · key[j]`` are summed to the score; ``value[j]`` goes to the channels ``output[j]``.

    ``error`` bounds how far, in exact arithmetic, an output may be from its meaning when inputs are exact.
    """

    query: tuple[Column, ...]
    key: tuple[Column, ...]
    value: tuple[Column, ...]
    output: tuple[Column, ...]
    error: float

    @property
    def reads(self) -> set[Channel]:
        """Every channel the head looks at."""
        return {channel for columns in (self.query, self.key, self.value) for c in columns for channel in c}

    def adding(self, sums: HeadSums) -> "HeadPlan":
        """The head with outputs that are only added up written straight into the channel of their sum."""
        outputs = []
        for column in self.output:
            moved: Column = {}
            for channel, weight in column.items():
                factor = sums.factor(channel.register)
                moved[Channel(register=sums.goal(channel.register), part=channel.part)] = weight * factor
            outputs.append(moved)
        return replace(self, output=tuple(outputs))

    def matrices(self, before: Callable[[Channel], int], after: Callable[[Channel], int], dim: int) -> Head:
        """The head's matrices, once channels have numbers before and after the attention block."""

        def fill(columns: tuple[Column, ...], place: Callable[[Channel], int]) -> np.ndarray:
            matrix = np.zeros((dim, len(columns)))
            for number, column in enumerate(columns):
                for channel, weight in column.items():
                    matrix[place(channel), number] += weight
            return matrix

        query, key, value = (fill(columns, before) for columns in (self.query, self.key, self.value))
        return Head(query, key, value, fill(self.output, after).T)


def copies(
    sources: tuple[str, ...], targets: tuple[str, ...], scale: float = 1.0
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Value and output columns that copy registers, times ``scale`` split between the two."""
    inner = 2.0 ** (np.log2(scale) // 2)
    values = tuple({Channel(register=name): scale / inner} for name in sources)
    return values, tuple({Channel(register=name): inner} for name in targets)


def value_range(program: Program, sources: tuple[str, ...]) -> float:
    """The largest difference of two values a head could confuse."""
    registers = [program.register[name] for name in sources]
    return float(max(1, *(register.high - register.low for register in registers)))
