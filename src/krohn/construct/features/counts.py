"""How often symbols of a class occurred, modulo something or up to a bound: one uniform head for all."""

from dataclasses import dataclass

from krohn.construct.features.feature import Value
from krohn.construct.features.symbols import Symbols
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.position_maps import Row


@dataclass(frozen=True)
class Count:
    """``count mod size`` or ``min(count, size − 1)`` of the members."""

    members: frozenset[int]
    size: int
    clamped: bool
    label: str
    early: int = 1
    period: int = 1
    start: int = 0
    masked: bool = True

    @property
    def name(self) -> str:
        """What people call it."""
        text = f"count[{self.label}]"
        return f"min({text}, {self.size - 1})" if self.clamped else f"{text} mod {self.size}"

    @property
    def cost(self) -> float:
        """One head, shared by all counts."""
        return 0.9 + 0.02 * self.size

    def step(self, value: Value, symbol: int, place: int) -> int:
        """Counts the members."""
        assert isinstance(value, int)
        more = value + (symbol in self.members)
        return min(more, self.size - 1) if self.clamped else more % self.size

    def show(self, value: Value) -> Row:
        """The count itself."""
        assert isinstance(value, int)
        return (value,)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A prefix sum of a flag, reduced."""
        flag = symbols.flag(draft, self.members, 0, f"is {self.label}")
        total = draft.prefix_sum(flag)
        target = draft.fresh(self.name)
        if self.clamped:
            return (draft.clamp([(total, 1)], 0, 0, self.size - 1, target),)
        return (draft.modulo([(total, 1)], self.size, target),)
