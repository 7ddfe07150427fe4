"""Which of two positions comes later: each the earliest or latest of a class, which may depend on the place.

Letter and place are added in the embedding, so one head finds "a at odd places", but not "a at odd or b at
even places". Two heads find one position each, their difference is one channel, and the MLP sees its sign.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from krohn.construct.features.feature import Value, folded
from krohn.construct.features.symbols import Symbols
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.position_maps import Row


@dataclass(frozen=True)
class Mark:
    """The earliest or latest position with one of the members, at places of one residue (period 1: any)."""

    members: frozenset[int]
    end: Literal["earliest", "latest"]
    label: str
    period: int = 1
    residue: int = 0

    @property
    def name(self) -> str:
        """What people call it."""
        where = f" at {self.residue} mod {self.period}" if self.period > 1 else ""
        return f"{self.end}[{self.label}{where}]"

    def moves(self, found: bool, symbol: int, place: int) -> bool:
        """Whether this position takes its place."""
        if self.end == "earliest" and found:
            return False
        return symbol in self.members and place % self.period == self.residue

    def flags(self, draft: ProgramDraft, symbols: Symbols) -> list[str]:
        """Registers that are all 1 where the mark may stand."""
        flags = [symbols.flag(draft, self.members, 0, f"is {self.label}")]
        if self.period > 1:
            cycle = [int(place % self.period == self.residue) for place in range(1, self.period + 1)]
            flags.append(draft.places(f"t is {self.residue} mod {self.period}", (0,), cycle))
        return flags


@dataclass(frozen=True)
class Order:
    """Which mark stands later: 4 the first, 0 the second, 2 neither; a mark that is not there stands at 0."""

    first: Mark
    second: Mark
    early: int = 1
    start: tuple[int, bool, bool] = (2, False, False)
    masked: bool = True

    @property
    def period(self) -> int:
        """Both marks look at places of one period, or at none."""
        return max(self.first.period, self.second.period)

    @property
    def name(self) -> str:
        """What people call it."""
        return f"{self.first.name} after {self.second.name}"

    @property
    def cost(self) -> float:
        """Two heads."""
        return 2.0 + 0.02 * self.period

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """What is shown, and which marks are there; a mark that moves is later than one that does not."""
        assert isinstance(value, tuple)
        shown, *there = value
        here = folded(place, self.early, self.period)
        one, two = (
            mark.moves(found, symbol, here)
            for mark, found in zip((self.first, self.second), there, strict=True)
        )
        return 2 + 2 * one - 2 * two if one or two else shown, there[0] or one, there[1] or two

    def show(self, value: Value) -> Row:
        """The comparison alone."""
        assert isinstance(value, tuple)
        assert isinstance(value[0], int)
        return (value[0],)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """The flags of both marks, and their positions compared."""
        return self.compared(draft, [mark.flags(draft, symbols) for mark in (self.first, self.second)])

    def compared(self, draft: ProgramDraft, flags: Sequence[Sequence[str]]) -> tuple[str, ...]:
        """Three times the difference of positions, clamped to −2 … 2: no difference is near a kink."""
        marks = [
            draft.end_write(own, mark.end, draft.position(), f"position of {mark.name}")
            for own, mark in zip(flags, (self.first, self.second), strict=True)
        ]
        target = draft.fresh(f"distance of {self.name}")
        apart = draft.linear([(marks[0], 1), (marks[1], -1)], 0, (-1, 1), target, kind="wide")
        return (draft.clamp([(apart, 3)], 2, 0, 4, draft.fresh(self.name)),)
