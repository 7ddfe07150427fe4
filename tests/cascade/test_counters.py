"""Modular counters and memory units against plain products of permutations."""

import random
from itertools import pairwise

import pytest

from cascade.random_automata import golden
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.permutation import compose, identity
from krohn.cascade.counters import composition_series, counter_tower, section_fault
from krohn.cascade.holonomy import decompose
from krohn.cascade.permutation_reset import refine
from krohn.errors import Unsupported

GROUPS = {
    "C6": ([(1, 2, 3, 4, 5, 0)], ((6,),)),
    "C2xC4": ([(1, 0, 2, 3, 4, 5), (0, 1, 3, 4, 5, 2)], ((4, 2),)),
    "S3": ([(1, 2, 0), (1, 0, 2)], ((2,), (3,))),
    "D8": ([(1, 2, 3, 0), (0, 3, 2, 1)], ((2, 2), (2,))),
    "A4": ([(1, 2, 0, 3), (0, 2, 3, 1)], ((3,), (2, 2))),
    "S4": ([(1, 2, 3, 0), (1, 0, 2, 3)], ((2,), (3,), (2, 2))),
    "trivial": ([(0, 1)], ()),
}


def make(name: str) -> PermutationGroup:
    generators = GROUPS[name][0]
    return PermutationGroup(generators, len(generators[0]))


@pytest.mark.parametrize("name", GROUPS)
def test_towers_have_one_layer_per_derived_section(name: str) -> None:
    tower = counter_tower(make(name))
    assert tower.moduli == GROUPS[name][1]


@pytest.mark.parametrize("name", GROUPS)
def test_counters_compute_prefix_products(name: str) -> None:
    group = make(name)
    rng = random.Random(3)
    elements = group.elements()
    word = [rng.choice(elements) for _ in range(60)]
    product, expected = identity(group.degree), []
    for element in word:
        product = compose(product, element)
        expected.append(product)
    assert counter_tower(group).prefix_products(word) == expected


def test_the_cocycle_lies_in_the_next_group() -> None:
    tower = counter_tower(make("S4"))
    below = make("S4").derived_series()[1]
    section = tower.sections[0]
    for counters in section.transversal:
        for element in section.coordinates:
            assert below.contains(section.cocycle(counters, element))


def test_a_broken_section_is_named() -> None:
    section = counter_tower(make("S3")).sections[0]
    broken = dict(section.coordinates)
    broken[1, 2, 0] = (1,)
    with pytest.raises(AssertionError, match="not the sum"):
        type(section)(section.moduli, broken, section.transversal, section.basis)
    assert section_fault(section) == ""


def test_a_wrong_transversal_is_named() -> None:
    section = counter_tower(make("S3")).sections[0]
    swapped = {(0,): section.transversal[1,], (1,): section.transversal[0,]}
    with pytest.raises(AssertionError, match="lies in the coset"):
        type(section)(section.moduli, section.coordinates, swapped, section.basis)


def test_unsolvable_groups_are_refused_with_their_factors() -> None:
    with pytest.raises(Unsupported, match="A5"):
        counter_tower(PermutationGroup([(1, 2, 3, 4, 0), (1, 0, 2, 3, 4)], 5))


@pytest.mark.parametrize("name", GROUPS)
def test_composition_series_go_down_by_primes_through_normal_subgroups(name: str) -> None:
    series = composition_series(make(name))
    assert series[0].same_group(make(name))
    assert series[-1].is_trivial
    for upper, lower in pairwise(series):
        index = upper.order // lower.order
        assert index > 1
        assert all(index % divisor for divisor in range(2, index))
        assert upper.contains_group(lower)
        assert upper.normal_closure(lower.generators).order == lower.order


def test_refinement_lists_counters_and_memories_by_level() -> None:
    refined = refine(decompose(golden("T4")))
    assert [part.counters for part in refined] == [((2,), (3,), (2, 2)), ((2,), (3,)), ((2,),)]
    assert [part.memory for part in refined] == [4, 3, 2]
    assert refined[0].factors == ("C2", "C2", "C3", "C2")


def test_refinement_of_an_unsolvable_component_gives_its_factors() -> None:
    (part,) = refine(decompose(golden("reg_A5")))
    assert part.counters is None
    assert part.factors == ("A5",)
    assert part.memory is None
