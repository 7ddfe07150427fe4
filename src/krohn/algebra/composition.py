"""Composition factors of any permutation group, solvable or not, from the bottom of a series up.

The derived series splits off the solvable top. What remains is perfect; it is split by its action
on an orbit or on blocks until it is primitive. A primitive perfect group is an alternating group in
its natural action, or affine, or has another proper normal subgroup that powers of random elements
find, or is simple and named by its order.
"""

from collections import Counter
from functools import lru_cache
from itertools import pairwise
from math import factorial, gcd
from random import Random

from krohn.algebra.permgroup import (
    PermutationGroup,
    action_on,
    action_on_blocks,
    action_on_cosets,
    block_system,
    kernel_on_blocks,
)
from krohn.algebra.simple_groups import KNOWN_ORDERS, is_simple_order, simple_group_name
from krohn.algebra.transformation import order, power, prime_factors


@lru_cache(maxsize=64)
def composition_factors(group: PermutationGroup) -> tuple[str, ...]:
    """The simple factors from the bottom of a composition series up: S4 gives C2, C2, C3, C2."""
    return factors_of(group.compact)


def factors_of(group: PermutationGroup) -> tuple[str, ...]:
    """The simple factors of a group as it acts, from the bottom of a series up."""
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
        below = () if image.order == group.order else factors_of(group.stabilizer(moved[0]))
        return below + factors_of(image)
    labels = block_system(group)
    if labels is not None:
        image = action_on_blocks(group, labels)
        below = () if image.order == group.order else factors_of(kernel_on_blocks(group, labels))
        return below + factors_of(image)
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
        return factors_of(normal) + factors_of(group.stabilizer([0]))
    return factors_of(normal) + factors_of(action_on_cosets(group, normal))


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
    return degree < KNOWN_ORDERS and not _is_proper_power(degree) and not is_simple_order(degree)


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
