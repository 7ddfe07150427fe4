"""Operations with their layers become a program: unread ones dropped, heads of one pattern merged."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from krohn.network.attention_operations import AttentionOperation
from krohn.network.position_maps import PositionMap, Select, Table
from krohn.network.program import Places, Program, ProgramLayer, Readout, Register, Source
from krohn.network.transformer import Mask


def arrange(
    registers: Mapping[str, Register],
    sources: Mapping[str, Source],
    heads: Sequence[tuple[int, AttentionOperation]],
    maps: Sequence[tuple[int, PositionMap]],
    readout: Readout,
    mask: Mask,
    places: Mapping[str, Places],
) -> Program:
    """The program of what the read-out needs."""
    needed, used_heads, used_maps = set(readout.registers), [], []
    depth = 1 + max((layer for layer, _ in [*heads, *maps]), default=-1)
    for layer in reversed(range(depth)):
        for change in reversed([change for at, change in maps if at == layer]):
            if needed.intersection(change.writes):
                used_maps.append((layer, _only_needed(change, needed)))
                needed.update(change.reads)
                if isinstance(change, Select):
                    needed.update(change.writes)  # a map is composed whole, so that it can be recognised
        for head in (head for at, head in heads if at == layer and needed.intersection(head.writes)):
            used_heads.append((layer, head))
            needed.update(head.reads)
    depth = 1 + max((layer for layer, _ in [*used_heads, *used_maps]), default=-1)
    layers = tuple(
        ProgramLayer(
            attention=_merged([head for at, head in used_heads if at == layer]),
            maps=tuple(change for at, change in reversed(used_maps) if at == layer),
        )
        for layer in range(depth)
    )
    if not needed.intersection(sources):
        needed.add(next(iter(sources)))  # a program knows its letters even where only places matter
    return Program(
        registers=tuple(register for name, register in registers.items() if name in needed),
        sources=tuple(source for name, source in sources.items() if name in needed),
        layers=layers,
        readout=readout,
        mask=mask,
        places=tuple(place for name, place in places.items() if name in needed),
    )


def _only_needed(change: PositionMap, needed: set[str]) -> PositionMap:
    if not isinstance(change, Table) or needed.issuperset(change.outputs):
        return change
    kept = [column for column, name in enumerate(change.outputs) if name in needed]
    rows = tuple((given, tuple(result[c] for c in kept)) for given, result in change.rows)
    return Table(change.inputs, tuple(change.outputs[c] for c in kept), rows)


def _merged(heads: Sequence[AttentionOperation]) -> tuple[AttentionOperation, ...]:
    """All prefix sums in one head, all copies from the same place in one head."""
    merged = []
    for _, same in groupby(sorted(heads, key=lambda head: head.pattern), key=lambda head: head.pattern):
        parts = list(same)
        sources = tuple(name for part in parts for name in part.sources)
        targets = tuple(name for part in parts for name in part.targets)
        merged.append(replace(parts[0], sources=sources, targets=targets))
    return tuple(merged)
