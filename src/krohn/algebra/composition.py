"""Composition factors of any permutation group, solvable or not, from the bottom of a series up.

The derived series splits off the solvable top. What remains is perfect; it is split by its action
on an orbit or on blocks until it is primitive. A primitive perfect group is an alternating group in
its natural action, or affine, or has another proper normal subgroup that powers of random elements
find, or is simple and named by its order.
"""

from itertools import pairwise
from math import factorial, isqrt
from random import Random

from krohn.algebra.generated_group import GeneratedGroup
from krohn.algebra.group_actions import (
    action_on,
    action_on_blocks,
    action_on_cosets,
    block_system,
    kernel_on_blocks,
)
from krohn.algebra.permutation import order, power
from krohn.algebra.simple_groups import simple_group_name


def composition_factors(group: GeneratedGroup) -> tuple[str, ...]:
    """The names of the simple factors, bottom of the series first; the trivial group has none."""
    if group.is_abelian:
        return _cyclic_factors(group.order)
    series = group.derived_series()
    factors = () if series[-1].is_trivial else _perfect_factors(series[-1])
    for upper, lower in reversed(list(pairwise(series))):
        factors += _cyclic_factors(upper.order // lower.order)
    return factors


def prime_factors(number: int) -> list[int]:
    """The prime factors in increasing order, repeated as often as they divide."""
    factors = []
    for prime in range(2, isqrt(number) + 1):
        while number % prime == 0:
            factors.append(prime)
            number //= prime
        if prime * prime > number:
            break
    return factors + ([number] if number > 1 else [])


def _cyclic_factors(number: int) -> tuple[str, ...]:
    return tuple(f"C{prime}" for prime in prime_factors(number))


def _perfect_factors(group: GeneratedGroup) -> tuple[str, ...]:
    """Factors of a non-trivial perfect group."""
    moved = [orbit for orbit in group.orbits() if len(orbit) > 1]
    if len(moved) > 1 or len(moved[0]) < group.degree:
        image = action_on(group, moved[0])
        below = () if image.order == group.order else composition_factors(group.stabilizer(moved[0]))
        return below + composition_factors(image)
    labels = block_system(group)
    if labels is not None:
        image = action_on_blocks(group, labels)
        below = () if image.order == group.order else composition_factors(kernel_on_blocks(group, labels))
        return below + composition_factors(image)
    return _primitive_factors(group)


def _primitive_factors(group: GeneratedGroup) -> tuple[str, ...]:
    """Factors of a primitive perfect group."""
    if group.order == factorial(group.degree) // 2:
        return (f"A{group.degree}",)
    normal = _proper_normal_subgroup(group)
    if normal is None:
        return (simple_group_name(group),)
    if normal.is_abelian:
        # An abelian normal subgroup of a primitive group is regular; the point stabiliser complements it.
        return composition_factors(normal) + composition_factors(group.stabilizer([0]))
    return composition_factors(normal) + composition_factors(action_on_cosets(group, normal))


def _proper_normal_subgroup(group: GeneratedGroup, tries: int = 40) -> GeneratedGroup | None:
    """A proper normal subgroup, sought as the normal closure of elements of prime order."""
    rng = Random(0)
    for _ in range(tries):
        element = group.chain.numbers.unpack(group.chain.random_element(rng))
        exponent = order(element)
        for prime in sorted(set(prime_factors(exponent))):
            closure = group.normal_closure([power(element, exponent // prime)])
            if closure.order < group.order:
                return closure
    return None
