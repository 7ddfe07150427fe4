"""The coordinate of a permutation-reset level: a value in memory, moved by the counters of its group.

At a reset at time r the value written is w = target·G_r⁻¹; later the coordinate is w·G_t. One small integer
is copied, whatever the group (the permutation-reset lemma copies a whole representation). A change of class
is always a reset, so all classes of a level share one memory; ``kind`` says whose counters apply.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from krohn.algebra.counters import Residues
from krohn.algebra.transformation import inverse
from krohn.construct.tight.draft import ProgramDraft
from krohn.construct.tight.finite import Finite
from krohn.construct.tight.running_counters import RunningCounters
from krohn.network.program import Meaning


def moved(
    draft: ProgramDraft,
    value: Finite,
    kind: Finite,
    groups: Sequence[RunningCounters],
    level: Meaning,
    *,
    undo: bool,
) -> Finite:
    """value·G, or to be written value·G⁻¹, with G what the counters of that kind hold; kind 0 leaves it."""
    kinds = sorted(kind.values)
    if kinds == [0]:
        return value
    if len(kinds) == 1:
        group = groups[kinds[0] - 1]
        through = {(*row, *h): y for row, x in value.rows.items() for h, y in _images(group, x, undo)}
        return Finite((*value.inputs, *group.now), through)
    when = "write" if undo else "now"
    which = kind.register(draft, replace(level, kind=f"{when} kind"))
    held = value.register(draft, replace(level, kind=f"{when} value"))
    values = value.values if held else {0}
    parts = []
    for number in kinds:
        mover = groups[number - 1] if number else None
        rows = {
            (here, x, *h): (y if here == number else 0)
            for x in values
            for h, y in (_images(mover, x, undo) if mover else [((), x)])
            for here in kinds
        }
        inputs = (which, *((held,) if held else ()), *(mover.now if mover else ()))
        part = Finite(inputs, rows if held else {(r[0], *r[2:]): y for r, y in rows.items()})
        parts.append(part.register(draft, replace(level, kind=f"{when} by kind", number=number)))
    top = max(draft.registers[part].high for part in parts if part)
    tile = replace(level, kind=f"{when} tile")
    total = draft.linear([(part, 1) for part in parts if part], 0, (0, top), tile)
    return Finite((total,), {(x,): x for x in range(top + 1)})


def _images(group: RunningCounters, tile: int, undo: bool) -> Iterator[tuple[Residues, int]]:
    """Counter values and where they take the tile; tiles that the class does not have stay."""
    for residues, element in group.tower.listed:
        move = inverse(element) if undo else element
        yield residues, move[tile] if tile < len(move) else tile
