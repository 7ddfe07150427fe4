"""The symbol at the latest position of a class: one head that prefers members, and among them the latest."""

from dataclasses import dataclass

from krohn.construct.features.feature import Symbols, Value
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.position_maps import Row


@dataclass(frozen=True)
class Latest:
    """``labels`` gives a small number to every member; before the first member the value is their count."""

    labels: tuple[tuple[int, int], ...]
    label: str
    early: int = 1
    period: int = 1
    masked: bool = True

    @property
    def start(self) -> int:
        """No member yet."""
        return len({number for _, number in self.labels})

    @property
    def name(self) -> str:
        """The display name."""
        return f"latest[{self.label}]"

    @property
    def cost(self) -> float:
        """One head of its own."""
        return 1.0 + 0.01 * len(self.labels)

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """Members replace the value."""
        return dict(self.labels).get(symbol, value)

    def show(self, value: Value) -> Row:
        """The label."""
        assert isinstance(value, int)
        return (value,)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A memory of labels, written where the flag is 1."""
        labels = dict(self.labels)
        flag = symbols.flag(draft, labels.keys(), 1, f"writes {self.label}")
        held = symbols.label(draft, labels, self.start, f"label of {self.label}")
        return (draft.latest_write(flag, held, self.name),)
