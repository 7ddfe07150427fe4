"""A value that finitely many registers determine, kept as a table until somebody needs it in a register."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from krohn.construct.tight.draft import ProgramDraft
from krohn.errors import LimitExceeded
from krohn.network.position_maps import Row

# Beyond this many combinations the parts are put into registers of their own first.
MAX_JOINT_ROWS = 512
MAX_LISTED_ROWS = 100_000


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


def joined(
    draft: ProgramDraft, parts: Sequence[Finite], names: Sequence[str], meaning: Mapping[Row, int]
) -> Finite:
    """The value that several values determine: ``meaning[values]``.

    Combinations without a meaning cannot occur after a letter. Where some part shows other values at padding
    positions they can occur there, and are listed, whether the parts are held in registers or not.
    """
    padded = any(part.elsewhere for part in parts)
    if prod(len(part.all_rows) for part in parts) > MAX_JOINT_ROWS:
        parts = [_held(draft, part, name) for part, name in zip(parts, names, strict=True)]
    showing = [_rows_by_value(part.rows) for part in parts]
    rows: dict[Row, int] = {}
    for values, value in meaning.items():
        for combination in product(*(shown.get(x, ()) for shown, x in zip(showing, values, strict=True))):
            rows[tuple(x for row in combination for x in row)] = value
    elsewhere: dict[Row, int] = {}
    if padded:
        require_rows(prod(len(part.all_rows) for part in parts), names)
        some = next(iter(rows.values()))
        for combination in product(*(part.all_rows for part in parts)):
            elsewhere[tuple(x for row in combination for x in row)] = some
        elsewhere = {row: value for row, value in elsewhere.items() if row not in rows}
    return Finite(tuple(name for part in parts for name in part.inputs), rows, elsewhere)


def _rows_by_value(rows: Mapping[Row, int]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row, value in rows.items():
        found.setdefault(value, []).append(row)
    return found


def require_rows(rows: int, names: Sequence[str]) -> None:
    """Refuses a table that nobody could write down."""
    if rows > MAX_LISTED_ROWS:
        raise LimitExceeded(
            f"a table for {', '.join(names)[:80]} would have {rows:,} rows, more than {MAX_LISTED_ROWS:,}"
        )


def _held(draft: ProgramDraft, part: Finite, name: str) -> Finite:
    held = part.register(draft, name)
    if not held:
        return Finite((), {(): part.values.pop()})
    others = sorted(set(part.elsewhere.values()) - part.values)
    return Finite((held,), {(x,): x for x in sorted(part.values)}, {(x,): x for x in others})
