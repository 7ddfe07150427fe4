"""Hints for layers whose heads match: which positions a query finds depends on its class.

Each set of keys that some query looks for has a register for each value of the head. MLPs may depend on all
registers at once: each class is looked at with each list of registers that words reach.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from krohn.coq.counting_hints import ChannelHint, CopyHint, Group, LayerHint, MatchHint
from krohn.coq.heads import GRID, Before, units_of, writers_of
from krohn.network.transformer import Layer, Matrix

SAME = 64
"""Queries and keys that agree when multiplied by this and rounded are of one class."""


@dataclass
class Registers:
    """Values that heads copy: what each class sets them to, the spans of these marks, and their channels."""

    sets: list[tuple[int | None, ...]] = field(default_factory=list)
    spans: list[range] = field(default_factory=list)
    channels: dict[bytes, ChannelHint] = field(default_factory=dict)

    def channel(self, values: Matrix, first: float, writers: npt.NDArray[np.bool_]) -> ChannelHint:
        """The register of a value, which ``writers`` set; ``first`` is its value at position 0."""
        name = values.tobytes() + writers.tobytes()
        if name not in self.channels:
            unit, marks, _ = units_of(np.where(writers, values - first, 0.0))
            self.channels[name] = ChannelHint(len(self.sets), round(unit * GRID))
            self.sets.append(tuple(m if w else None for m, w in zip(marks, writers.tolist(), strict=True)))
            self.spans.append(range(min(0, *marks), max(0, *marks) + 1))
        return self.channels[name]


@dataclass(frozen=True)
class Matching:
    """The hint of a layer whose heads match, without the classes after it.

    Attributes:
        lows: the least mark of each register.
        constants: what heads add while all registers are 0.
        effects: for each class of queries what a unit of each register adds.
    """

    hint: LayerHint
    lows: tuple[int, ...]
    constants: Matrix
    effects: tuple[Matrix, ...]

    def added(self, at: int, residues: tuple[int, ...]) -> Matrix:
        """What heads add to the stream of a class, for these residues."""
        marks = [
            low + (residue - low) % group.modulus
            for low, residue, group in zip(self.lows, residues, self.hint.groups, strict=True)
        ]
        return np.asarray(self.constants + np.array(marks) @ self.effects[self.hint.asks[at]])


def asks_differ(layer: Layer, before: Before) -> bool:
    """Whether the queries of some head depend on the class."""
    return len(_classes([before.of_class @ head.query for head in layer.heads])[1][0]) > 1


def matching(layer: Layer, before: Before) -> Matching:
    """The registers of a layer, and which queries find them."""
    keys, key_rows = _classes([before.of_class @ head.key for head in layer.heads])
    asks, _ = _classes([before.of_class @ head.query for head in layer.heads])
    one_of_each = [asks.index(ask) for ask in range(max(asks) + 1)]
    # Queries of one class find the same keys, so one query of each class is looked at.
    registers = Registers()
    hints: list[MatchHint] = []
    for head, rows in zip(layer.heads, key_rows, strict=True):
        of_place = (before.places - before.places[0]) @ head.key
        values, first = before.stream @ head.value, before.places[0] @ head.value
        copies = []
        for question in before.stream[one_of_each] @ head.query:
            writers = writers_of((of_place[1:, None] + rows) @ question)
            own = writers[list(keys)]
            channels = (
                registers.channel(column, float(value), own)
                for column, value in zip(values.T, first, strict=True)
            )
            copies.append(CopyHint(tuple(writers.tolist()), tuple(channels)))
        hints.append(MatchHint(tuple(copies)))
    constants = sum(before.places[0] @ head.value @ head.output for head in layer.heads)
    effects = tuple(np.zeros((len(registers.sets), before.stream.shape[1])) for _ in one_of_each)
    for head, hint in zip(layer.heads, hints, strict=True):
        for effect, copy in zip(effects, hint.asks, strict=True):
            for channel, out in zip(copy.channels, head.output, strict=True):
                effect[channel.counter] += channel.unit / GRID * out
    layer_hint = LayerHint(
        heads=tuple(hints),
        steps=((0,) * len(keys),) * len(registers.sets),
        sets=tuple(registers.sets),
        places=tuple(before.residues.tolist()),
        groups=tuple(Group((*(0,) * j, 1), len(span), ()) for j, span in enumerate(registers.spans)),
        cut=0,
        owner=(),
        channels=(),
        keys=keys,
        asks=asks,
    )
    return Matching(layer_hint, tuple(s.start for s in registers.spans), np.asarray(constants), effects)


def _classes(rows: list[Matrix]) -> tuple[tuple[int, ...], list[Matrix]]:
    """Numbers of rows that are equal in all of these, and one row of each number."""
    together = np.rint(np.concatenate(rows, axis=1) * SAME)
    _, first, number = np.unique(together, axis=0, return_index=True, return_inverse=True)
    return tuple(number.reshape(-1).tolist()), [row[first] for row in rows]
