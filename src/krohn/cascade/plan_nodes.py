"""The nodes of a plan: four ways to combine smaller automata; for the leaves see plan."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.plan import Component, Coordinates, Labels, Plan, label_of
from krohn.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class ReachablePlan(Plan):
    """Only the states reachable from the start: ``states[i]`` is inner state i."""

    states: Labels
    inner: Plan

    def fault(self) -> str:
        """The inner automaton must be the restriction to ``states``, which must hold the start."""
        automaton, states, inner = self.automaton, self.states, self.inner.automaton
        if len(states) != inner.num_states or len(set(states)) != len(states):
            return "the states of the part must be distinct, one per inner state"
        if automaton.start not in states:
            return f"the start state {automaton.start} is not in the part"
        for place, state in enumerate(states):
            for letter in range(automaton.num_letters):
                if states[inner.step(place, letter)] != automaton.step(state, letter):
                    return f"state {state}, letter {letter}: the part goes elsewhere"
        return ""

    @property
    def title(self) -> str:
        """Number of reachable states."""
        return f"reachable states only: {len(self.states)} of {self.automaton.num_states}"

    @property
    def children(self) -> tuple[Plan, ...]:
        """The plan of the reachable part."""
        return (self.inner,)

    def coordinates(self, state: int) -> Coordinates:
        """The coordinates in the plan on the reachable states; the state must be one of them."""
        if state not in self.states:
            raise InvalidInput(f"a state must be reachable from the start to have coordinates; got {state}")
        return self.inner.coordinates(self.states.index(state))

    def state(self, coordinates: Coordinates) -> int:
        """The inner state, renamed."""
        return self.states[self.inner.state(coordinates)]

    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """That of the plan on the reachable states."""
        return self.inner.step(coordinates, letter)


def homomorphism_fault(automaton: Semiautomaton, labels: Sequence[int], image: Semiautomaton) -> str:
    """``labels`` must carry every transition of the automaton to one of ``image``."""
    if len(labels) != automaton.num_states or image.num_letters != automaton.num_letters:
        return "a map must give every state a class, over the same letters"
    for state in range(automaton.num_states):
        for letter in range(automaton.num_letters):
            if labels[automaton.step(state, letter)] != image.step(labels[state], letter):
                return f"state {state}, letter {letter}: the class of the next state is not the next class"
    return ""


@dataclass(frozen=True, eq=False)
class ParallelPlan(Plan):
    """Quotients side by side: ``maps[i][q]`` is the class of q in part i; together they separate states."""

    maps: tuple[Labels, ...]
    parts: tuple[Plan, ...]

    def fault(self) -> str:
        """The maps must be homomorphisms that together separate all states."""
        for labels, part in zip(self.maps, self.parts, strict=True):
            fault = homomorphism_fault(self.automaton, labels, part.automaton)
            if fault:
                return fault
        seen: dict[tuple[int, ...], int] = {}
        for state, classes in enumerate(zip(*self.maps, strict=True)):
            if seen.setdefault(classes, state) != state:
                return f"states {seen[classes]} and {state} lie in the same class of every part"
        return ""

    @property
    def title(self) -> str:
        """Sizes of the quotients."""
        sizes = " and ".join(str(part.automaton.num_states) for part in self.parts)
        return f"parallel: congruences with trivial meet, quotients of {sizes} states"

    @property
    def children(self) -> tuple[Plan, ...]:
        """The plans of the quotients."""
        return self.parts

    def coordinates(self, state: int) -> Coordinates:
        """Those of the state's class in every part."""
        pairs = zip(self.parts, self.maps, strict=True)
        return sum((part.coordinates(label_of(labels, state)) for part, labels in pairs), ())

    @cached_property
    def _meeting(self) -> dict[Labels, int]:
        return {classes: state for state, classes in enumerate(zip(*self.maps, strict=True))}

    def state(self, coordinates: Coordinates) -> int:
        """The one state in all the classes."""
        split = self._split(coordinates)
        classes = tuple(part.state(values) for part, values in zip(self.parts, split, strict=True))
        if classes not in self._meeting:
            raise InvalidInput(f"the coordinates must name a state; {coordinates} do not")
        return self._meeting[classes]

    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """Every part reads the letter."""
        split = self._split(coordinates)
        return sum((part.step(values, letter) for part, values in zip(self.parts, split, strict=True)), ())


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
        """A homomorphism to the quotient, and a fibre that follows inside the blocks."""
        automaton, blocks, labels = self.automaton, self.blocks, self.labels
        quotient, fiber = self.quotient.automaton, self.fiber.automaton
        fault = homomorphism_fault(automaton, blocks, quotient)
        if fault:
            return fault
        if len(set(zip(blocks, labels, strict=True))) != automaton.num_states:
            return "two states of one block have the same place"
        for state in range(automaton.num_states):
            for letter in range(automaton.num_letters):
                place = fiber.step(labels[state], self.drive[blocks[state]][letter])
                if place != labels[automaton.step(state, letter)]:
                    return f"state {state}, letter {letter}: the fibre goes to place {place}"
        return ""

    @property
    def levels(self) -> int:
        """The sum: the fibre runs after the quotient."""
        return self.quotient.levels + self.fiber.levels

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

    def coordinates(self, state: int) -> Coordinates:
        """Those of the block, then those of the place in it."""
        block, place = label_of(self.blocks, state), label_of(self.labels, state)
        return self.quotient.coordinates(block) + self.fiber.coordinates(place)

    @cached_property
    def _member(self) -> dict[tuple[int, int], int]:
        return {pair: state for state, pair in enumerate(zip(self.blocks, self.labels, strict=True))}

    def state(self, coordinates: Coordinates) -> int:
        """The state at that place of that block."""
        above, below = self._split(coordinates)
        pair = (self.quotient.state(above), self.fiber.state(below))
        if pair not in self._member:
            raise InvalidInput(f"the coordinates must name a state; {coordinates} do not")
        return self._member[pair]

    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """The quotient reads the letter; the fibre reads the letter driven by the block before it."""
        above, below = self._split(coordinates)
        following = self.quotient.step(above, letter)
        return following + self.fiber.step(below, self.drive[self.quotient.state(above)][letter])


