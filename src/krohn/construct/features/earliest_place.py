"""Where the earliest member of a class stands, modulo a period: one head that prefers early members."""

from dataclasses import dataclass

from krohn.construct.features.feature import Value, folded
from krohn.construct.features.place import place_register
from krohn.construct.features.symbols import Symbols
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.position_maps import Row


@dataclass(frozen=True)
class EarliestPlace:
    """The folded position of the earliest member, 0 before it."""

    members: frozenset[int]
    period: int
    label: str
    early: int = 1
    start: int = 0
    masked: bool = True

    @property
    def name(self) -> str:
        """What people call it."""
        return f"place of earliest[{self.label}] mod {self.period}"

    @property
    def cost(self) -> float:
        """One head, and a larger table."""
        return 1.1 + 0.02 * self.period

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """The first member fixes it."""
        if value or symbol not in self.members:
            return value
        return folded(place, self.early, self.period)

    def show(self, value: Value) -> Row:
        """The folded position."""
        assert isinstance(value, int)
        return (value,)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A memory of positions that is written once."""
        flag = symbols.flag(draft, self.members, 0, f"is {self.label}")
        held = place_register(draft, self.early, self.period)
        return (draft.end_write([flag], "earliest", held, self.name),)
