"""A plan: a tree of ways to run an automaton in few levels, each node proved by its own exact check.

Every node stands for one automaton. Leaves are a holonomy cascade, a counter on a line, or a stack of bounded
height. Inner nodes (``plan_nodes``) say how the automaton is put together from smaller ones: on its reachable
states, in parallel from quotients, in series from a quotient and a fibre, or as a partial automaton with an
error bit.

``levels`` counts levels of the cascade (parallel parts share theirs); ``layers`` counts the layers of a
network in which every level knows the sets before the letter: derived length of the group plus one if there
are resets, along the longest path. A node that does not simulate its automaton cannot be constructed: it is
checked on creation. Each check (``fault``) quantifies over all states and letters, so by induction along a
word the node computes the states of its automaton for words of every length; none of them trusts the pass
that made the node.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from krohn.algebra.composition import composition_factors
from krohn.algebra.group_names import group_name
from krohn.algebra.permgroup import PermutationGroup
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.holonomy import UNSOLVABLE_LAYERS, Cascade
from krohn.errors import InvalidInput, counted

Coordinates = tuple[int, ...]
Words = npt.NDArray[np.integer]
States = npt.NDArray[np.int32]
Labels = tuple[int, ...]
_MAX_FACTORED = 5_000
_TRIVIAL = PermutationGroup((), 1)


@dataclass(frozen=True)
class Component:
    """One component of a plan.

    Attributes:
        level: 0 is the top.
        tiles: number of its states.
        kind: ``permutation-reset``, ``clamped counter`` or ``error bit``.
        permutations: its permutation group.
        has_resets: whether some input resets it.
    """

    level: int
    tiles: int
    kind: str = "permutation-reset"
    permutations: PermutationGroup = _TRIVIAL
    has_resets: bool = True

    @property
    def group_order(self) -> int:
        """The order of its group."""
        return self.permutations.order

    @property
    def group(self) -> str:
        """A short name of its group."""
        return group_name(self.permutations)

    @property
    def is_solvable(self) -> bool:
        """Whether its group is solvable."""
        return self.permutations.is_solvable

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """Composition factors of its group from the top; empty where finding them is too expensive."""
        few = self.group_order <= _MAX_FACTORED
        return tuple(reversed(composition_factors(self.permutations))) if few else ()


@dataclass(frozen=True, eq=False)
class Plan(ABC):
    """A way to run ``automaton``; equality is identity."""

    automaton: Semiautomaton

    def __post_init__(self) -> None:
        fault = self.fault()
        if fault:  # not an assert statement: the proof must not depend on how Python is started
            raise AssertionError(fault)

    @abstractmethod
    def fault(self) -> str:
        """What the exact check of this node finds wrong; empty if the node simulates its automaton."""

    @property
    @abstractmethod
    def layers(self) -> int:
        """Number of layers; at least ``UNSOLVABLE_LAYERS`` if some group is not solvable."""

    @property
    @abstractmethod
    def components(self) -> tuple[Component, ...]:
        """All components, by level."""

    @property
    @abstractmethod
    def title(self) -> str:
        """A one-line description of this node."""

    @property
    def children(self) -> tuple["Plan", ...]:
        """The plans this node is composed of."""
        return ()

    @abstractmethod
    def coordinates(self, state: int) -> Coordinates:
        """Coordinates of a state, those of the children in order."""

    @abstractmethod
    def state(self, coordinates: Coordinates) -> int:
        """The covering map: the state that the coordinates stand for."""

    @abstractmethod
    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """The coordinates after one letter, computed by the parts and never by the automaton itself."""

    @cached_property
    def levels(self) -> int:
        """Number of levels."""
        return 1 + max((component.level for component in self.components), default=-1)

    @cached_property
    def num_coordinates(self) -> int:
        """How many coordinates name a state: one per level of each leaf, one per error bit."""
        return len(self.coordinates(self.automaton.start))

    def simulate(self, words: Words, start: int | None = None) -> States:
        """States after each letter, for words of shape (batch, length), by steps of the coordinates."""
        step, state = cache(self.step), cache(self.state)  # each step is taken once
        begin = self.coordinates(self.automaton.start if start is None else start)
        runs = [list(map(state, accumulate(word, step, initial=begin)))[1:] for word in words.tolist()]
        return np.array(runs, dtype=np.int32).reshape(words.shape)

    def _split(self, coordinates: Coordinates) -> list[Coordinates]:
        """The coordinates of each child."""
        if len(coordinates) != self.num_coordinates:
            raise InvalidInput(f"there must be {self.num_coordinates} coordinates; got {len(coordinates)}")
        ends = list(accumulate((child.num_coordinates for child in self.children), initial=0))
        return [coordinates[begin:end] for begin, end in pairwise(ends)]

    def _known(self, state: int) -> int:
        """The state; refuses a number that is none."""
        if not 0 <= state < self.automaton.num_states:
            raise InvalidInput(f"a state must lie in [0, {self.automaton.num_states}); got {state}")
        return state

    @property
    def is_solvable(self) -> bool:
        """Whether every component's group is solvable."""
        return self.layers < UNSOLVABLE_LAYERS

    @cached_property
    def measure(self) -> tuple[int, int, int]:
        """The search's sort key: levels, then layers, then total states of components."""
        return (self.levels, self.layers, sum(component.tiles for component in self.components))

    def walk(self, indent: int = 0) -> Iterator[tuple[int, "Plan"]]:
        """This node and all below it, with their depth in the tree."""
        yield indent, self
        for child in self.children:
            yield from child.walk(indent + 1)


