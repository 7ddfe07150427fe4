"""Reading a state off many rows: boxes of values, a clamp for each, and their sum.

A table of one staircase multiplies what its inputs may be off by the number of its steps, and floats of 24
bits do not hold hundreds of steps. A box says of some inputs from where to where they go. It is a clamp of
flags that are 0 or 1, flat around whole numbers, so neither the number of rows nor that of inputs makes an
error larger. A row lies in exactly one box, and the boxes of an output together hold exactly its rows, of
those that can occur.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np

from krohn.construct.features.cheapest_set import needed_columns
from krohn.construct.features.events import Integers
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.operations import Row
from krohn.network.program import Meaning, Program, Readout

ONE_DIGIT = 32
"""Outputs whose numbers are read as they are; more are read as two digits, whose squares are small."""


@dataclass(frozen=True, eq=False)
class Box:
    """Values from ``low`` to ``high`` of each input, and the output there."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    output: int


def boxes_of(rows: Mapping[Row, int]) -> list[Box]:
    """Boxes so that each row lies in one; each grows as far as it meets only rows of its output."""
    given, outputs = np.array(list(rows), dtype=np.int64), np.array(list(rows.values()), dtype=np.int64)
    ends = given.min(axis=0), given.max(axis=0)
    covered = np.zeros(len(given), dtype=bool)
    result: list[Box] = []
    for seed in range(len(given)):
        if covered[seed]:
            continue
        low, high = _grown(given, covered | (outputs != outputs[seed]), given[seed], ends)
        covered |= ((given >= low) & (given <= high)).all(axis=1)
        result.append(Box(tuple(low.tolist()), tuple(high.tolist()), int(outputs[seed])))
    return result


def _grown(
    given: Integers, barred: np.ndarray, seed: Integers, ends: tuple[Integers, Integers]
) -> tuple[Integers, Integers]:
    """The box from a row on, one input after another, up to the nearest row that it must not hold."""
    low, high = seed.copy(), seed.copy()
    for column in range(given.shape[1] - 1, -1, -1):
        others = np.arange(given.shape[1]) != column
        beside = barred & ((given >= low) & (given <= high))[:, others].all(axis=1)
        values = given[beside, column]
        low[column] = max(values[values < seed[column]], default=ends[0][column] - 1) + 1
        high[column] = min(values[values > seed[column]], default=ends[1][column] + 1) - 1
    return low, high


def read_by_boxes(
    draft: ProgramDraft, names: Sequence[str], rows: Mapping[Row, int], num_outputs: int
) -> Program:
    """The program whose read-out is a sum of boxes; the output of most boxes has number 0 and needs none."""
    columns = needed_columns(rows, len(names))
    fewer = {tuple(row[c] for c in columns): output for row, output in rows.items()}
    boxes, inputs = boxes_of(fewer), [names[c] for c in columns]
    often = [output for output, _ in Counter(box.output for box in boxes).most_common()]
    base = num_outputs if num_outputs <= ONE_DIGIT else 1 + isqrt(num_outputs - 1)
    codes = {output: (n,) if base == num_outputs else divmod(n, base) for n, output in enumerate(often)}
    reaches = _Reaches(draft, inputs, fewer)
    cases = [
        (reaches.case(box, number), codes[box.output])
        for number, box in enumerate(boxes)
        if box.output != often[0]
    ]
    digits = []
    for place in range(len(codes[often[0]])):
        terms = [(case, code[place]) for case, code in cases if code[place]]
        most = max(code[place] for code in codes.values())
        digits.append(draft.linear(terms, 0, (0, most), Meaning("digit", number=place)))
    return draft.finish_readout(Readout(tuple(digits), tuple(codes.get(q) for q in range(num_outputs))))


class _Reaches:
    """Flags for inputs that reach a value, each made once, and clamps of them."""

    def __init__(self, draft: ProgramDraft, inputs: Sequence[str], rows: Mapping[Row, int]) -> None:
        self.draft, self.inputs = draft, inputs
        columns = list(zip(*rows, strict=True))
        self.least, self.most = [min(column) for column in columns], [max(column) for column in columns]
        self.known: dict[tuple[int, int], str] = {}

    def reaches(self, column: int, value: int) -> str:
        """1 where the input is at least ``value``."""
        name, draft = self.inputs[column], self.draft
        if (self.least[column], self.most[column], value) == (0, 1, 1):
            return name
        if (column, value) not in self.known:
            meaning = Meaning("reaches", number=value, of=(draft.registers[name].meaning,))
            self.known[column, value] = draft.clamp([(name, 3)], 2 - 3 * value, 0, 1, meaning)
        return self.known[column, value]

    def case(self, box: Box, number: int) -> str:
        """1 inside the box."""
        ends = list(enumerate(zip(box.low, box.high, strict=True)))
        above = [self.reaches(column, low) for column, (low, _) in ends if low > self.least[column]]
        beyond = [self.reaches(column, high + 1) for column, (_, high) in ends if high < self.most[column]]
        terms = [*((name, 3) for name in above), *((name, -3) for name in beyond)]
        return self.draft.clamp(terms, 2 - 3 * len(above), 0, 1, Meaning("case", number=number))
