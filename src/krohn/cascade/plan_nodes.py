"""The nodes of a plan: two kinds of leaves, four ways to put smaller automata together."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from krohn.cascade import plan_checks
from krohn.cascade.bulk import States, Words, run_cascade
from krohn.cascade.holonomy import Cascade
from krohn.cascade.plan import Component, Plan

Labels = tuple[int, ...]


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
            )
            for part in cascade.components
        )

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


@dataclass(frozen=True, eq=False)
class ReachablePlan(Plan):
    """Only the states that words lead to from the start: ``states[i]`` is inner state i."""

    states: Labels
    inner: Plan

    def fault(self) -> str:
        """The states must hold the start and be closed under the letters."""
        return plan_checks.reachable_fault(self.automaton, self.states, self.inner.automaton)

    @property
    def levels(self) -> int:
        """As inside."""
        return self.inner.levels

    @property
    def layers(self) -> int:
        """As inside."""
        return self.inner.layers

    @property
    def components(self) -> tuple[Component, ...]:
        """As inside."""
        return self.inner.components

    @property
    def title(self) -> str:
        """How many states are left."""
        return f"reachable states only: {len(self.states)} of {self.automaton.num_states}"

    @property
    def children(self) -> tuple[Plan, ...]:
        """The plan of the reachable part."""
        return (self.inner,)

    def simulate(self, words: Words, start: int | None = None) -> States:
        """Runs inside and renames; the start must be reachable."""
        inside = self.inner.simulate(words, self.states.index(self._origin(start)))
        renamed: States = np.array(self.states, dtype=np.int32)[inside]
        return renamed


@dataclass(frozen=True, eq=False)
class ParallelPlan(Plan):
    """Quotients side by side: ``maps[i][q]`` is the class of q in part i; together they separate states."""

    maps: tuple[Labels, ...]
    parts: tuple[Plan, ...]

    def fault(self) -> str:
        """Each map must be a homomorphism, and together they must be injective."""
        return plan_checks.parallel_fault(self.automaton, self.maps, [part.automaton for part in self.parts])

    @property
    def levels(self) -> int:
        """The deepest part."""
        return max(part.levels for part in self.parts)

    @property
    def layers(self) -> int:
        """The longest part."""
        return max(part.layers for part in self.parts)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """Those of all parts."""
        found = [component for part in self.parts for component in part.components]
        return tuple(sorted(found, key=lambda component: component.level))

    @property
    def title(self) -> str:
        """Sizes of the quotients."""
        sizes = " and ".join(str(part.automaton.num_states) for part in self.parts)
        return f"parallel: congruences with trivial meet, quotients of {sizes} states"

    @property
    def children(self) -> tuple[Plan, ...]:
        """The plans of the quotients."""
        return self.parts

    def simulate(self, words: Words, start: int | None = None) -> States:
        """Runs the parts and looks the state up."""
        origin = self._origin(start)
        shape = tuple(part.automaton.num_states for part in self.parts)
        table = np.zeros(shape, dtype=np.int32)
        table[tuple(np.array(labels) for labels in self.maps)] = np.arange(self.automaton.num_states)
        runs = [
            part.simulate(words, labels[origin]) for part, labels in zip(self.parts, self.maps, strict=True)
        ]
        states: States = table[tuple(runs)]
        return states


@dataclass(frozen=True, eq=False)
class SerialPlan(Plan):
    """A quotient, then the place inside the block, driven by (block before the letter, letter).

    ``blocks[q]`` is the block of state q, ``labels[q]`` its place there (distinct within a block), and
    ``drive[block][letter]`` the letter that the fibre reads.
    """

    blocks: Labels
    labels: Labels
    drive: tuple[Labels, ...]
    quotient: Plan
    fiber: Plan

    def fault(self) -> str:
        """Block and place must be carried as the automaton carries the state, and determine it."""
        return plan_checks.serial_fault(
            self.automaton,
            self.blocks,
            self.labels,
            self.drive,
            self.quotient.automaton,
            self.fiber.automaton,
        )

    @property
    def levels(self) -> int:
        """One after the other."""
        return self.quotient.levels + self.fiber.levels

    @property
    def layers(self) -> int:
        """One after the other."""
        return self.quotient.layers + self.fiber.layers

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The quotient's, then the fibre's below them."""
        below = self.quotient.levels
        return self.quotient.components + tuple(
            replace(component, level=component.level + below) for component in self.fiber.components
        )

    @property
    def title(self) -> str:
        """Sizes of quotient and fibre."""
        return (
            f"serial: quotient of {self.quotient.automaton.num_states} blocks, "
            f"then a fibre of {self.fiber.automaton.num_states} states driven by (block, letter)"
        )

    @property
    def children(self) -> tuple[Plan, ...]:
        """Quotient and fibre."""
        return (self.quotient, self.fiber)

    def simulate(self, words: Words, start: int | None = None) -> States:
        """Runs the quotient, feeds the fibre, looks the state up."""
        origin = self._origin(start)
        after = self.quotient.simulate(words, self.blocks[origin])
        before = _shifted(after, self.blocks[origin])
        places = self.fiber.simulate(np.array(self.drive)[before, words], self.labels[origin])
        table = np.zeros((len(self.drive), self.fiber.automaton.num_states), dtype=np.int32)
        table[np.array(self.blocks), np.array(self.labels)] = np.arange(self.automaton.num_states)
        states: States = table[after, places]
        return states


@dataclass(frozen=True, eq=False)
class ErrorBitPlan(Plan):
    """The automaton without its sink, completed at will, and one bit that remembers the first error.

    ``states[i]`` is inner state i; the inner automaton is free wherever a letter leads to the sink.
    """

    sink: int
    states: Labels
    inner: Plan

    def fault(self) -> str:
        """The sink must be fixed, and the inner automaton right wherever no error happens."""
        return plan_checks.error_bit_fault(self.automaton, self.sink, self.states, self.inner.automaton)

    @property
    def levels(self) -> int:
        """One more than inside."""
        return self.inner.levels + 1

    @property
    def layers(self) -> int:
        """One more than inside: a memory of any error so far."""
        return self.inner.layers + 1

    @property
    def size(self) -> int:
        """The inner size and the two states of the bit."""
        return self.inner.size + 2

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The inner ones and the bit."""
        bit = Component(self.inner.levels, 2, 1, "1", True, True, "error bit")
        return (*self.inner.components, bit)

    @property
    def title(self) -> str:
        """Which state is the sink."""
        return f"error bit: sink {self.automaton.state_names[self.sink]!r} dropped, illegal moves free"

    @property
    def children(self) -> tuple[Plan, ...]:
        """The plan of the completed automaton."""
        return (self.inner,)

    @cached_property
    def errors(self) -> npt.NDArray[np.bool_]:
        """``[i, a]``: whether letter a is an error in inner state i."""
        wrong: npt.NDArray[np.bool_] = self.automaton.table[list(self.states)] == self.sink
        return wrong

    def simulate(self, words: Words, start: int | None = None) -> States:
        """Runs inside, accumulates errors."""
        origin = self._origin(start)
        if origin == self.sink:
            return np.full(words.shape, self.sink, dtype=np.int32)
        first = self.states.index(origin)
        after = self.inner.simulate(words, first)
        failed = np.logical_or.accumulate(self.errors[_shifted(after, first), words], axis=1)
        return np.where(failed, np.int32(self.sink), np.array(self.states, dtype=np.int32)[after])


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


def _shifted(after: States, first: int) -> States:
    """The values before each letter, from those after it."""
    before = np.empty_like(after)
    before[:, :1] = first
    before[:, 1:] = after[:, :-1]
    return before