@dataclass(frozen=True, eq=False)
class HolonomyPlan(Plan):
    """A holonomy cascade, plain or with merged classes."""

    cascade: Cascade

    def fault(self) -> str:
        """The cascade must be one of this automaton's table, and cover it."""
        automaton, cascade = self.automaton, self.cascade
        if not np.array_equal(automaton.table, cascade.automaton.table):
            return "the cascade is of another automaton"
        if automaton.start != cascade.automaton.start:
            return f"the cascade starts at {cascade.automaton.start}, the automaton at {automaton.start}"
        return cascade.covering.fault

    @property
    def layers(self) -> int:
        """Layers of the cascade."""
        return self.cascade.layers

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """One per class."""
        parts = zip(self.cascade.components, self.cascade.is_reset, strict=True)
        return tuple(
            Component(part.level, len(part.tiles), permutations=part.group, has_resets=resets)
            for part, resets in parts
        )

    @property
    def title(self) -> str:
        """Holonomy, with the number of sets."""
        merges = sum(part.is_merged for part in self.cascade.components)
        extra = f", {merges} merged component{'s' * (merges != 1)}" if merges else ""
        return f"holonomy of {counted(self.cascade.skeleton.num_sets, 'set')}{extra}"

    def coordinates(self, state: int) -> Coordinates:
        """The coordinates of the state in the cascade."""
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
    layers = 2  # prefix sums, then the most recent contact with an end (the gridworld construction)

    def fault(self) -> str:
        """Every letter must be a step along the line, stopped at both ends."""
        automaton, line, steps = self.automaton, self.line, self.steps
        last = automaton.num_states - 1
        if sorted(line) != list(range(last + 1)) or len(steps) != automaton.num_letters:
            return "the line must place every state once, and every letter needs a step"
        for state in range(automaton.num_states):
            for letter in range(automaton.num_letters):
                if line[automaton.step(state, letter)] != min(max(line[state] + steps[letter], 0), last):
                    return f"state {state}, letter {letter}: not the clamped step {steps[letter]}"
        return ""

    @property
    def components(self) -> tuple[Component, ...]:
        """The counter."""
        return (Component(0, len(self.line), "clamped counter"),)

    @property
    def title(self) -> str:
        """Length of the line."""
        return f"clamped counter on {len(self.line)} places"

    def coordinates(self, state: int) -> Coordinates:
        """The place on the line."""
        return (self.line[self._known(state)],)

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
