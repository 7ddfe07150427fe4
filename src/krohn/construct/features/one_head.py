"""Features that one head finds: the symbol some positions back, the latest of a class, a folded position.

The latest position of a class takes a head that prefers members, and among them the latest. Folded positions
are exact at first, then modulo a period: here, which needs no head, or at the earliest or latest of a class.
"""

from dataclasses import dataclass
from typing import Literal

from krohn.construct.features.feature import Symbols, Value, folded
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.position_maps import Row


@dataclass(frozen=True)
class Back:
    """The symbol ``distance`` positions back; where the word is shorter, ``before`` if given, else BOS."""

    distance: int
    num_symbols: int
    before: int | None = None
    early: int = 1
    period: int = 1
    masked: bool = False

    @property
    def start(self) -> tuple[int, ...]:
        """Only what precedes the word."""
        return (self.num_symbols if self.before is None else self.before,) * (self.distance + 1)

    @property
    def name(self) -> str:
        """The display name."""
        return f"{self.distance} back"

    @property
    def cost(self) -> float:
        """One head, with one more position code than others."""
        return 1.0 + 0.02 * self.distance

    def step(self, value: Value, symbol: int, place: int) -> Value:
        """A queue of the last symbols."""
        assert isinstance(value, tuple)
        return (*value[1:], symbol)

    def show(self, value: Value) -> Row:
        """The oldest in the queue."""
        assert isinstance(value, tuple)
        return (value[0],)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A look-back of the symbol's number."""
        numbers = {symbol: symbol for symbol in symbols.number.values()}
        at_bos = symbols.bos if self.before is None else self.before
        held = symbols.label(draft, numbers, at_bos, "symbol")
        return (draft.look_back(held, self.distance),)


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
