"""A value determined by finitely many registers, kept as a lazy table until a register is needed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from math import prod

from krohn.construct.tight.draft import ProgramDraft
from krohn.errors import LimitExceeded
from krohn.network.operations import (
    Row,
)
from krohn.network.program import (
    Meaning,
)

# Beyond this many combinations the parts get registers of their own first.
MAX_JOINT_ROWS = 512
MAX_LISTED_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class Finite:
    """``rows[values of inputs]`` is the value; no inputs: a constant.

    ``elsewhere`` lists rows that occur only at padding positions, where the value does not matter.
    """

    inputs: tuple[str, ...]
    rows: Mapping[Row, int]
    elsewhere: Mapping[Row, int] = field(default_factory=dict)

    @property
    def values(self) -> set[int]:
        """All possible values."""
        return set(self.rows.values())

    def renamed(self, function: Callable[[int], int]) -> "Finite":
        """The value under a function."""
        rows, other = (
            {row: function(value) for row, value in part.items()} for part in (self.rows, self.elsewhere)
        )
        return Finite(self.inputs, rows, other)

    @property
    def all_rows(self) -> dict[Row, int]:
        """All rows that a table must list."""
        return {**self.elsewhere, **self.rows}

    def register(self, draft: ProgramDraft, meaning: Meaning) -> str:
        """A register that holds the value, "" if it is constant; an existing register is reused."""
        if len(self.values) == 1:
            return ""
        if len(self.inputs) == 1 and all(row == (value,) for row, value in self.all_rows.items()):
            return self.inputs[0]
        result = draft.fresh(meaning)
        draft.table(self.inputs, (result,), {row: (value,) for row, value in self.all_rows.items()})
        return result.name


def register_value(name: str, values: Iterable[int]) -> Finite:
    """The value of a register that can hold these values."""
    return Finite((name,), {(value,): value for value in sorted(values)})


def joined(
    draft: ProgramDraft, parts: Sequence[Finite], meanings: Sequence[Meaning], whole: Mapping[Row, int]
) -> Finite:
    """The value that several values determine: ``whole[values]``.

    Other combinations cannot occur after a letter. Where some part shows other values at padding
    positions they can occur there, and are listed, whether the parts are held in registers or not.
    """
    padded = any(part.elsewhere for part in parts)
    if prod(len(part.all_rows) for part in parts) > MAX_JOINT_ROWS:
        parts = [_held(draft, part, meaning) for part, meaning in zip(parts, meanings, strict=True)]
    showing = [_rows_by_value(part.rows) for part in parts]
    rows: dict[Row, int] = {}
    for values, value in whole.items():
        for combination in product(*(shown.get(x, ()) for shown, x in zip(showing, values, strict=True))):
            rows[tuple(chain(*combination))] = value
    elsewhere: dict[Row, int] = {}
    if padded:
        require_rows(prod(len(part.all_rows) for part in parts), [meaning.name for meaning in meanings])
        listed = (tuple(chain(*combination)) for combination in product(*(part.all_rows for part in parts)))
        elsewhere = dict.fromkeys((row for row in listed if row not in rows), next(iter(rows.values())))
    return Finite(tuple(name for part in parts for name in part.inputs), rows, elsewhere)


def _rows_by_value(rows: Mapping[Row, int]) -> dict[int, list[Row]]:
    result: dict[int, list[Row]] = {}
    for row, value in rows.items():
        result.setdefault(value, []).append(row)
    return result


def require_rows(rows: int, names: Sequence[str]) -> None:
    """Refuses a table that is too large."""
    if rows > MAX_LISTED_ROWS:
        raise LimitExceeded(
            f"a table for {', '.join(names)[:80]} would have {rows:,} rows, more than {MAX_LISTED_ROWS:,}"
        )


def _held(draft: ProgramDraft, part: Finite, meaning: Meaning) -> Finite:
    held = part.register(draft, meaning)
    if not held:
        return Finite((), {(): part.values.pop()})
    others = sorted(set(part.elsewhere.values()) - part.values)
    return Finite((held,), {(x,): x for x in sorted(part.values)}, {(x,): x for x in others})
