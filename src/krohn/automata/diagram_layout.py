"""Layout of a diagram: states on a line, a lattice, a circle, as a tree, or as circles on a circle.

A line or a lattice where the states form one. A tree around the start where arrows into a sink are left
out. For a group the Cayley diagram of the textbooks: the cycles of one letter are small circles that stand
on a large one, turned and ordered so that arrows of the other letters are short.
"""

import math
import re
from typing import Protocol

import numpy as np
import numpy.typing as npt

from krohn.automata.graph import strong_components

Point = tuple[float, float]
SPACE = 26.0
"""Space between neighbouring circles."""


class Drawn(Protocol):
    """What a picture shows of an automaton; not its class, which imports the pictures to draw itself."""

    @property
    def table(self) -> npt.NDArray[np.int32]: ...  # noqa: D102
    @property
    def start(self) -> int: ...  # noqa: D102
    @property
    def state_names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def letter_names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def observe(self) -> tuple[int, ...] | None: ...  # noqa: D102
    @property
    def observation_names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def observed(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def name(self) -> str: ...  # noqa: D102


_MANY = 10  # above this many circles, arrows must cross states, and only their lengths count


def line(automaton: Drawn, radius: float) -> list[Point] | None:
    """The positions if every state has at most two neighbours and together they form one line."""
    table = automaton.table
    count = len(table)
    near: list[set[int]] = [set() for _ in range(count)]
    for state, row in enumerate(table.tolist()):
        for target in row:
            if target != state:
                near[state].add(target)
                near[target].add(state)
    ends = [state for state in range(count) if len(near[state]) == 1]
    if count < 3 or len(ends) != 2 or any(len(others) > 2 for others in near):
        return None
    order = [min(ends)]
    while len(order) < count:
        ahead = [state for state in near[order[-1]] if state not in order[-2:]]
        if not ahead:
            return None
        order.append(ahead[0])
    step = 2 * radius + 2.2 * SPACE
    places = [(0.0, 0.0)] * count
    for number, state in enumerate(order):
        places[state] = (step * number, 0.0)
    return places


def lattice(automaton: Drawn, radius: float) -> list[Point] | None:
    """The positions if the states are named row,column and every letter moves to a neighbour or stays."""
    matches = [re.fullmatch(r"(\d{1,3}),(\d{1,3})", name) for name in automaton.state_names]
    if not all(matches) or len(matches) < 4:
        return None
    cells = np.array([[int(number) for number in match.groups()] for match in matches if match])
    moves = np.abs(cells[automaton.table] - cells[:, None]).sum(axis=2)
    if moves.max() > 1 or min(np.ptp(cells, axis=0)) < 1:
        return None
    step = 2 * radius + 1.8 * SPACE
    return [(step * float(x), -step * float(y)) for x, y in cells]


def circle(order: list[int], radius: float, space: float = SPACE) -> list[Point]:
    """All states on one circle, in that order, clockwise from the top."""
    count = len(order)
    ring = max(70.0, (radius + space) / math.sin(math.pi / count)) if count > 1 else 0.0
    places = [(0.0, 0.0)] * count
    for number, state in enumerate(order):
        angle = 2 * math.pi * number / count - math.pi / 2
        places[state] = (ring * math.cos(angle), ring * math.sin(angle))
    return places


def circles(automaton: Drawn, letters: list[int], radius: float) -> list[Point]:
    """For a group: the cycles of the letter with the fewest of them, as small circles on a large one."""
    cycles = min((cycles_of(automaton.table[:, letter]) for letter in letters), key=len)
    if len(cycles) == 1:
        return circle(cycles[0], radius)
    targets = automaton.table[:, letters]
    pairs = np.stack([np.repeat(np.arange(len(targets)), len(letters)), targets.ravel()], axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    longest = max(map(len, cycles))
    if len(cycles) == 2 and longest == 2:
        (first, second), other = cycles
        third = next(int(t) for t in targets[second] if int(t) in other)
        return circle([first, second, third, sum(other) - third], radius)
    if len(cycles) == 2:
        inner = (radius + 0.7 * SPACE) / math.sin(math.pi / longest)
        cycles.sort(key=lambda cycle: automaton.start in cycle)  # outside, where its arrow has room
        rings = (inner, inner + 2 * radius + 1.2 * SPACE)
        return _Rings(cycles, rings, 0.0, radius, pairs).settle()
    small = (radius + 0.5 * SPACE) / math.sin(math.pi / longest) if longest > 1 else 0.0
    large = (small + radius + 0.5 * SPACE) / math.sin(math.pi / len(cycles))
    return _Rings(cycles, (small,) * len(cycles), large, radius, pairs).settle()


def cycles_of(images: npt.NDArray[np.int32]) -> list[list[int]]:
    """The cycles of a permutation, each from its least state."""
    return strong_components(images[:, None].tolist())


class _Rings:
    """Circles on a large one, or concentric if its radius is 0; local search rotates and orders them."""

    def __init__(
        self,
        cycles: list[list[int]],
        small: tuple[float, ...],
        large: float,
        radius: float,
        pairs: npt.NDArray[np.int64],
    ) -> None:
        self._cycles, self._small, self._large = cycles, small, large
        self._radius, self._pairs = radius, pairs

    def settle(self) -> list[Point]:
        """The best layout over several initial orders; fewer where there are many circles."""
        rng = np.random.default_rng(0)
        layouts: list[tuple[float, npt.NDArray[np.float64]]] = []
        cycles = self._cycles
        for _ in range(max(1, 48 // len(cycles)) if self._large else 1):
            self._cycles = list(cycles)
            layouts.append((self._descend(), self._places()))
            cycles = [cycles[index] for index in rng.permutation(len(cycles))] if self._large else cycles
        return [(x, y) for x, y in min(layouts, key=lambda pair: pair[0])[1].tolist()]

    def _descend(self) -> float:
        """At most eight rounds of rotating each circle and swapping each pair."""
        cost = self._cost()
        for _ in range(8):
            before = cost
            for number in range(len(self._cycles)):
                cost = self._turn(number, cost)
            for one in range(len(self._cycles)):
                for two in range(one):
                    cost = self._exchange(one, two, cost) if self._large else cost
            if cost > before - 1e-6:
                break
        return cost

    def _turn(self, number: int, cost: float) -> float:
        best, cycle = self._cycles[number], self._cycles[number]
        for turn in range(len(cycle)):
            turned = cycle[turn:] + cycle[:turn]
            for tried in (turned,) if self._large else (turned, turned[::-1]):
                self._cycles[number] = tried
                changed = self._cost()
                if changed < cost - 1e-6:
                    best, cost = tried, changed
        self._cycles[number] = best
        return cost

    def _exchange(self, one: int, two: int, cost: float) -> float:
        cycles = self._cycles
        cycles[one], cycles[two] = cycles[two], cycles[one]
        changed = self._cost()
        if changed < cost - 1e-6:
            return changed
        cycles[one], cycles[two] = cycles[two], cycles[one]
        return cost

    def _cost(self) -> float:
        """Total arrow length, plus a large penalty for each arrow that crosses a third state."""
        places = self._places()
        begin, ways = places[self._pairs[:, 0]], places[self._pairs[:, 1]] - places[self._pairs[:, 0]]
        lengths = np.hypot(ways[:, 0], ways[:, 1])
        if len(self._cycles) > _MANY:
            return float(lengths.sum())
        offsets = places[None] - begin[:, None]
        share = np.clip((offsets * ways[:, None]).sum(-1) / (lengths**2)[:, None], 0, 1)
        off = offsets - share[..., None] * ways[:, None]
        near = np.hypot(off[..., 0], off[..., 1]) < self._radius + 5
        return float(lengths.sum()) + 150.0 * float(near.sum() - 2 * len(self._pairs))

    def _places(self) -> npt.NDArray[np.float64]:
        places = np.zeros((sum(map(len, self._cycles)), 2))
        for number, (cycle, small) in enumerate(zip(self._cycles, self._small, strict=True)):
            around = (2 * np.pi * number / len(self._cycles) if self._large else 0.0) - np.pi / 2
            inner = around + 2 * np.pi * np.arange(len(cycle)) / len(cycle)
            places[cycle, 0] = self._large * np.cos(around) + small * np.cos(inner)
            places[cycle, 1] = self._large * np.sin(around) + small * np.sin(inner)
        return places


def tree(automaton: Drawn, sink: int, radius: float) -> list[Point]:
    """A shortest-path tree from the start: rings by distance, every subtree in a sector of its own."""
    parent, distance = _shortest_paths(automaton, sink)
    order = list(parent)
    children: dict[int, list[int]] = {}
    for state in order[1:]:
        children.setdefault(parent[state], []).append(state)
    leaves: dict[int, int] = {}
    for state in reversed(order):
        leaves[state] = sum(leaves[child] for child in children.get(state, ())) or 1
    # A state's sector must be wide enough for it on its ring, even where a short branch ends early.
    narrowest = min(leaves[state] * distance[state] for state in order[1:])
    step = max(2 * radius + 40, leaves[automaton.start] * (2 * radius + 8) / (2 * math.pi * narrowest))
    sector = {automaton.start: -math.pi / 2}
    for state in order:
        angle = sector[state]
        for child in children.get(state, ()):
            sector[child] = angle
            angle += 2 * math.pi * leaves[child] / leaves[automaton.start]
    places = [(0.0, 0.0)] * len(automaton.table)
    for state in order[1:]:
        middle = sector[state] + math.pi * leaves[state] / leaves[automaton.start]
        reach = step * distance[state]
        places[state] = (reach * math.cos(middle), reach * math.sin(middle))
    return places


def _shortest_paths(automaton: Drawn, sink: int) -> tuple[dict[int, int], dict[int, int]]:
    """Parents and distances in breadth-first order; unreachable states are attached to the start."""
    parent, distance = {automaton.start: automaton.start}, {automaton.start: 0}
    order = [automaton.start]
    for root in (automaton.start, *range(len(automaton.table))):
        if root not in parent and root != sink:
            parent[root], distance[root] = automaton.start, 1
            order.append(root)
        for state in order:
            for target in automaton.table[state].tolist():
                if target not in parent and target != sink:
                    parent[target], distance[target] = state, distance[state] + 1
                    order.append(target)
        order.clear()
    return parent, distance
