"""A value that finitely many registers determine, kept as a table until somebody needs it in a register."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from krohn.construct.tight.draft import ProgramDraft
from krohn.network.operations import Row

Joint = Callable[[tuple[int, ...]], int | None]

# Beyond this many combinations the parts are put into registers of their own first.
MAX_JOINT_ROWS = 512


@dataclass(frozen=True, eq=False)
class Finite:
    """``rows[values of inputs]`` is the value; no inputs: a constant.

    ``elsewhere`` lists what only padding positions can show, where the value does not matter.
    """

    inputs: tuple[str, ...]
    rows: Mapping[Row, int]
    elsewhere: Mapping[Row, int] = field(default_factory=dict)

    @property
    def values(self) -> set[int]:
        """Everything it can be."""
        return set(self.rows.values())

    def renamed(self, function: Callable[[int], int]) -> "Finite":
        """The value under a function."""
        rows, other = (
            {row: function(value) for row, value in part.items()} for part in (self.rows, self.elsewhere)
        )
        return Finite(self.inputs, rows, other)

    @property
    def all_rows(self) -> dict[Row, int]:
        """Everything that a table must list."""
        return {**self.elsewhere, **self.rows}

    def register(self, draft: ProgramDraft, name: str) -> str:
        """A register that holds the value, "" if it is constant; a register that does already is reused."""
        if len(self.values) == 1:
            return ""
        if len(self.inputs) == 1 and all(row == (value,) for row, value in self.all_rows.items()):
            return self.inputs[0]
        made = draft.fresh(name)
        draft.table(self.inputs, (made,), {row: (value,) for row, value in self.all_rows.items()})
        return made


def register_value(name: str, values: Iterable[int]) -> Finite:
    """The value of a register that can hold these values."""
    return Finite((name,), {(value,): value for value in sorted(values)})


@dataclass(frozen=True, eq=False)
class Track:
    """A state after the letter and, under a strict mask, before it (causal: both are the state after it)."""

    after: Finite
    before: Finite

    def renamed(self, function: Callable[[int], int]) -> "Track":
        """Both under a function."""
        return Track(self.after.renamed(function), self.before.renamed(function))


def joined(draft: ProgramDraft, parts: Sequence[Finite], names: Sequence[str], meaning: Joint) -> Finite:
    """The value that several values determine.

    Combinations without a meaning cannot occur after a letter. Where some part shows other values at padding
    positions they can occur there, and are listed, whether the parts are held in registers or not.
    """
    padded = any(part.elsewhere for part in parts)
    if prod(len(part.all_rows) for part in parts) > MAX_JOINT_ROWS:
        parts = [_held(draft, part, name) for part, name in zip(parts, names, strict=True)]
    rows: dict[Row, int] = {}
    elsewhere: dict[Row, int] = {}
    some = 0
    for combination in product(*(part.all_rows.items() for part in parts)):
        value = meaning(tuple(value for _, value in combination))
        joint = tuple(x for row, _ in combination for x in row)
        if value is None or any(r in p.elsewhere for (r, _), p in zip(combination, parts, strict=True)):
            elsewhere[joint] = some if value is None else value
        else:
            rows[joint] = some = value
    if not padded:
        elsewhere = {}
    return Finite(tuple(name for part in parts for name in part.inputs), rows, elsewhere)


def _held(draft: ProgramDraft, part: Finite, name: str) -> Finite:
    held = part.register(draft, name)
    if not held:
        return Finite((), {(): part.values.pop()})
    others = sorted(set(part.elsewhere.values()) - part.values)
    return Finite((held,), {(x,): x for x in sorted(part.values)}, {(x,): x for x in others})
