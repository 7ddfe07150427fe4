"""A plan: a tree of ways to run an automaton in few levels, each node proved by its own exact check.

Every node stands for one automaton. Leaves are a holonomy cascade or a clamped counter; inner nodes
say how the automaton is put together from smaller ones: on its reachable states, in parallel from
quotients, in series from a quotient and a fibre, or as a partial automaton with an error bit.

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
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.holonomy import UNSOLVABLE_LAYERS
from krohn.errors import InvalidInput

Coordinates = tuple[int, ...]
Words = npt.NDArray[np.integer]
States = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Component:
    """One component of a plan.

    Attributes:
        level: 0 is the top.
        tiles: number of its states.
        group_order: order of its permutation group.
        group: short name of that group.
        is_solvable: whether the group is solvable.
        has_resets: whether some input resets it.
        kind: ``permutation-reset``, ``clamped counter`` or ``error bit``.
        factors: composition factors of the group from the top; empty where finding them is too expensive.
    """

    level: int
    tiles: int
    group_order: int
    group: str
    is_solvable: bool
    has_resets: bool
    kind: str = "permutation-reset"
    factors: tuple[str, ...] = ()


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

    # What follows is for parts that run side by side, or for a single one; other nodes define their own.

    @property
    def levels(self) -> int:
        """Number of levels."""
        return max(child.levels for child in self.children)

    @property
    def layers(self) -> int:
        """Number of layers; at least ``UNSOLVABLE_LAYERS`` if some group is not solvable."""
        return max(child.layers for child in self.children)

    @property
    def components(self) -> tuple[Component, ...]:
        """All components, by level."""
        result = [component for child in self.children for component in child.components]
        return tuple(sorted(result, key=lambda component: component.level))

    @property
    def size(self) -> int:
        """States of all components together."""
        return sum(child.size for child in self.children)

    @property
    @abstractmethod
    def title(self) -> str:
        """A one-line description of this node."""

    @property
    def children(self) -> tuple["Plan", ...]:
        """The plans this node is composed of."""
        return ()

    @property
    def num_coordinates(self) -> int:
        """How many coordinates name a state: one per level of each leaf, one per error bit."""
        return sum(child.num_coordinates for child in self.children)

    @abstractmethod
    def coordinates(self, state: int) -> Coordinates:
        """Coordinates of a state, those of the children in order."""

    @abstractmethod
    def state(self, coordinates: Coordinates) -> int:
        """The covering map: the state that the coordinates stand for."""

    @abstractmethod
    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """The coordinates after one letter, computed by the parts and never by the automaton itself."""

    def simulate(self, words: Words, start: int | None = None) -> States:
        """States after each letter, for words of shape (batch, length), by steps of the coordinates.

        Each step is taken once: a table keeps what follows which coordinates by which letter.
        """
        reached = [self.coordinates(self.automaton.start if start is None else start)]
        number, follow = {reached[0]: 0}, [[-1] * self.automaton.num_letters]
        current, table = np.zeros(len(words), dtype=np.int64), np.array(follow)
        runs = np.empty(words.shape, dtype=np.int64)
        for place in range(words.shape[1]):
            letters = words[:, place]
            missing = np.flatnonzero(table[current, letters] < 0)
            for now, letter in sorted(
                set(zip(current[missing].tolist(), letters[missing].tolist(), strict=True))
            ):
                after = self.step(reached[now], letter)
                if after not in number:
                    number[after] = len(reached)
                    reached.append(after)
                    follow.append([-1] * self.automaton.num_letters)
                follow[now][letter] = number[after]
            table = np.array(follow) if missing.size else table
            current = runs[:, place] = table[current, letters]
        states: States = np.array([self.state(known) for known in reached], dtype=np.int32)[runs]
        return states

    def _split(self, coordinates: Coordinates) -> list[Coordinates]:
        """The coordinates of each child."""
        if len(coordinates) != self.num_coordinates:
            raise InvalidInput(f"there must be {self.num_coordinates} coordinates; got {len(coordinates)}")
        ends = list(accumulate((child.num_coordinates for child in self.children), initial=0))
        return [coordinates[begin:end] for begin, end in pairwise(ends)]

    @property
    def is_solvable(self) -> bool:
        """Whether every component's group is solvable."""
        return self.layers < UNSOLVABLE_LAYERS

    @cached_property
    def measure(self) -> tuple[int, int, int]:
        """The search's sort key: levels, then layers, then total states of components."""
        return (self.levels, self.layers, self.size)

    def walk(self, indent: int = 0) -> Iterator[tuple[int, "Plan"]]:
        """This node and all below it, with their depth in the tree."""
        yield indent, self
        for child in self.children:
            yield from child.walk(indent + 1)
