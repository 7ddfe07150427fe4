"""The nodes of a plan: four ways to combine smaller automata; for the leaves see plan.

All are *combinations*: a state of the automaton is a row of states of the children, and what each child reads
depends on the row and the letter. One check serves them all: rows differ, and every letter leads from the row
of a state to the row of the next.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from krohn.cascade.plan import Component, Coordinates, Labels, Plan
from krohn.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Combination(Plan):
    """An automaton put together from those of its children."""

    @property
    @abstractmethod
    def rows(self) -> dict[int, Labels | None]:
        """The children's states in each state; ``None`` in a sink, where they do not matter."""

    def driven(self, row: Labels, letter: int) -> Labels:
        """What each child reads: the letter."""
        return (letter,) * len(self.children)

    def fault(self) -> str:
        """Rows must differ and hold that of the start, and the children must follow every letter."""
        automaton, rows = self.automaton, self.rows
        if len(set(rows.values())) < len(rows):
            return "two states have one row: the parts do not tell them apart"
        if automaton.start not in rows:
            return f"the start state {automaton.start} is not in the parts"
        for state, row in rows.items():
            for letter in range(automaton.num_letters):
                after = automaton.step(state, letter)
                if row is None:
                    if after != state:
                        return f"state {state} is not fixed by every letter"
                    continue
                pairs = zip(self.children, row, self.driven(row, letter), strict=True)
                reached = tuple(part.automaton.step(place, read) for part, place, read in pairs)
                if after not in rows or rows[after] not in (None, reached):
                    return f"state {state}, letter {letter}: the parts go elsewhere, to {reached}"
        return ""

    @property
    def layers(self) -> int:
        """Those of the deepest child: they run side by side."""
        return max(child.layers for child in self.children)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """Those of the children, by level."""
        result = [component for child in self.children for component in child.components]
        return tuple(sorted(result, key=lambda component: component.level))

    def coordinates(self, state: int) -> Coordinates:
        """Those of the children, each in its state."""
        row = self.rows.get(state)
        if row is None:
            raise InvalidInput(f"a state must be reachable from the start to have coordinates; got {state}")
        return sum((child.coordinates(q) for child, q in zip(self.children, row, strict=True)), ())

    @cached_property
    def _state_of(self) -> dict[Labels, int]:
        return {row: state for state, row in self.rows.items() if row is not None}

    def _row(self, coordinates: Coordinates) -> Labels:
        parts = zip(self.children, self._split(coordinates), strict=True)
        return tuple(child.state(own) for child, own in parts)

    def state(self, coordinates: Coordinates) -> int:
        """The state with the row of what the children name."""
        row = self._row(coordinates)
        if row not in self._state_of:
            raise InvalidInput(f"the coordinates must name a state; {coordinates} do not")
        return self._state_of[row]

    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """Every child reads what it is driven by."""
        read = self.driven(self._row(coordinates), letter)
        parts = zip(self.children, self._split(coordinates), read, strict=True)
        return sum((child.step(own, each) for child, own, each in parts), ())


@dataclass(frozen=True, eq=False)
class ReachablePlan(Combination):
    """Only the states reachable from the start: ``states[i]`` is inner state i."""

    states: Labels
    inner: Plan

    @cached_property
    def rows(self) -> dict[int, Labels | None]:
        """The inner states."""
        return {state: (place,) for place, state in enumerate(self.states)}

    def fault(self) -> str:
        """The inner automaton must be the restriction to ``states``, which must hold the start."""
        if not len(self.rows) == len(self.states) == self.inner.automaton.num_states:
            return "the states of the part must be distinct, one per inner state"
        return super().fault()

    @property
    def title(self) -> str:
        """Number of reachable states."""
        return f"reachable states only: {len(self.states)} of {self.automaton.num_states}"

    @property
    def children(self) -> tuple[Plan, ...]:
        """The plan of the reachable part."""
        return (self.inner,)


@dataclass(frozen=True, eq=False)
class ParallelPlan(Combination):
    """Quotients side by side: ``maps[i][q]`` is the class of q in part i; together they separate states."""

    maps: tuple[Labels, ...]
    parts: tuple[Plan, ...]

    @cached_property
    def rows(self) -> dict[int, Labels | None]:
        """The classes of each state."""
        return dict(enumerate(zip(*self.maps, strict=True)))

    @property
    def title(self) -> str:
        """Sizes of the quotients."""
        sizes = " and ".join(str(part.automaton.num_states) for part in self.parts)
        return f"parallel: congruences with trivial meet, quotients of {sizes} states"

    @property
    def children(self) -> tuple[Plan, ...]:
        """The plans of the quotients."""
        return self.parts


@dataclass(frozen=True, eq=False)
class SerialPlan(Combination):
    """A quotient, then the place inside the block, driven by (block before the letter, letter).

    ``blocks[q]`` is the block of state q, ``labels[q]`` its place there (distinct within a block), and
    ``drive[block][letter]`` the letter that the fibre reads.
    """

    blocks: Labels
    labels: Labels
    drive: tuple[Labels, ...]
    quotient: Plan
    fiber: Plan

    @cached_property
    def rows(self) -> dict[int, Labels | None]:
        """Block and place of each state."""
        return dict(enumerate(zip(self.blocks, self.labels, strict=True)))

    def driven(self, row: Labels, letter: int) -> Labels:
        """The quotient reads the letter; the fibre reads the letter driven by the block before it."""
        return letter, self.drive[row[0]][letter]

    @property
    def layers(self) -> int:
        """The sum: the fibre runs after the quotient."""
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


@dataclass(frozen=True, eq=False)
class ErrorBitPlan(Combination):
    """The automaton without its sink, completed arbitrarily, and one bit that remembers the first error.

    ``states[i]`` is inner state i; the inner automaton is free wherever a letter leads to the sink.
    """

    sink: int
    states: Labels
    inner: Plan

    @cached_property
    def rows(self) -> dict[int, Labels | None]:
        """The inner states; none for the sink."""
        return {self.sink: None, **{state: (place,) for place, state in enumerate(self.states)}}

    def fault(self) -> str:
        """The sink stays, and away from it the inner automaton is right where no letter leads to the sink."""
        if not len(self.rows) - 1 == len(self.states) == self.inner.automaton.num_states:
            return "the inner states must be all states but the sink"
        return super().fault()

    @property
    def layers(self) -> int:
        """One more than the inner plan: a memory of any error so far."""
        return self.inner.layers + 1

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The inner ones and the bit."""
        return (*self.inner.components, Component(self.inner.levels, 2, "error bit"))

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

    def coordinates(self, state: int) -> Coordinates:
        """The inner ones and 0; for the sink those of inner state 0, which no longer matter, and 1."""
        inside = self.inner.coordinates(0) if state == self.sink else super().coordinates(state)
        return (*inside, int(state == self.sink))

    def state(self, coordinates: Coordinates) -> int:
        """The sink once the bit is set."""
        (place,) = self._row(coordinates)
        return self.sink if coordinates[-1] else self.states[place]

    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """The inner step; an error sets the bit permanently."""
        (place,) = self._row(coordinates)
        return (*super().step(coordinates, letter), int(coordinates[-1] or self.errors[place, letter]))
