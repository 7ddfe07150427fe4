"""Where the latest member of a class stands, modulo a period: how long ago that was, and what parity."""

from dataclasses import dataclass

from krohn.construct.features.feature import Value, folded
from krohn.construct.features.place import place_register
from krohn.construct.features.symbols import Symbols
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.position_maps import Row


@dataclass(frozen=True)
class LatestPlace:
    """The folded position of the latest member, 0 before the first."""

    members: frozenset[int]
    period: int
    label: str
    early: int = 1
    start: int = 0
    masked: bool = True

    @property
    def name(self) -> str:
        """What people call it."""
        late = f" from {self.early} on" if self.early > 1 else ""
        return f"place of latest[{self.label}] mod {self.period}{late}"

    @property
    def cost(self) -> float:
        """One head, and a larger table."""
        return 1.0 + 0.05 * self.early + 0.02 * self.period

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """Members move it here."""
        return folded(place, self.early, self.period) if symbol in self.members else value

    def show(self, value: Value) -> Row:
        """The folded position."""
        assert isinstance(value, int)
        return (value,)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A memory of positions."""
        flag = symbols.flag(draft, self.members, 1, f"writes {self.label}")
        held = place_register(draft, self.early, self.period)
        return (draft.latest_write(flag, held, self.name),)
