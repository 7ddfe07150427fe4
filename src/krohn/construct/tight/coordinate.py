"""The coordinate of a permutation-reset level: a value in memory, moved by the counters of its group.

At a reset at time r the value written is w = target·G_r⁻¹; later the coordinate is w·G_t. One small integer
is copied, whatever the group (the permutation-reset lemma copies a whole representation). A change of class
is always a reset, so all classes of a level share one memory; ``kind`` says whose counters apply.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from krohn.algebra.permutation import inverse
from krohn.algebra.solvable import CounterTower, Residues
from krohn.construct.tight.draft import ProgramDraft
from krohn.construct.tight.finite import Finite


@dataclass(frozen=True)
class CounterReading:
    """The registers of one class's counters at the moment that is meant (after or before the letter)."""

    tower: CounterTower | None
    counters: tuple[str, ...]


def moved(
    draft: ProgramDraft,
    value: Finite,
    kind: Finite,
    readings: Sequence[CounterReading],
    name: str,
    *,
    undo: bool,
) -> Finite:
    """value·G, or value·G⁻¹, with G the product held by the counters of that kind; kind 0 leaves it."""
    kinds = sorted(kind.values)
    if len(kinds) == 1:
        return value if kinds == [0] else _through(value, readings[kinds[0] - 1], undo)
    which, held = kind.register(draft, f"{name} kind"), value.register(draft, f"{name} value")
    values = value.values if held else {0}
    parts = []
    for number in kinds:
        reading = readings[number - 1] if number else CounterReading(None, ())
        rows = {
            (here, x, *h): (y if here == number else 0)
            for x in values
            for h, y in _images(reading, x, undo)
            for here in kinds
        }
        inputs = (which, *((held,) if held else ()), *reading.counters)
        part = Finite(inputs, rows if held else {(r[0], *r[2:]): y for r, y in rows.items()})
        parts.append(part.register(draft, f"{name} by kind {number}"))
    top = max(draft.registers[part].high for part in parts if part)
    total = draft.linear([(part, 1) for part in parts if part], 0, (0, top), draft.fresh(f"{name} tile"))
    return Finite((total,), {(x,): x for x in range(top + 1)})


def _through(value: Finite, reading: CounterReading, undo: bool) -> Finite:
    rows = {(*row, *h): y for row, x in value.rows.items() for h, y in _images(reading, x, undo)}
    return Finite((*value.inputs, *reading.counters), rows)


def _images(reading: CounterReading, tile: int, undo: bool) -> Iterator[tuple[Residues, int]]:
    """Counter values and where they take the tile; tiles that the class does not have stay."""
    if reading.tower is None:
        yield (), tile
        return
    for residues, element in reading.tower.listed:
        move = inverse(element) if undo else element
        yield residues, move[tile] if tile < len(move) else tile
