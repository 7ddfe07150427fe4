"""Budgets: how much work a search may do, in machine-independent units.

A unit is about one transition table lookup. Searches spend units before each step, and keep
the best result so far when none are left: the same input gives the same result everywhere. A time limit may
only abort the whole computation, with a one-line error; it never changes what is built.
"""

from collections.abc import Callable
from time import monotonic

from krohn.errors import InvalidInput, KrohnError, LimitExceeded

UNITS = 3_000_000
"""What a search may spend at effort 1: about three seconds on an ordinary CPU."""

_BETWEEN_LOOKS = 20_000  # units between two clock checks


class BudgetSpent(LimitExceeded):
    """A search has spent its units; the handler keeps the best result so far."""


class OutOfTime(KrohnError, TimeoutError):
    """The time limit has passed; nothing catches it, so the clock never decides what is built."""


class Budget:
    """A number of units to spend, an optional deadline, and a list of what was skipped for lack of units.

    A part of a budget spends its own units and those of the whole.
    """

    def __init__(self, units: float, *, seconds: float | None = None, clock: Callable[[], float] = monotonic):
        if not units > 0:
            raise InvalidInput(f"a search must have some units of work; got {units}")
        if seconds is not None and not seconds > 0:
            raise InvalidInput(f"a time limit must be more than 0 seconds; got {seconds}")
        self.units = units
        self.seconds = seconds
        self.done = 0
        self.given_up: list[str] = []
        self._whole: Budget | None = None
        self._clock = clock
        self._deadline = None if seconds is None else clock() + seconds
        self._next_look = 0

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
        elif self._deadline is not None and self.done >= self._next_look:
            self._next_look = self.done + _BETWEEN_LOOKS
            self.look()

    def look(self) -> None:
        """Raises ``OutOfTime`` if the time limit has passed."""
        if self._whole is not None:
            self._whole.look()
        elif self._deadline is not None and self._clock() > self._deadline:
            raise OutOfTime(
                f"not done within the time limit of {self.seconds:g} seconds; raise --time-limit, or "
                "lower --effort for a quicker search"
            )

    def give_up(self, what: str) -> None:
        """Records, once, what was skipped for lack of units."""
        if what not in self.given_up:
            self.given_up.append(what)


def unlimited() -> Budget:
    """An unlimited budget, for callers that have their own limits."""
    return Budget(float("inf"))
