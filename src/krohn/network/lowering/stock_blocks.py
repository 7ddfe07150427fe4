"""A program whose layers are cut into stock blocks: attention and maps, then maps alone.

A map that reads what another map of its layer writes gets a block of its own. What the first has written
is then a number in the stream, rounded once: all units of the second read the same number, and its error
cancels where their outputs are subtracted. Inside one MLP every unit would add it up anew, and round it
its own way.
"""

from collections.abc import Iterator
from dataclasses import replace

from krohn.network.operations import Linear, PositionMap
from krohn.network.program import Program, ProgramLayer


def in_blocks(program: Program) -> Program:
    """The same program, in layers whose maps do not read each other; those after the first have no heads."""
    return replace(program, layers=tuple(block for layer in program.layers for block in _blocks(layer)))


def _blocks(layer: ProgramLayer) -> Iterator[ProgramLayer]:
    stage: dict[str, int] = {}
    maps: list[list[PositionMap]] = [[]]
    for change in layer.maps:
        after = max((stage.get(name, 0) for name in change.reads), default=0)
        own = after if isinstance(change, Linear) else after + 1  # a sum takes no unit
        stage |= dict.fromkeys(change.writes, own)
        maps += [[] for _ in range(own - len(maps))]
        maps[max(own, 1) - 1].append(change)
    for number, changes in enumerate(maps):
        yield ProgramLayer(layer.attention if number == 0 else (), tuple(changes))
