"""How often a letter of a class that depends on the place occurred: one head for each kind of place."""

from dataclasses import dataclass

from krohn.construct.features.feature import Value, folded
from krohn.construct.features.symbols import Symbols
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.position_maps import Row


@dataclass(frozen=True)
class PlaceCount:
    """``members[p]`` counts at folded position p (index 0, BOS, counts nothing)."""

    members: tuple[frozenset[int], ...]
    early: int
    period: int
    size: int
    clamped: bool
    label: str
    start: int = 0
    masked: bool = True

    @property
    def name(self) -> str:
        """What people call it."""
        text = f"count[{self.label}]"
        return f"min({text}, {self.size - 1})" if self.clamped else f"{text} mod {self.size}"

    @property
    def cost(self) -> float:
        """A head for every set of letters that some places count."""
        return len(set(self.members) - {frozenset()}) + 0.02 * self.size

    def step(self, value: Value, symbol: int, place: int) -> int:
        """Counts the members of this place."""
        assert isinstance(value, int)
        more = value + (symbol in self.members[folded(place, self.early, self.period)])
        return min(more, self.size - 1) if self.clamped else more % self.size

    def show(self, value: Value) -> Row:
        """The count itself."""
        assert isinstance(value, int)
        return (value,)

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A sum for every set of letters over the places that count it, added up and reduced."""
        terms = []
        for number, letters in enumerate(sorted(set(self.members) - {frozenset()}, key=sorted)):
            counts = [int(members == letters) for members in self.members]
            name = f"place {number + 1} for {self.label}"
            early, cycle = counts[: self.early], counts[self.early :]
            flag = draft.places(draft.fresh(name), early, cycle)
            held = symbols.flag(draft, letters, 0, f"is {' '.join(map(str, sorted(letters)))}")
            terms.append((draft.place_sum(flag, held), 1))
        if len(terms) > 1:  # the heads add into one channel
            total = draft.linear(terms, 0, (0, 1), draft.fresh(f"number of {self.label}"), kind="wide")
            terms = [(total, 1)]
        target = draft.fresh(self.name)
        if self.clamped:
            return (draft.clamp(terms, 0, 0, self.size - 1, target),)
        return (draft.modulo(terms, self.size, target),)
