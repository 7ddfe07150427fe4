"""A plan: a tree of ways to run an automaton in few levels, each node proved by its own exact check.

Every node stands for one automaton. Leaves are a holonomy cascade or a clamped counter; inner nodes
say how the automaton is put together from smaller ones: on its reachable states, in parallel from
quotients, in series from a quotient and a fibre, or as a partial automaton with an error bit.

``levels`` counts levels of the cascade (parallel parts share theirs); ``layers`` counts the layers of a
network with a strict causal mask: derived length of the group plus one if there are resets, along the
longest path. A node that does not simulate its automaton cannot be made: its check runs at construction.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.bulk import States, Words
from krohn.cascade.group_order import UNSOLVABLE_LAYERS
from krohn.errors import InvalidInput

Coordinates = tuple[int, ...]


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
        factors: composition factors of the group from the top; empty where they would take long to find.
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

    @property
    @abstractmethod
    def levels(self) -> int:
        """Number of levels."""

    @property
    @abstractmethod
    def layers(self) -> int:
        """Number of layers; at least ``UNSOLVABLE_LAYERS`` if some group is not solvable."""

    @property
    @abstractmethod
    def components(self) -> tuple[Component, ...]:
        """All components, by level."""

    @property
    def size(self) -> int:
        """States of all components together."""
        return sum(child.size for child in self.children)

    @property
    @abstractmethod
    def title(self) -> str:
        """One line about this node."""

    @property
    def children(self) -> tuple["Plan", ...]:
        """The plans this node is put together from."""
        return ()

    @abstractmethod
    def simulate(self, words: Words, start: int | None = None) -> States:
        """States after each letter, for words of shape (batch, length), computed by the plan."""

    @property
    @abstractmethod
    def num_coordinates(self) -> int:
        """How many coordinates name a state: one per level of each leaf, one per error bit."""

    @abstractmethod
    def coordinates(self, state: int) -> Coordinates:
        """Coordinates of a state, those of the children in order."""

    @abstractmethod
    def state(self, coordinates: Coordinates) -> int:
        """The covering map: the state that the coordinates stand for."""

    @abstractmethod
    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """The coordinates after one letter, moved by the parts and never by the automaton itself."""

    def _split(self, coordinates: Coordinates) -> list[Coordinates]:
        """The coordinates of each child."""
        if len(coordinates) != self.num_coordinates:
            raise InvalidInput(f"there must be {self.num_coordinates} coordinates; got {len(coordinates)}")
        ends = list(accumulate((child.num_coordinates for child in self.children), initial=0))
        return [coordinates[begin:end] for begin, end in pairwise(ends)]

    @property
    def covering_checked(self) -> bool:
        """Every node was checked when it was made."""
        return True

    @property
    def is_solvable(self) -> bool:
        """Whether every component's group is solvable."""
        return self.layers < UNSOLVABLE_LAYERS

    @cached_property
    def measure(self) -> tuple[int, int, int]:
        """What a search makes small: levels, then layers, then states of components."""
        return (self.levels, self.layers, self.size)

    def walk(self, indent: int = 0) -> Iterator[tuple[int, "Plan"]]:
        """This node and all below it, with their depth in the tree."""
        yield indent, self
        for child in self.children:
            yield from child.walk(indent + 1)

    def _origin(self, start: int | None) -> int:
        return self.automaton.start if start is None else start
