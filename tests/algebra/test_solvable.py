"""Towers of counters and prime series of solvable groups against plain products of permutations."""

import random
from itertools import pairwise
from math import prod

import pytest

from algebra import named_groups as named
from every import every
from krohn.algebra.counters import CounterTower, counter_tower, prime_tower
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transformation import Permutation, compose, identity

Letters = list[Permutation]

GROUPS: dict[str, tuple[Letters, tuple[tuple[int, ...], ...]]] = {
    "C6": ([(1, 2, 3, 4, 5, 0)], ((6,),)),
    "C2xC4": ([(1, 0, 2, 3, 4, 5), (0, 1, 3, 4, 5, 2)], ((4, 2),)),
    "S3": ([(1, 2, 0), (1, 0, 2)], ((2,), (3,))),
    "D8": ([(1, 2, 3, 0), (0, 3, 2, 1)], ((2, 2), (2,))),
    "A4": ([(1, 2, 0, 3), (0, 2, 3, 1)], ((3,), (2, 2))),
    "S4": ([(1, 2, 3, 0), (1, 0, 2, 3)], ((2,), (3,), (2, 2))),
    "F20": ([(1, 2, 3, 4, 0), (0, 2, 4, 1, 3)], ((4,), (5,))),
    "trivial": ([(0, 1)], ()),
}


def group_of(name: str) -> PermutationGroup:
    letters = GROUPS[name][0]
    return PermutationGroup(letters, len(letters[0]))


def tower_of(name: str) -> CounterTower:
    group = group_of(name)
    return counter_tower(group.generators, group.degree)


@every("name", GROUPS)
def test_towers_have_one_tuple_of_counters_per_derived_section(name: str) -> None:
    assert tower_of(name).moduli_by_section == GROUPS[name][1]


@every("towers", [counter_tower, prime_tower])
@every("name", GROUPS)
def test_counters_and_letters_of_the_next_section_compute_prefix_products(name: str, towers) -> None:
    group, dice = group_of(name), random.Random(3)
    tower, elements = towers(group.generators, group.degree), group.elements()
    product = identity(tower.degree)
    counters = [tuple(0 for _ in section.moduli) for section in tower.sections]
    for _ in range(60):
        letter = dice.choice(elements)
        product = compose(product, letter)
        for index, section in enumerate(tower.sections):
            counters[index], letter = section.next_letter(counters[index], letter)
        assert letter == identity(tower.degree)
        assert tower.element(tuple(value for part in counters for value in part)) == product


@every("name", GROUPS)
def test_every_tuple_of_counters_stands_for_one_element(name: str) -> None:
    listed = tower_of(name).listed
    assert sorted(element for _, element in listed) == sorted(group_of(name).elements())


@every("name", GROUPS)
def test_the_residues_of_a_section_add_up_and_the_transversal_lies_in_its_coset(name: str) -> None:
    for section in tower_of(name).sections:
        assert all(section.residues[element] == value for value, element in section.transversal.items())
        for first, a in section.residues.items():
            for second, b in section.residues.items():
                total = tuple((x + y) % m for x, y, m in zip(a, b, section.moduli, strict=True))
                assert section.residues[compose(first, second)] == total


def test_the_letter_of_the_next_section_lies_in_the_next_group() -> None:
    below = group_of("S4").derived_series[1]
    section = tower_of("S4").sections[0]
    for counters in section.transversal:
        assert all(below.contains(section.next_letter(counters, element)[1]) for element in section.residues)


@every("name", GROUPS)
def test_a_prime_tower_goes_down_by_primes_through_normal_subgroups(name: str) -> None:
    group = group_of(name)
    tower = prime_tower(group.generators, group.degree)
    assert list(tower.vectors) == group.elements()
    sizes = [len(section.residues) for section in tower.sections] + [1]
    assert sizes[0] == group.order
    for section, (upper, lower) in zip(tower.sections, pairwise(sizes), strict=True):
        (prime,) = section.moduli
        assert upper == lower * prime
        assert all(prime % divisor for divisor in range(2, prime))
        normal = [element for element, residues in section.residues.items() if residues == (0,)]
        assert len(normal) == lower
        assert all(
            section.residues[element] == section.residues[compose(element, inner)]
            for element in section.residues
            for inner in normal
        )


@every("name", GROUPS)
def test_vectors_tell_elements_apart_and_the_identity_is_zero(name: str) -> None:
    group = group_of(name)
    tower = prime_tower(group.generators, group.degree)
    assert len(set(tower.vectors.values())) == group.order
    assert not any(tower.vector(identity(group.degree)))


def times(first: tuple[int, ...], second: tuple[int, ...], primes: tuple[int, ...]) -> tuple[int, ...]:
    """The product in the iterated wreath product: f(x − k₂)·f₂(x) at every x, then k₁ + k₂."""
    if not primes:
        return ()
    prime, width = primes[-1], (len(first) - 1) // primes[-1]
    k = second[-1]
    parts: tuple[int, ...] = ()
    for x in range(prime):
        shifted = (x - k) % prime
        one = first[shifted * width : (shifted + 1) * width]
        parts += times(one, second[x * width : (x + 1) * width], primes[:-1])
    return (*parts, (first[-1] + k) % prime)


@every("name", GROUPS)
def test_vectors_multiply_as_in_the_wreath_product(name: str) -> None:
    """The embedding of Krasner and Kaloujnine is a homomorphism."""
    group = group_of(name)
    tower = prime_tower(group.generators, group.degree)
    primes = tower.moduli[::-1]
    for first, one in tower.vectors.items():
        for second, other in tower.vectors.items():
            assert times(one, other, primes) == tower.vectors[compose(first, second)]


def test_an_element_outside_the_group_has_no_vector() -> None:
    tower = prime_tower([(1, 2, 0, 3)], 4)
    with pytest.raises(KeyError):
        tower.vector((1, 0, 2, 3))


@every("seed", range(30))
def test_towers_of_random_solvable_groups_have_sections_of_the_derived_series(seed: int) -> None:
    generators = named.random_generators(seed, smallest=3, largest=6)
    group = PermutationGroup(generators, len(generators[0]))
    if not group.is_solvable:
        return
    tower = counter_tower(generators, group.degree)
    orders = [part.order for part in group.derived_series]
    assert [prod(moduli) for moduli in tower.moduli_by_section] == [a // b for a, b in pairwise(orders)]
    assert all(low % high == 0 for moduli in tower.moduli_by_section for low, high in pairwise(moduli))
    assert len({element for _, element in tower.listed}) == group.order
    assert tower.moduli == tuple(m for section in tower.sections for m in section.moduli)
