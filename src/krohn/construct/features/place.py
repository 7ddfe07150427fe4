"""The position itself, as far as it matters: exactly at first, then modulo a period. It needs no head."""

from dataclasses import dataclass

from krohn.construct.features.feature import Value, folded
from krohn.construct.features.symbols import Symbols
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
        """What people call it."""
        if self.early == 1:
            return f"t mod {self.period}"
        return f"min(t, {self.early})" if self.period == 1 else f"t, from {self.early} on mod {self.period}"

    @property
    def cost(self) -> float:
        """No head, but a larger table."""
        return 0.1 + 0.02 * (self.early + self.period)

    def step(self, value: Value, symbol: int, place: int) -> int:
        """The clock moves on."""
        return folded(place, self.early, self.period)

    def show(self, value: Value) -> Row:
        """The folded position; 0 at BOS."""
        assert isinstance(value, int)
        return (value,)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A part of the position encoding."""
        return (place_register(draft, self.early, self.period),)


def place_register(draft: ProgramDraft, early: int, period: int) -> str:
    """The register of folded positions, made once."""
    name = f"t mod {period}" if early == 1 else f"t to {early} mod {period}"
    return draft.places(name, range(early), range(early, early + period))
