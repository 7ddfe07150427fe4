"""The leaves of a plan: a holonomy cascade, or a counter on a line."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from krohn.cascade import plan_checks
from krohn.cascade.bulk import States, Words, run_cascade
from krohn.cascade.holonomy import Cascade
from krohn.cascade.plan import Component, Coordinates, Plan
from krohn.errors import InvalidInput

Labels = tuple[int, ...]
_MAX_FACTORED = 5_000


@dataclass(frozen=True, eq=False)
class HolonomyPlan(Plan):
    """A holonomy cascade, plain or with merged classes, in step with its levels or asynchronous."""

    cascade: Cascade
    is_asynchronous: bool = False

    def fault(self) -> str:
        """The cascade must be of this automaton and cover it, under the schedule that is used."""
        return plan_checks.holonomy_fault(
            self.automaton, self.cascade, self.cascade.schedule if self.is_asynchronous else None
        )

    @property
    def levels(self) -> int:
        """Levels of the cascade."""
        return self.cascade.num_levels

    @property
    def layers(self) -> int:
        """Layers of the schedule."""
        schedule = self.cascade.schedule
        return schedule.layers if self.is_asynchronous else schedule.layers_in_step

    @property
    def size(self) -> int:
        """All tiles."""
        return sum(len(part.tiles) for part in self.cascade.components)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """One per class."""
        cascade = self.cascade
        return tuple(
            Component(
                part.level,
                len(part.tiles),
                cascade.group_orders[part.number],
                cascade.group(part.number).name(),
                cascade.group(part.number).is_solvable,
                cascade.is_reset[part.number],
                factors=self._factors(part.number),
            )
            for part in cascade.components
        )

    def _factors(self, number: int) -> tuple[str, ...]:
        known = self.cascade.group_orders[number] <= _MAX_FACTORED
        return tuple(reversed(self.cascade.group(number).composition_factors())) if known else ()

    @property
    def title(self) -> str:
        """Holonomy, with the number of sets."""
        merges = sum(part.is_merged for part in self.cascade.components)
        extra = f", {merges} merged component{'s' * (merges != 1)}" if merges else ""
        if self.is_asynchronous and self.cascade.schedule.layers < self.cascade.schedule.layers_in_step:
            extra += ", asynchronous"
        return f"holonomy of {self.cascade.skeleton.num_sets} sets{extra}"

    def simulate(self, words: Words, start: int | None = None) -> States:
        """Runs the coordinates, level by level."""
        return run_cascade(self.cascade, words, self._origin(start))

    @property
    def num_coordinates(self) -> int:
        """One per level."""
        return self.cascade.num_levels

    def coordinates(self, state: int) -> Coordinates:
        """Those of the cascade."""
        return self.cascade.coordinates(state)

    def state(self, coordinates: Coordinates) -> int:
        """The end of the chain."""
        return self.cascade.state(coordinates)

    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """The step of the cascade."""
        return self.cascade.step(coordinates, letter)


@dataclass(frozen=True, eq=False)
class ClampedCounterPlan(Plan):
    """States on a line, every letter a step that stops at both ends: ``line[q]`` is the place of q."""

    line: Labels
    steps: Labels

    def fault(self) -> str:
        """Every letter must be x ↦ min(max(x + step, 0), n − 1) along the line."""
        return plan_checks.clamped_fault(self.automaton, self.line, self.steps)

    @property
    def levels(self) -> int:
        """A single component."""
        return 1

    @property
    def layers(self) -> int:
        """Two: prefix sums, then the most recent contact with an end (the gridworld construction)."""
        return 2

    @property
    def size(self) -> int:
        """The length of the line."""
        return len(self.line)

    @property
    def components(self) -> tuple[Component, ...]:
        """The counter."""
        return (Component(0, len(self.line), 1, "1", True, True, "clamped counter"),)

    @property
    def title(self) -> str:
        """Length of the line."""
        return f"clamped counter on {len(self.line)} places"

    def simulate(self, words: Words, start: int | None = None) -> States:
        """Steps and clips, all words at once."""
        steps = np.array(self.steps, dtype=np.int64)[words]
        places = np.full(steps.shape[0], self.line[self._origin(start)], dtype=np.int64)
        result = np.empty(steps.shape, dtype=np.int32)
        for time in range(steps.shape[1]):
            places = np.clip(places + steps[:, time], 0, len(self.line) - 1)
            result[:, time] = places
        states: States = np.argsort(np.array(self.line)).astype(np.int32)[result]
        return states

    @property
    def num_coordinates(self) -> int:
        """The place."""
        return 1

    def coordinates(self, state: int) -> Coordinates:
        """The place on the line."""
        return (label_of(self.line, state),)

    def state(self, coordinates: Coordinates) -> int:
        """The state at that place."""
        self._split(coordinates)
        if coordinates[0] not in self.line:
            raise InvalidInput(f"a place must lie in [0, {len(self.line)}); got {coordinates[0]}")
        return self.line.index(coordinates[0])

    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """Steps and clips."""
        self.state(coordinates)
        return (min(max(coordinates[0] + self.steps[letter], 0), len(self.line) - 1),)


def label_of(labels: Labels, state: int) -> int:
    """The label of a state; refuses a number that is no state."""
    if not 0 <= state < len(labels):
        raise InvalidInput(f"a state must lie in [0, {len(labels)}); got {state}")
    return labels[state]
