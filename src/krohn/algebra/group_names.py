"""Short names of small groups, found by invariants that determine them."""

from collections import Counter
from functools import lru_cache
from math import factorial, prod

from krohn.algebra.composition import factors_of
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transformation import compose, identity, order, power, prime_factors

_LISTED = 400  # groups up to this order are named by the orders of their elements

# (order, number of involutions) of non-solvable groups of order up to 400 with these factors.
Family = tuple[str, int]

_NON_SOLVABLE = {
    ((60, 15), ("A5",)): ("A", 5),
    ((120, 25), ("A5", "C2")): ("S", 5),
    ((120, 1), ("C2", "A5")): ("SL(2,5)", 0),
    ((168, 21), ("PSL(2,7)",)): ("PSL(2,7)", 0),
    ((336, 49), ("PSL(2,7)", "C2")): ("PGL(2,7)", 0),
    ((360, 45), ("A6",)): ("A", 6),
}
# Orders of elements, with multiplicities, that only this group of its order has.
_SPECTRA = {
    (12, ((1, 1), (2, 3), (3, 8))): ("A", 4),
    (24, ((1, 1), (2, 9), (3, 8), (4, 6))): ("S", 4),
    (24, ((1, 1), (2, 1), (3, 8), (4, 6), (6, 8))): ("SL(2,3)", 0),
    (24, ((1, 1), (2, 7), (3, 8), (6, 8))): ("C2xA4", 0),
    (20, ((1, 1), (2, 5), (4, 10), (5, 4))): ("F", 20),
    (21, ((1, 1), (3, 14), (7, 6))): ("F", 21),
    (42, ((1, 1), (2, 7), (3, 14), (6, 14), (7, 6))): ("F", 42),
}


def group_name(group: PermutationGroup) -> str:
    """A short name (C2xC4, S3, D8, Q8, A5, …), or ``order N`` where none is known."""
    family, number = group_family(group)
    return f"{family}{number}" if number else family


@lru_cache(maxsize=64)
def group_family(group: PermutationGroup) -> Family:
    """The family and number in the name of a group: ``("D", 8)``; of any other the whole name and 0."""
    group = group.compact
    if group.is_trivial:
        return "1", 0
    if group.is_abelian:
        sizes = abelian_invariants(group)
        return ("C", sizes[0]) if len(sizes) == 1 else ("x".join(f"C{size}" for size in sizes), 0)
    degree = sum(len(orbit) for orbit in group.orbits() if len(orbit) > 1)
    if group.order == factorial(degree):
        return "S", degree
    if degree > 3 and 2 * group.order == factorial(degree):
        return "A", degree
    named = _name_by_elements(group) if group.order <= _LISTED else None
    if named is None and not group.is_solvable:
        factors = factors_of(group)
        named = (factors[0], 0) if len(factors) == 1 else None
    return named or (f"order {group.order}", 0)


def abelian_invariants(group: PermutationGroup) -> tuple[int, ...]:
    """The invariant factors d1 | d2 | … of an abelian group: it is the product of their cyclic groups.

    The p-part has as many cyclic factors of exponent > k as p divides the index of the p^(k+1)-th
    powers in the p^k-th powers.
    """
    columns: list[list[int]] = []
    for prime in sorted(set(prime_factors(group.order))):
        sizes: list[int] = []
        upper, lower = group, _powers(group, prime)
        while upper.order > lower.order:
            rank = len(prime_factors(upper.order // lower.order))
            sizes = [size * prime for size in sizes[:rank]] + sizes[rank:] if sizes else [prime] * rank
            upper, lower = lower, _powers(lower, prime)
        columns.append(sizes)
    rank = max(map(len, columns), default=0)
    invariants = [prod(column[i] for column in columns if i < len(column)) for i in range(rank)]
    return tuple(sorted(invariants))


def _powers(group: PermutationGroup, exponent: int) -> PermutationGroup:
    return PermutationGroup([power(generator, exponent) for generator in group.generators], group.degree)


def _name_by_elements(group: PermutationGroup) -> Family | None:
    elements = group.elements(_LISTED)
    orders = Counter(map(order, elements))
    size = len(elements)
    if not group.is_solvable:
        return _NON_SOLVABLE.get(((size, orders[2]), factors_of(group)))
    if size == 6:
        return "S", 3
    if _is_dihedral(group, orders):
        return "D", size
    # A 2-group with one involution is cyclic or generalised quaternion.
    if orders[2] == 1 and size & (size - 1) == 0:
        return "Q", size
    return _SPECTRA.get((size, tuple(sorted(orders.items()))))


def _is_dihedral(group: PermutationGroup, orders: Counter[int]) -> bool:
    """Whether some element of order |G|/2 is inverted by an involution outside the group it generates."""
    half = group.order // 2
    if group.order % 2 or not orders[half] or orders[2] < half:
        return False
    elements = group.elements(_LISTED)
    rotation = next(element for element in elements if order(element) == half)
    rotations = {power(rotation, exponent) for exponent in range(half)}
    one = identity(group.degree)
    return all(compose(element, element) == one for element in elements if element not in rotations)
