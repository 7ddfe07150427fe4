"""Heads whose values are only added up share one channel: the block adds its heads anyway."""

from collections import Counter
from dataclasses import dataclass

from krohn.network.operations import Linear, PositionMap
from krohn.network.program import Program


@dataclass(frozen=True)
class HeadSums:
    """``into[register] = (sum, factor)`` for head outputs that are only added up; ``maps``: the sums."""

    into: dict[str, tuple[str, int]]
    maps: frozenset[PositionMap]

    def goal(self, register: str) -> str:
        """The register whose channel a head writes."""
        return self.into[register][0] if register in self.into else register

    def factor(self, register: str) -> int:
        """And with what weight."""
        return self.into[register][1] if register in self.into else 1


def sums_of_heads(program: Program) -> HeadSums:
    """Linear maps without offset whose terms are head outputs of the same layer that nothing else reads."""
    readers = Counter(name for layer in program.layers for op in layer.operations for name in op.reads)
    readers.update(program.readout.registers)
    into: dict[str, tuple[str, int]] = {}
    maps: set[PositionMap] = set()
    for layer in program.layers:
        written = {name for head in layer.attention for name in head.writes}
        for change in layer.maps:
            if isinstance(change, Linear) and not change.offset and _is_sum(change, written, readers):
                into.update({name: (change.target, factor) for name, factor in change.terms})
                maps.add(change)
    return HeadSums(into, frozenset(maps))


def _is_sum(change: Linear, written: set[str], readers: Counter[str]) -> bool:
    return all(name in written and readers[name] == 1 for name, _ in change.terms)
