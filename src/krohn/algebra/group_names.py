"""Composition factors and short names of permutation groups."""

from collections import Counter
from functools import cache, lru_cache
from itertools import pairwise
from math import factorial, gcd, prod
from random import Random

from krohn.algebra.permgroup import (
    PermutationGroup,
    action_on,
    action_on_blocks,
    action_on_cosets,
    block_system,
    kernel_on_blocks,
)
from krohn.algebra.transformation import compose, identity, order, power, prime_factors

# Names of finite simple groups by their orders: alternating, classical, Suzuki and small sporadic.


_SPORADIC = {
    "M11": 7920,
    "M12": 95040,
    "J1": 175560,
    "M22": 443520,
    "J2": 604800,
    "M23": 10200960,
    "HS": 44352000,
    "J3": 50232960,
    "M24": 244823040,
    "McL": 898128000,
}
_PRIME_POWERS = [q for q in range(2, 129) if len(set(prime_factors(q))) == 1]


def simple_group_name(group: PermutationGroup) -> str:
    """The name of a simple group; ``Simple(N)`` if its order N is not in the table."""
    if group.order == 20160:
        # The only order up to 10⁸ with two simple groups: A8 has no subgroup of index 21, and only A8 has
        # elements of order 6 and 15.
        plane = group.degree == 21 or not _has_element_of_order(group, (6, 15))
        return "PSL(3,4)" if plane else "A8"
    return _names_by_order().get(group.order, f"Simple({group.order})")


def is_simple_order(number: int) -> bool:
    """Whether the table has a non-abelian simple group of this order; it is complete below a million."""
    return number in _names_by_order()


def _has_element_of_order(group: PermutationGroup, orders: tuple[int, ...]) -> bool:
    rng = Random(0)
    chain = group.chain
    return any(order(chain.unpack(chain.random_element(rng))) in orders for _ in range(200))


@cache
def _names_by_order() -> dict[int, str]:
    """First name wins, so that A5 is not PSL(2,5) and PSL(2,7) is not PSL(3,2)."""
    names: dict[int, str] = {}
    for degree in range(5, 60):
        names.setdefault(factorial(degree) // 2, f"A{degree}")
    for q in _PRIME_POWERS:
        if q > 3:
            names.setdefault(_linear_order(2, q), f"PSL(2,{q})")
    for dimension in (3, 4, 5, 6):
        for q in _PRIME_POWERS[:10]:
            names.setdefault(_linear_order(dimension, q), f"PSL({dimension},{q})")
    for dimension in (3, 4, 5):
        for q in _PRIME_POWERS[:8]:
            if (dimension, q) != (3, 2):
                names.setdefault(_unitary_order(dimension, q), f"PSU({dimension},{q})")
    for q in _PRIME_POWERS[1:8]:
        symplectic = q**4 * (q**2 - 1) * (q**4 - 1) // gcd(2, q - 1)
        names.setdefault(symplectic, f"PSp(4,{q})")
    names.setdefault(29120, "Sz(8)")
    names.setdefault(1451520, "PSp(6,2)")
    for name, size in _SPORADIC.items():
        names.setdefault(size, name)
    return names


def _linear_order(dimension: int, q: int) -> int:
    size: int = q ** (dimension * (dimension - 1) // 2) * prod(q**i - 1 for i in range(2, dimension + 1))
    return size // gcd(dimension, q - 1)


def _unitary_order(dimension: int, q: int) -> int:
    size: int = q ** (dimension * (dimension - 1) // 2)
    size *= prod(q**i - (-1) ** i for i in range(2, dimension + 1))
    return size // gcd(dimension, q + 1)


# Composition factors of any permutation group, solvable or not, from the bottom of a series up.
#
# The derived series splits off the solvable top. What remains is perfect; it is split by its action
# on an orbit or on blocks until it is primitive. A primitive perfect group is an alternating group in
# its natural action, or affine, or has another proper normal subgroup that powers of random elements
# find, or is simple and named by its order.


@lru_cache(maxsize=64)
def composition_factors(group: PermutationGroup) -> tuple[str, ...]:
    """The simple factors from the bottom of a composition series up: S4 gives C2, C2, C3, C2."""
    return _factors(group.compact)


def _factors(group: PermutationGroup) -> tuple[str, ...]:
    if group.is_abelian:
        return _cyclic_factors(group.order)
    series = group.derived_series
    factors = () if series[-1].is_trivial else _perfect_factors(series[-1])
    for upper, lower in reversed(list(pairwise(series))):
        factors += _cyclic_factors(upper.order // lower.order)
    return factors


def _cyclic_factors(number: int) -> tuple[str, ...]:
    return tuple(f"C{prime}" for prime in prime_factors(number))


def _perfect_factors(group: PermutationGroup) -> tuple[str, ...]:
    """Factors of a non-trivial perfect group."""
    moved = [orbit for orbit in group.orbits() if len(orbit) > 1]
    if len(moved) > 1 or len(moved[0]) < group.degree:
        image = action_on(group, moved[0])
        below = () if image.order == group.order else _factors(group.stabilizer(moved[0]))
        return below + _factors(image)
    labels = block_system(group)
    if labels is not None:
        image = action_on_blocks(group, labels)
        below = () if image.order == group.order else _factors(kernel_on_blocks(group, labels))
        return below + _factors(image)
    return _primitive_factors(group)


def _primitive_factors(group: PermutationGroup) -> tuple[str, ...]:
    """Factors of a primitive perfect group."""
    if group.order == factorial(group.degree) // 2:
        return (f"A{group.degree}",)
    if _must_be_simple(group):
        return (simple_group_name(group),)
    normal = _proper_normal_subgroup(group)
    if normal is None:
        return (simple_group_name(group),)
    if normal.is_abelian:
        # An abelian normal subgroup of a primitive group is regular; the point stabiliser complements it.
        return _factors(normal) + _factors(group.stabilizer([0]))
    return _factors(normal) + _factors(action_on_cosets(group, normal))


def _must_be_simple(group: PermutationGroup) -> bool:
    """Whether a primitive perfect group can only be simple, by its degree and order.

    By the theorem of O'Nan and Scott it is affine, of degree p^d, or has a socle of several factors, of
    degree m^k or a power of the order of a simple group (then at least 25), or is almost simple, and then
    simple, because outer automorphisms of simple groups form solvable groups. Affine and perfect need d > 1.
    Up to degree 24 the perfect affine ones have degree 8 or 16, and no simple group has their orders.
    """
    degree = group.degree
    if degree < 25:
        return is_simple_order(group.order)
    return degree < _KNOWN_ORDERS and not _is_proper_power(degree) and not is_simple_order(degree)


def _is_proper_power(number: int) -> bool:
    """Whether the number is m^k for some k > 1."""
    return gcd(*Counter(prime_factors(number)).values()) > 1


def _proper_normal_subgroup(group: PermutationGroup) -> PermutationGroup | None:
    """A proper normal subgroup, sought as the normal closure of elements of prime order."""
    rng = Random(0)
    for _ in range(40):
        element = group.chain.unpack(group.chain.random_element(rng))
        exponent = order(element)
        for prime in sorted(set(prime_factors(exponent))):
            closure = group.normal_closure([power(element, exponent // prime)])
            if closure.order < group.order:
                return closure
    return None


# Short names of small groups, found by invariants that determine them.


_KNOWN_ORDERS = 1_000_000  # the table of simple groups is complete below this order
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
        factors = _factors(group)
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
        return _NON_SOLVABLE.get(((size, orders[2]), _factors(group)))
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
