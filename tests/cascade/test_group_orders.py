"""Orders by quick tests and few generators, against groups that are listed element by element."""

from math import factorial
from random import Random

from every import every
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.permutation import Permutation, compose, identity, inverse
from krohn.cascade.group_order import (
    UNSOLVABLE_LAYERS,
    derived_length,
    group_order,
    is_symmetric,
    small_generating_set,
)


def closure(generators: list[Permutation], degree: int) -> set[Permutation]:
    result = {identity(degree)}
    while True:
        more = {compose(x, g) for x in result for g in generators} - result
        if not more:
            return result
        result |= more


def random_generators(seed: int) -> tuple[list[Permutation], int]:
    """Few or many, often in a proper subgroup: powers and products of the same elements."""
    random = Random(seed)
    degree = random.randint(2, 6)
    some = [tuple(random.sample(range(degree), degree)) for _ in range(random.randint(1, 2))]
    for _ in range(random.randint(0, 3)):
        some.append(compose(random.choice(some), random.choice(some)))
    if random.random() < 0.4:
        some = [compose(x, x) for x in some]
    return some, degree


def naive_derived_length(elements: set[Permutation], degree: int) -> int:
    length = 0
    while len(elements) > 1:
        commutators = {
            compose(compose(inverse(x), inverse(y)), compose(x, y)) for x in elements for y in elements
        }
        smaller = closure(sorted(commutators), degree)
        if len(smaller) == len(elements):
            return UNSOLVABLE_LAYERS
        elements, length = smaller, length + 1
    return length


@every("seed", range(40))
def test_orders_are_those_of_the_listed_group(seed: int) -> None:
    generators, degree = random_generators(seed)
    elements = closure(generators, degree)
    assert group_order(generators, degree) == len(elements)
    if is_symmetric(generators, degree):  # it may miss one, but never claims too much
        assert len(elements) == factorial(degree)


@every("seed", range(40))
def test_few_generators_give_the_same_group(seed: int) -> None:
    generators, degree = random_generators(seed)
    kept = small_generating_set(generators, degree)
    assert len(kept) <= max(2, len(generators))
    assert closure(list(kept), degree) == closure(generators, degree)


@every("seed", range(12))
def test_the_derived_length_counts_commutator_subgroups(seed: int) -> None:
    random = Random(seed)
    degree = random.randint(2, 4) if seed else 5
    generators = [tuple(random.sample(range(degree), degree)) for _ in range(2)]
    if not seed:
        generators = [(1, 2, 3, 4, 0), (1, 2, 0, 3, 4)]  # A5, which has no abelian section
    elements = closure(generators, degree)
    assert derived_length(PermutationGroup(generators, degree)) == naive_derived_length(elements, degree)


def test_a_group_beyond_the_listing_has_its_order_by_a_chain() -> None:
    """S6 × S6 on 12 points, far beyond what is listed, without a transposition that connects all."""
    swap, cycle = (1, 0, 2, 3, 4, 5), (1, 2, 3, 4, 5, 0)
    generators = [(*g, *range(6, 12)) for g in (swap, cycle)]
    generators += [(*range(6), *(6 + x for x in g)) for g in (swap, cycle)]
    assert not is_symmetric(generators, 12)
    assert group_order(generators, 12) == factorial(6) ** 2
