"""Where the later of two marks stands, modulo a period: the latest a at odd or b at even places, say."""

from dataclasses import dataclass
from itertools import product

from krohn.construct.features.feature import Value, folded
from krohn.construct.features.order import Mark, Order
from krohn.construct.features.place import place_register
from krohn.construct.features.symbols import Symbols
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.position_maps import Row


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
        """What people call it."""
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
            mark.moves(bool(found), symbol, place)
            for mark, found in zip((self.first, self.second), ordered[1:], strict=True)
        )
        return after, folded(place, self.early, self.period) if moved else held

    def show(self, value: Value) -> Row:
        """The folded position."""
        assert isinstance(value, tuple)
        return (value[1],)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """The heads that compare positions also copy the places; a table chooses one of them."""
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
