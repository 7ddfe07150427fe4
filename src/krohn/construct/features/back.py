"""The symbol a few positions back."""

from dataclasses import dataclass

from krohn.construct.features.feature import Symbols, Value
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
