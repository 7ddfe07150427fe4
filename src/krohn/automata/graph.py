"""Graphs whose edges are letters: what words reach, sinks, strong components."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import inf
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from krohn.errors import LimitExceeded

Node = TypeVar("Node", bound=Hashable)


def sink_states(table: npt.NDArray[np.integer[Any]]) -> list[int]:
    """The states of a transition table that no letter leaves."""
    stays = table == np.arange(len(table))[:, None]
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
