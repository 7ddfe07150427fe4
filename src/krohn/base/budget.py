"""Budgets: how much work a search may do, in machine-independent units.

A unit is about one transition table lookup. Searches spend units before each step, and keep
the best result so far when none are left: the same input gives the same result everywhere.
"""

from krohn.errors import InvalidInput, LimitExceeded

UNITS = 3_000_000
"""What a search may spend at effort 1: about three seconds on an ordinary CPU."""


class BudgetSpent(LimitExceeded):
    """A search has spent its units; the handler keeps the best result so far."""


class Budget:
    """A number of units to spend, and a list of what was skipped for lack of units.

    A part of a budget spends its own units and those of the whole.
    """

    def __init__(self, units: float) -> None:
        if not units > 0:
            raise InvalidInput(f"a search must have some units of work; got {units}")
        self.units = units
        self.done = 0
        self.given_up: list[str] = []
        self._whole: Budget | None = None

    def part(self, units: float) -> "Budget":
        """A sub-budget with its own units; what it skips is listed here."""
        result = Budget(max(units, 1))
        result._whole, result.given_up = self, self.given_up
        return result

    @property
    def left(self) -> float:
        """Units that can still be spent."""
        own = self.units - self.done
        return own if self._whole is None else min(own, self._whole.left)

    def pieces(self, cost: int, most: int) -> int:
        """How many items of ``cost`` units each are affordable, at most ``most``."""
        return most if self.left >= cost * most else int(self.left // cost)

    def spend(self, units: float) -> None:
        """Spends units before they are used; if too few are left, spends none and raises ``BudgetSpent``."""
        if units > self.left:
            raise BudgetSpent(
                f"the search may take {self.units:,.0f} units of work; raise --effort (effort=)"
            )
        self._add(int(units))

    def _add(self, units: int) -> None:
        self.done += units
        if self._whole is not None:
            self._whole._add(units)

    def give_up(self, what: str) -> None:
        """Records, once, what was skipped for lack of units."""
        if what not in self.given_up:
            self.given_up.append(what)


def unlimited() -> Budget:
    """An unlimited budget, for callers that have their own limits."""
    return Budget(float("inf"))
