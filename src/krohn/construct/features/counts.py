"""Counts of the symbols of a class, modulo a number or clamped: one uniform head for all.

Where the class depends on the place, there is one head for each kind of place.
"""

from dataclasses import dataclass

from krohn.construct.features.feature import Symbols, Value, folded
from krohn.construct.tight.draft import ProgramDraft
from krohn.network.position_maps import Row


class Counting:
    """What all counts share: name, reduction (modulo ``size``, or to at most ``size − 1``) and read-out."""

    size: int
    clamped: bool
    label: str

    @property
    def name(self) -> str:
        """The display name."""
        text = f"count[{self.label}]"
        return f"min({text}, {self.size - 1})" if self.clamped else f"{text} mod {self.size}"

    def show(self, value: Value) -> Row:
        """The count itself."""
        assert isinstance(value, int)
        return (value,)

    def _reduced(self, count: int) -> int:
        return min(count, self.size - 1) if self.clamped else count % self.size

    def _written(self, draft: ProgramDraft, terms: list[tuple[str, int]]) -> tuple[str, ...]:
        """The register of a sum, reduced."""
        target = draft.fresh(self.name)
        if self.clamped:
            return (draft.clamp(terms, 0, 0, self.size - 1, target),)
        return (draft.modulo(terms, self.size, target),)


@dataclass(frozen=True)
class Count(Counting):
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
    def cost(self) -> float:
        """One head, shared by all counts."""
        return 0.9 + 0.02 * self.size

    def step(self, value: Value, symbol: int, place: int) -> int:
        """Counts the members."""
        assert isinstance(value, int)
        return self._reduced(value + (symbol in self.members))

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A prefix sum of a flag, reduced."""
        flag = symbols.flag(draft, self.members, 0, f"is {self.label}")
        return self._written(draft, [(draft.prefix_sum(flag), 1)])


@dataclass(frozen=True)
class PlaceCount(Counting):
    """``members[p]`` counts at folded position p (index 0, BOS, counts nothing)."""

    members: tuple[frozenset[int], ...]
    early: int
    period: int
    size: int
    clamped: bool
    label: str
    names: tuple[str, ...]
    start: int = 0
    masked: bool = True

    @property
    def cost(self) -> float:
        """One head for every set of letters counted at some place."""
        return len(set(self.members) - {frozenset()}) + 0.02 * self.size

    def step(self, value: Value, symbol: int, place: int) -> int:
        """Counts the members of this place."""
        assert isinstance(value, int)
        return self._reduced(value + (symbol in self.members[folded(place, self.early, self.period)]))

    def registers(self, draft: ProgramDraft, symbols: Symbols) -> tuple[str, ...]:
        """A sum for every set of letters over the places that count it, added up and reduced."""
        terms = []
        for number, letters in enumerate(sorted(set(self.members) - {frozenset()}, key=sorted)):
            counts = [int(members == letters) for members in self.members]
            name = f"place {number + 1} for {self.label}"
            early, cycle = counts[: self.early], counts[self.early :]
            flag = draft.places(draft.fresh(name), early, cycle)
            held = symbols.flag(
                draft, letters, 0, f"is {' or '.join(self.names[x] for x in sorted(letters))}"
            )
            terms.append((draft.place_sum(flag, held), 1))
        if len(terms) > 1:  # the heads add into one channel
            total = draft.linear(terms, 0, (0, 1), draft.fresh(f"number of {self.label}"), kind="wide")
            terms = [(total, 1)]
        return self._written(draft, terms)