@dataclass(frozen=True, eq=False)
class ErrorBitPlan(Plan):
    """The automaton without its sink, completed arbitrarily, and one bit that remembers the first error.

    ``states[i]`` is inner state i; the inner automaton is free wherever a letter leads to the sink.
    """

    sink: int
    states: Labels
    inner: Plan

    def fault(self) -> str:
        """The sink stays, and away from it the inner automaton is right where no letter leads to the sink."""
        automaton, sink, states, inner = self.automaton, self.sink, self.states, self.inner.automaton
        if any(automaton.step(sink, letter) != sink for letter in range(automaton.num_letters)):
            return f"state {sink} is not fixed by every letter"
        if sorted([*states, sink]) != list(range(automaton.num_states)) or len(states) != inner.num_states:
            return "the inner states must be all states but the sink"
        for place, state in enumerate(states):
            for letter in range(automaton.num_letters):
                after = automaton.step(state, letter)
                if after != sink and states[inner.step(place, letter)] != after:
                    return f"state {state}, letter {letter}: the inner automaton goes elsewhere"
        return ""

    @property
    def levels(self) -> int:
        """One more than the inner plan."""
        return self.inner.levels + 1

    @property
    def layers(self) -> int:
        """One more than the inner plan: a memory of any error so far."""
        return self.inner.layers + 1

    @property
    def size(self) -> int:
        """The inner plan's size and the two states of the bit."""
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

    @property
    def num_coordinates(self) -> int:
        """The inner ones and the bit."""
        return self.inner.num_coordinates + 1

    def coordinates(self, state: int) -> Coordinates:
        """The inner ones and 0; for the sink those of inner state 0, which no longer matter, and 1."""
        if state == self.sink:
            return (*self.inner.coordinates(0), 1)
        if state not in self.states:
            raise InvalidInput(f"a state must lie in [0, {self.automaton.num_states}); got {state}")
        return (*self.inner.coordinates(self.states.index(state)), 0)

    def state(self, coordinates: Coordinates) -> int:
        """The sink once the bit is set."""
        (inside,) = self._split(coordinates)
        return self.sink if coordinates[-1] else self.states[self.inner.state(inside)]

    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """The inner step; an error sets the bit permanently."""
        (inside,) = self._split(coordinates)
        following = self.inner.step(inside, letter)
        return (*following, int(coordinates[-1] or self.errors[self.inner.state(inside), letter]))
