"""Blocks, kernels, quotients and invariants of small groups, each against its definition."""

from itertools import combinations, pairwise
from math import gcd, lcm, prod

from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import named_groups as named
from every import every
from krohn.algebra.group_names import abelian_invariants
from krohn.algebra.permgroup import (
    PermutationGroup,
    action_on,
    action_on_blocks,
    action_on_cosets,
    block_system,
    kernel_on_blocks,
)
from krohn.algebra.transformation import Permutation, compose, order, power
from krohn.automata.quotients import finest_congruence

generator_lists = st.integers(2, 6).flatmap(
    lambda n: st.lists(st.permutations(range(n)).map(tuple), min_size=1, max_size=2)
)


def group(generators: named.Generators) -> PermutationGroup:
    return PermutationGroup(generators, len(generators[0]))


def is_invariant(labels: tuple[int, ...], elements: list[Permutation]) -> bool:
    """Points of one block have images in one block."""
    pairs = [(p, q) for p, q in combinations(range(len(labels)), 2) if labels[p] == labels[q]]
    return all(labels[g[p]] == labels[g[q]] for g in elements for p, q in pairs)


def partitions(degree: int) -> list[tuple[int, ...]]:
    """Every partition as block numbers in order of first occurrence."""
    result: list[tuple[int, ...]] = [()]
    for _ in range(degree):
        result = [(*row, label) for row in result for label in range(max(row, default=-1) + 2)]
    return result


@settings(max_examples=40, deadline=None)
@given(generator_lists)
def test_least_blocks_are_the_finest_invariant_partition_that_joins_two_points(
    generators: named.Generators,
) -> None:
    elements, degree = named.closure(generators), len(generators[0])
    invariant = [row for row in partitions(degree) if is_invariant(row, elements)]
    for point in range(1, degree):
        result = finest_congruence(generators, [(0, point)])
        joining = [row for row in invariant if row[0] == row[point]]
        assert result in joining
        assert all(
            row[p] == row[q]
            for row in joining
            for p, q in combinations(range(degree), 2)
            if result[p] == result[q]
        )


@settings(max_examples=40, deadline=None)
@given(generator_lists)
def test_a_transitive_group_is_primitive_exactly_if_no_partition_but_two_is_invariant(
    generators: named.Generators,
) -> None:
    subject, degree = group(generators), len(generators[0])
    if len(subject.orbits()) > 1:
        return
    elements = named.closure(generators)
    inner = [row for row in partitions(degree) if 0 < max(row) < degree - 1 and is_invariant(row, elements)]
    result = block_system(subject)
    assert (result is None) == (not inner)
    if result is not None:
        assert result in inner
        kernel = [g for g in elements if all(result[g[p]] == result[p] for p in range(degree))]
        assert kernel_on_blocks(subject, result).elements() == sorted(kernel)
        assert action_on_blocks(subject, result).order * len(kernel) == len(elements)


@settings(max_examples=30, deadline=None)
@given(generator_lists)
def test_a_quotient_multiplies_as_the_cosets_do(generators: named.Generators) -> None:
    subject = group(generators)
    normal = subject.derived_subgroup()
    quotient = action_on_cosets(subject, normal)
    cosets = {frozenset(compose(n, g) for n in normal.elements()) for g in subject.elements()}
    assert quotient.order == quotient.degree == len(cosets)
    assert quotient.is_abelian
    members = set(normal.elements())
    for exponent in range(1, quotient.order + 1):
        inside = sum(power(g, exponent) in members for g in subject.elements())
        killed = sum(exponent % order(g) == 0 for g in quotient.elements())
        assert inside == killed * normal.order


@settings(max_examples=30, deadline=None)
@given(generator_lists)
def test_the_action_on_an_orbit_is_the_group_seen_there(generators: named.Generators) -> None:
    subject = group(generators)
    for orbit in subject.orbits():
        seen = {tuple(orbit.index(g[point]) for point in orbit) for g in subject.elements()}
        assert action_on(subject, orbit).elements() == sorted(seen)


@every("moduli", [(2,), (6,), (2, 2), (2, 4), (3, 3), (2, 2, 3), (4, 6), (2, 3, 5), (2, 2, 2), (4, 4)])
def test_invariants_of_a_product_of_cyclic_groups(moduli: tuple[int, ...]) -> None:
    starts = [sum(moduli[:i]) for i in range(len(moduli))]
    degree = sum(moduli)
    generators = []
    for start, modulus in zip(starts, moduli, strict=True):
        images = list(range(degree))
        images[start : start + modulus] = [start + (k + 1) % modulus for k in range(modulus)]
        generators.append(tuple(images))
    subject = group(generators)
    result = abelian_invariants(subject)
    assert prod(result) == subject.order == prod(moduli)
    assert all(b % a == 0 for a, b in pairwise(result))
    # Such numbers are unique, and the largest is the exponent; how many elements each power kills decides.
    assert result[-1] == lcm(*moduli)
    for exponent in range(1, result[-1] + 1):
        killed = sum(exponent % order(g) == 0 for g in subject.elements())
        assert killed == prod(gcd(exponent, d) for d in result)
