"""The order of a holonomy group, without a stabilizer chain where a quick test suffices."""

from collections.abc import Collection
from math import factorial

from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.permutation import Permutation, cycles

# A quick sufficient test for the full symmetric group.


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


# Orders of holonomy groups: shortcuts for the many small and symmetric ones, else Schreier–Sims.


_LISTED = 150  # groups up to this order are listed, which is faster than a stabiliser chain
_SMALL_DEGREE = 24  # full symmetric groups are common on few tiles, regular groups on many
_BYTE = bytes(range(256))

SMALLEST_UNSOLVABLE = 60  # the order of A5

# A class whose group is not solvable has no plan of constant depth; it is ranked last.
UNSOLVABLE_LAYERS = 1000


def derived_length(group: PermutationGroup) -> int:
    """Sections of the derived series; ``UNSOLVABLE_LAYERS`` where it does not reach the trivial group."""
    if group.is_trivial:
        return 0
    series = group.derived_series()
    return len(series) - 1 if series[-1].is_trivial else UNSOLVABLE_LAYERS


def group_order(generators: Collection[Permutation], degree: int) -> int:
    """The order of the group that the permutations of ``range(degree)`` generate."""
    if not generators:
        return 1
    if degree == 2:
        return 1 + any(generator[0] for generator in generators)
    if degree <= _SMALL_DEGREE and is_symmetric(generators, degree):
        return factorial(degree)
    order = _listed_order(generators, degree) if degree <= 256 else None
    return PermutationGroup(tuple(generators), degree).order if order is None else order


def small_generating_set(generators: Collection[Permutation], degree: int) -> tuple[Permutation, ...]:
    """A few permutations that generate the same group: there may be hundreds of Schreier elements."""
    if len(generators) <= 2:
        return tuple(generators)
    if degree <= _SMALL_DEGREE and is_symmetric(generators, degree):
        return ((*range(1, degree), 0), (1, 0, *range(2, degree)))
    full, order = group_order(generators, degree), 1
    kept: tuple[Permutation, ...] = ()
    for generator in generators:
        larger = group_order((*kept, generator), degree)
        if larger > order:
            kept, order = (*kept, generator), larger
            if order == full:
                break
    return kept


def _listed_order(generators: Collection[Permutation], degree: int) -> int | None:
    """Counts the elements by listing them; gives up past the limit."""
    tables = [bytes(generator) + _BYTE[degree:] for generator in generators]
    seen = frontier = {_BYTE[:degree]}
    while frontier and len(seen) <= _LISTED:
        frontier = {element.translate(table) for table in tables for element in frontier} - seen
        seen = seen | frontier
    return len(seen) if len(seen) <= _LISTED else None
