"""The graph of an automaton: states that words reach, sinks, strong components."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import inf
from typing import TypeVar

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import LimitExceeded

Node = TypeVar("Node", bound=Hashable)


def reachable(automaton: Semiautomaton) -> Semiautomaton:
    """The part reachable from the start, in breadth-first order; unchanged if that is everything."""
    order = reachable_states(automaton)
    if len(order) == automaton.num_states:
        return automaton
    place = np.zeros(automaton.num_states, dtype=np.int32)
    place[order] = np.arange(len(order))
    return renumber(automaton, order, place)


def renumber(automaton: Semiautomaton, chosen: Sequence[int], place: np.ndarray) -> Semiautomaton:
    """The automaton on the ``chosen`` states; ``place[q]`` is the new number of the state for q."""
    observe = automaton.observe
    return Semiautomaton(
        place[automaton.table[chosen]],
        start=int(place[automaton.start]),
        state_names=tuple(automaton.state_names[state] for state in chosen),
        letter_names=automaton.letter_names,
        observe=None if observe is None else tuple(observe[state] for state in chosen),
        name=automaton.name,
        observation_names=automaton.observation_names,
    )


def reachable_states(automaton: Semiautomaton) -> list[int]:
    """The states reachable from the start, in breadth-first order."""
    return explore(automaton.start, automaton.table.tolist().__getitem__)[0]


def sink_states(automaton: Semiautomaton) -> list[int]:
    """The states that no letter leaves."""
    stays = automaton.table == np.arange(automaton.num_states)[:, None]
    return np.flatnonzero(stays.all(axis=1)).tolist()


def explore(
    first: Node, after: Callable[[Node], Iterable[Node]], most: float = inf, refusal: str = ""
) -> tuple[list[Node], list[list[int]]]:
    """All nodes that words lead to, breadth first, and for each the numbers of those after it.

    More than ``most`` are refused with the sentence ``refusal``.
    """
    order, number, rows = [first], {first: 0}, list[list[int]]()
    for node in order:  # grows during iteration
        row = []
        for target in after(node):
            if target not in number:
                number[target] = len(order)
                order.append(target)
            row.append(number[target])
        rows.append(row)
        if len(order) > most:
            raise LimitExceeded(refusal)
    return order, rows


def strong_components(successors: Sequence[Sequence[int]], first: int = 0) -> list[list[int]]:
    """The components in reverse topological order: every edge leads into an earlier component.

    Only the nodes from ``first`` on are visited; no edge may lead to the others.
    """
    count = len(successors)
    order = [0] * count  # 0 = unseen; afterwards the low link, count + 1 once its component is closed
    closed, clock, stack, result = count + 1, 0, list[int](), list[list[int]]()
    for root in range(first, count):
        if order[root]:
            continue
        if not successors[root]:
            order[root] = closed
            result.append([root])
            continue
        clock += 1
        order[root] = clock
        stack.append(root)
        trail = [(root, iter(successors[root]), clock)]
        while trail:
            node, edges, seen = trail[-1]
            for target in edges:
                low = order[target]
                if not low:
                    clock += 1
                    order[target] = clock
                    stack.append(target)
                    trail.append((target, iter(successors[target]), clock))
                    break
                if low < order[node]:
                    order[node] = low
            else:
                trail.pop()
                low = order[node]
                if trail and low < order[trail[-1][0]]:
                    order[trail[-1][0]] = low
                if low == seen:
                    result.append(_close(node, stack, order, closed))
    return result


def _close(node: int, stack: list[int], order: list[int], closed: int) -> list[int]:
    start = len(stack) - 1
    while stack[start] != node:
        start -= 1
    members = stack[start:]
    del stack[start:]
    for member in members:
        order[member] = closed
    return members
