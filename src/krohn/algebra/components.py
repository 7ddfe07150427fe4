"""Strongly connected components by Tarjan's algorithm, without recursion."""

from collections.abc import Sequence


def strong_components(successors: Sequence[Sequence[int]], first: int = 0) -> list[list[int]]:
    """The components in reverse topological order: every edge leads into an earlier component.

    Only the nodes from ``first`` on are visited; no edge may lead to the others.
    """
    count = len(successors)
    order = [0] * count  # 0 = unseen; afterwards the low link, count + 1 once its component is closed
    closed = count + 1
    clock = 0
    stack: list[int] = []
    result: list[list[int]] = []
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


def component_numbers(components: Sequence[Sequence[int]]) -> list[int]:
    """The number of each node's component, for components that hold every node once."""
    numbers = [0] * sum(map(len, components))
    for number, members in enumerate(components):
        for member in members:
            numbers[member] = number
    return numbers


def _close(node: int, stack: list[int], order: list[int], closed: int) -> list[int]:
    start = len(stack) - 1
    while stack[start] != node:
        start -= 1
    members = stack[start:]
    del stack[start:]
    for member in members:
        order[member] = closed
    return members
