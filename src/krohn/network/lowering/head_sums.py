"""Heads whose values are only summed share one channel: the block sums its heads anyway."""

from collections import Counter
from dataclasses import dataclass, replace

from krohn.network.layout import Channel
from krohn.network.lowering.symbolic_head import Column, SymbolicHead
from krohn.network.operations import Linear, PositionMap
from krohn.network.program import Program


@dataclass(frozen=True)
class HeadSums:
    """``into[register] = (sum, factor)`` for head outputs that are only added up; ``maps``: the sums."""

    into: dict[str, tuple[str, int]]
    maps: frozenset[PositionMap]

    def goal(self, register: str) -> tuple[str, int]:
        """The register whose channel a head writes, and the weight with which it is written."""
        return self.into.get(register, (register, 1))


def sums_of_heads(program: Program) -> HeadSums:
    """Linear maps without offset whose terms are head outputs of the same layer that nothing else reads."""
    readers = Counter(name for layer in program.layers for op in layer.operations for name in op.reads)
    readers.update(program.readout.registers)
    into: dict[str, tuple[str, int]] = {}
    maps: set[PositionMap] = set()
    for layer in program.layers:
        written = {name for head in layer.attention for name in head.writes}
        for change in layer.maps:
            if not isinstance(change, Linear) or change.offset:
                continue
            if all(name in written and readers[name] == 1 for name in change.reads):
                into.update({name: (change.target, factor) for name, factor in change.terms})
                maps.add(change)
    return HeadSums(into, frozenset(maps))


def write_sums(head: SymbolicHead, sums: HeadSums) -> SymbolicHead:
    """The head, with outputs that are only summed written directly into the channel of their sum."""
    outputs = []
    for column in head.output:
        moved: Column = {}
        for channel, weight in column.items():
            target, factor = sums.goal(channel.register)
            moved[Channel(register=target, part=channel.part)] = weight * factor
        outputs.append(moved)
    return replace(head, output=tuple(outputs))
