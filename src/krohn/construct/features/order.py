"""Compares two positions: each the earliest or latest of a class, which may depend on the place.

Letter and place are added in the embedding, so one head finds "a at odd places", but not "a at odd or b at
even places". Two heads find one position each, their difference is one channel, and the MLP sees its sign,
or whether it is 1; and where the later one stands, modulo a period.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from krohn.construct.features.feature import Symbols, Value, folded
from krohn.construct.features.one_head import place_register
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
        """The display name."""
        where = f" at {self.residue} mod {self.period}" if self.period > 1 else ""
        return f"{self.end}[{self.label}{where}]"

    def moves(self, holds: bool, symbol: int, place: int) -> bool:
        """Whether the mark moves to this position."""
        if self.end == "earliest" and holds:
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
    """Whether the first mark stands ``lead`` (0 or 1) positions after the second: 2; later: 4; earlier: 0.

    An absent mark stands at 0.
    """

    first: Mark
    second: Mark
    lead: int = 0
    early: int = 1
    masked: bool = True

    @property
    def start(self) -> Value:
        """Both at 0, the current position."""
        return (2 - 2 * self.lead, False, False, *(True, True)[: 2 * self.lead])

    @property
    def period(self) -> int:
        """The common period of both marks; 1 if they ignore places."""
        return max(self.first.period, self.second.period)

    @property
    def name(self) -> str:
        """The display name."""
        return f"{self.first.name} {'1 ' * self.lead}after {self.second.name}"

    @property
    def cost(self) -> float:
        """Two heads."""
        return 2.0 + 0.02 * self.period + 0.1 * self.lead

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """The shown value, which marks are present, and with a lead which of them are here."""
        assert isinstance(value, tuple)
        shown, *there = value
        here = folded(place, self.early, self.period)
        one, two = (
            mark.moves(result, symbol, here)
            for mark, result in zip((self.first, self.second), there, strict=False)
        )
        if one and two:
            shown = 2 - 2 * self.lead
        elif one:  # the second mark stands one position back if it was the one before
            shown = 2 if self.lead and there[3] else 4
        elif two:
            shown = 0
        return shown, there[0] or one, there[1] or two, *(one, two)[: 2 * self.lead]

    def show(self, value: Value) -> Row:
        """The comparison alone."""
        assert isinstance(value, tuple)
        assert isinstance(value[0], int)
        return (value[0],)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """The flags of both marks, and their positions compared."""
        return self.compared(draft, [mark.flags(draft, symbols) for mark in (self.first, self.second)])

    def compared(self, draft: ProgramDraft, flags: Sequence[Sequence[str]]) -> tuple[str, ...]:
        """Three times the difference, minus the lead, clamped to −2 … 2: no difference is near a kink."""
        marks = [
            draft.end_write(own, mark.end, draft.position(), f"position of {mark.name}")
            for own, mark in zip(flags, (self.first, self.second), strict=True)
        ]
        target = draft.fresh(f"distance of {self.name}")
        apart = draft.linear([(marks[0], 1), (marks[1], -1)], 0, (-1, 1), target, kind="wide")
        return (draft.clamp([(apart, 3)], 2 - 3 * self.lead, 0, 4, draft.fresh(self.name)),)


@dataclass(frozen=True)
class LaterPlace:
    """The folded position of the mark that stands later, 0 if there is none; their periods divide it."""

    first: Mark
    second: Mark
    period: int
    early: int = 1
    masked: bool = True

    @property
    def order(self) -> Order:
        """Which of the two is later."""
        return Order(self.first, self.second)

    @property
    def start(self) -> tuple[Value, int]:
        """No mark yet."""
        return self.order.start, 0

    @property
    def name(self) -> str:
        """The display name."""
        return f"place of the later of {self.first.name} and {self.second.name} mod {self.period}"

    @property
    def cost(self) -> float:
        """Two heads, and a larger table."""
        return 2.2 + 0.02 * self.period

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """The mark that moves is the later one."""
        assert isinstance(value, tuple)
        ordered, held = value
        after = self.order.step(ordered, symbol, place)
        assert isinstance(ordered, tuple)
        moved = any(
            mark.moves(bool(result), symbol, place)
            for mark, result in zip((self.first, self.second), ordered[1:], strict=True)
        )
        return after, folded(place, self.early, self.period) if moved else held

    def show(self, value: Value) -> Row:
        """The folded position."""
        assert isinstance(value, tuple)
        return (value[1],)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """The heads that compare positions also copy the places; a table selects one of them."""
        flags = [mark.flags(draft, symbols) for mark in (self.first, self.second)]
        (ahead,) = self.order.compared(draft, flags)
        held = place_register(draft, self.early, self.period)
        places = [
            draft.end_write(own, mark.end, held, f"place of {mark.name}")
            for own, mark in zip(flags, (self.first, self.second), strict=True)
        ]
        target, values = draft.fresh(self.name), range(self.period + 1)
        rows: dict[Row, Row] = {
            (later, one, two): (one if later == 4 else two if later == 0 else max(one, two),)
            for later, one, two in product((0, 2, 4), values, values)
        }
        draft.table((ahead, *places), (target,), rows)
        return (target,)
