"""Strongly connected components of a directed graph, without recursion."""

from collections.abc import Sequence


def strong_components(successors: Sequence[Sequence[int]]) -> tuple[list[int], int]:
    """The component number of every vertex, and how many there are (Tarjan, iterative).

    Components are numbered so that every edge between two of them leads to the smaller number.
    """
    count = len(successors)
    order = [0] * count  # time of discovery, 0 = unseen
    low = [0] * count
    component = [-1] * count
    stack: list[int] = []
    clock = found = 0
    for root in range(count):
        if order[root]:
            continue
        clock += 1
        order[root] = low[root] = clock
        stack.append(root)
        path = [(root, iter(successors[root]))]
        while path:
            vertex, edges = path[-1]
            for target in edges:
                if not order[target]:
                    clock += 1
                    order[target] = low[target] = clock
                    stack.append(target)
                    path.append((target, iter(successors[target])))
                    break
                if component[target] < 0 and order[target] < low[vertex]:
                    low[vertex] = order[target]
            else:
                path.pop()
                if path and low[vertex] < low[path[-1][0]]:
                    low[path[-1][0]] = low[vertex]
                if low[vertex] == order[vertex]:
                    member = -1
                    while member != vertex:
                        member = stack.pop()
                        component[member] = found
                    found += 1
    return component, found
