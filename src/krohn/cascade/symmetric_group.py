"""A quick sufficient test for the full symmetric group."""

from collections.abc import Collection

from krohn.algebra.permutation import Permutation, cycles


def is_symmetric(generators: Collection[Permutation], degree: int) -> bool:
    """Whether a transposition among the powers of the generators has conjugates that connect all points.

    The conjugates of a transposition are the edges of a graph that the group preserves; transpositions
    along a connected graph generate the symmetric group.
    """
    for generator in generators:
        even = [cycle for cycle in cycles(generator) if len(cycle) % 2 == 0]
        # An odd power of a permutation with one even cycle, of length 2, is that transposition alone.
        if len(even) == 1 and len(even[0]) == 2:
            return _connects(even[0][0], even[0][1], generators, degree)
    return False


def _connects(left: int, right: int, generators: Collection[Permutation], degree: int) -> bool:
    leader = list(range(degree))

    def find(point: int) -> int:
        while leader[point] != point:
            leader[point] = point = leader[leader[point]]
        return point

    edges = [(left, right)]
    seen = {edges[0]}
    parts = degree
    for one, other in edges:
        first, second = find(one), find(other)
        if first != second:
            leader[first] = second
            parts -= 1
            if parts == 1:
                return True
        for generator in generators:
            a, b = generator[one], generator[other]
            edge = (a, b) if a < b else (b, a)
            if edge not in seen:
                seen.add(edge)
                edges.append(edge)
    return False
