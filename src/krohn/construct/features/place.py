"""Folded positions, exact at first, then modulo a period: here, or at an end of a class.

The position itself needs no head; that of the latest or earliest member of a class needs one.
"""

from dataclasses import dataclass
from typing import Literal

from krohn.construct.features.feature import Symbols, Value, folded
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.position_maps import Row


@dataclass(frozen=True)
class Place:
    """Position t, folded: t while t < early + period, then the position that looks like it."""

    early: int
    period: int
    start: int = 0
    masked: bool = False

    @property
    def name(self) -> str:
        """The display name."""
        if self.early == 1:
            return f"t mod {self.period}"
        return f"min(t, {self.early})" if self.period == 1 else f"t, from {self.early} on mod {self.period}"

    @property
    def cost(self) -> float:
        """No head, but a larger table."""
        return 0.1 + 0.02 * (self.early + self.period)

    def step(self, value: Value, symbol: int, place: int) -> int:
        """Advances the clock."""
        return folded(place, self.early, self.period)

    def show(self, value: Value) -> Row:
        """The folded position; 0 at BOS."""
        assert isinstance(value, int)
        return (value,)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A part of the position encoding."""
        return (place_register(draft, self.early, self.period),)


def place_register(draft: ProgramDraft, early: int, period: int) -> str:
    """The register of folded positions, created once."""
    name = f"t mod {period}" if early == 1 else f"t to {early} mod {period}"
    return draft.places(name, range(early), range(early, early + period))


@dataclass(frozen=True)
class EndPlace:
    """The folded position of the latest or earliest member, 0 before the first."""

    members: frozenset[int]
    period: int
    label: str
    early: int = 1
    end: Literal["latest", "earliest"] = "latest"
    start: int = 0
    masked: bool = True

    @property
    def name(self) -> str:
        """The display name."""
        late = f" from {self.early} on" if self.early > 1 else ""
        return f"place of {self.end}[{self.label}] mod {self.period}{late}"

    @property
    def cost(self) -> float:
        """One head, and a larger table."""
        return (1.0 + 0.05 * self.early if self.end == "latest" else 1.1) + 0.02 * self.period

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """Members move it here; the earliest stays where it is."""
        if symbol not in self.members or (value and self.end == "earliest"):
            return value
        return folded(place, self.early, self.period)

    def show(self, value: Value) -> Row:
        """The folded position."""
        assert isinstance(value, int)
        return (value,)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A memory of positions; that of the earliest is written once."""
        held = place_register(draft, self.early, self.period)
        if self.end == "latest":
            flag = symbols.flag(draft, self.members, 1, f"writes {self.label}")
            return (draft.latest_write(flag, held, self.name),)
        flag = symbols.flag(draft, self.members, 0, f"is {self.label}")
        return (draft.end_write([flag], "earliest", held, self.name),)
