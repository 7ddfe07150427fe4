"""The derived length of a group, against commutators that are listed one by one."""

from random import Random

from every import every
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transformation import Permutation, compose, identity, inverse
from krohn.cascade.holonomy import UNSOLVABLE_LAYERS, derived_length


def closure(generators: list[Permutation], degree: int) -> set[Permutation]:
    result = {identity(degree)}
    while True:
        more = {compose(x, g) for x in result for g in generators} - result
        if not more:
            return result
        result |= more


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


@every("seed", range(12))
def test_the_derived_length_counts_commutator_subgroups(seed: int) -> None:
    random = Random(seed)
    degree = random.randint(2, 4) if seed else 5
    generators = [tuple(random.sample(range(degree), degree)) for _ in range(2)]
    if not seed:
        generators = [(1, 2, 3, 4, 0), (1, 2, 0, 3, 4)]  # A5, which has no abelian section
    elements = closure(generators, degree)
    assert derived_length(PermutationGroup(generators, degree)) == naive_derived_length(elements, degree)
