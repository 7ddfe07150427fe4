from math import factorial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import named_groups as named
from every import every
from krohn.algebra.composition import composition_factors
from krohn.algebra.group_names import group_name
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.semiregular import semiregular_order
from krohn.algebra.transformation import commutator, compose

generator_lists = st.integers(2, 6).flatmap(
    lambda n: st.lists(st.permutations(range(n)).map(tuple), min_size=1, max_size=3)
)


def group(generators: named.Generators) -> PermutationGroup:
    return PermutationGroup(generators, len(generators[0]))


def same_group(one: PermutationGroup, other: PermutationGroup) -> bool:
    return one.order == other.order and all(map(one.contains, other.generators))


@settings(max_examples=60, deadline=None)
@given(generator_lists)
def test_order_membership_and_elements_agree_with_brute_force(generators: named.Generators) -> None:
    elements = named.closure(generators)
    subject = group(generators)
    assert subject.order == len(elements)
    assert subject.elements() == sorted(elements)
    members = set(elements)
    for candidate in named.closure(named.symmetric(len(generators[0])))[::7]:
        assert subject.contains(candidate) == (candidate in members)


@settings(max_examples=40, deadline=None)
@given(generator_lists)
def test_only_the_identity_fixes_a_base(generators: named.Generators) -> None:
    base, elements = group(generators).base, named.closure(generators)
    assert len({tuple(element[point] for point in base) for element in elements}) == len(elements)


@settings(max_examples=40, deadline=None)
@given(generator_lists)
def test_the_derived_subgroup_is_generated_by_all_commutators(generators: named.Generators) -> None:
    subject = group(generators)
    elements = named.closure(generators)[:60]
    if subject.order > 60:
        return
    commutators = [commutator(a, b) for a in elements for b in elements]
    assert same_group(subject.derived_subgroup(), PermutationGroup(commutators, subject.degree))


@settings(max_examples=40, deadline=None)
@given(generator_lists, st.data())
def test_a_stabilizer_holds_exactly_the_elements_that_fix_its_points(
    generators: named.Generators, data: st.DataObject
) -> None:
    degree = len(generators[0])
    points = data.draw(st.lists(st.integers(0, degree - 1), unique=True))
    expected = [g for g in named.closure(generators) if all(g[point] == point for point in points)]
    assert group(generators).stabilizer(points).elements() == sorted(expected)


@every(
    ("generators", "order", "name", "factors"),
    [
        ([(0, 1, 2)], 1, "1", ()),
        ([(1, 0)], 2, "C2", ("C2",)),
        ([(1, 2, 3, 4, 5, 0)], 6, "C6", ("C2", "C3")),
        ([(1, 0, 2, 3), (0, 1, 3, 2)], 4, "C2xC2", ("C2", "C2")),
        ([(1, 0, 2, 3, 4, 5), (0, 1, 3, 4, 5, 2)], 8, "C2xC4", ("C2",) * 3),
        (named.symmetric(3), 6, "S3", ("C3", "C2")),
        (named.symmetric(4), 24, "S4", ("C2", "C2", "C3", "C2")),
        (named.regular(named.symmetric(4)), 24, "S4", ("C2", "C2", "C3", "C2")),
        (named.regular(named.alternating(4)), 12, "A4", ("C2", "C2", "C3")),
        ([(1, 2, 3, 0), (0, 3, 2, 1)], 8, "D8", ("C2",) * 3),
        ([(1, 2, 3, 4, 0), (0, 4, 3, 2, 1)], 10, "D10", ("C5", "C2")),
        (named.matrices([[[0, 1], [2, 0]], [[1, 1], [1, 2]]], 3, translate=False), 8, "Q8", ("C2",) * 3),
        (named.matrices(named.SL2, 3, translate=False), 24, "SL(2,3)", ("C2", "C2", "C2", "C3")),
        (named.alternating(5), 60, "A5", ("A5",)),
        (named.regular(named.alternating(5)), 60, "A5", ("A5",)),
        (named.symmetric(5), 120, "S5", ("A5", "C2")),
        (named.regular(named.symmetric(5)), 120, "S5", ("A5", "C2")),
        (named.matrices(named.SL2, 5, translate=False), 120, "SL(2,5)", ("C2", "A5")),
        (named.matrices(named.GL3, 2, translate=False), 168, "PSL(2,7)", ("PSL(2,7)",)),
        (named.matrices(named.GL3, 2, translate=True), 1344, "order 1344", ("C2", "C2", "C2", "PSL(2,7)")),
        (named.matrices(named.SL2, 5, translate=True), 3000, "order 3000", ("C5", "C5", "C2", "A5")),
        (named.mathieu11(), 7920, "M11", ("M11",)),
        (named.symmetric(9), factorial(9), "S9", ("A9", "C2")),
        (named.symmetric(40), factorial(40), "S40", ("A40", "C2")),
    ],
)
def test_well_known_groups_are_recognised(
    generators: named.Generators, order: int, name: str, factors: tuple[str, ...]
) -> None:
    subject = group(generators)
    assert (subject.order, group_name(subject), composition_factors(subject)) == (order, name, factors)
    assert subject.is_solvable == all(factor[0] == "C" for factor in factors)


def test_the_cube_has_the_known_order_and_factors() -> None:
    cube = group(named.cube())
    assert cube.order == named.CUBE_ORDER
    factors = composition_factors(cube)
    assert sorted(factors) == ["A12", "A8"] + ["C2"] * 12 + ["C3"] * 7
    assert not cube.is_solvable
    one_edge_flipped = named.from_cycles("7,18", 48)
    assert not cube.contains(one_edge_flipped)
    assert cube.contains(compose(cube.generators[0], cube.generators[3]))


def test_two_diagonal_copies_of_a_simple_group_are_both_found() -> None:
    elements = named.closure(named.alternating(5))
    index = {element: number for number, element in enumerate(elements)}
    right = named.regular(named.alternating(5))
    left = [tuple(index[compose(g, element)] for element in elements) for g in named.alternating(5)]
    assert composition_factors(group(right + left)) == ("A5", "A5")


def test_degrees_beyond_a_byte_use_arrays() -> None:
    subject = group(named.regular(named.symmetric(6)))
    assert subject.degree == 720
    assert subject.chain.order == 720
    assert all(subject.contains(generator) for generator in subject.generators)
    assert not subject.contains((1, 0, *range(2, 720)))


@pytest.mark.parametrize(
    ("generators", "factors"),
    [(named.symmetric(6), ("A6", "C2")), (named.alternating(7), ("A7",)), (named.symmetric(7), ("A7", "C2"))],
)
def test_groups_acting_on_themselves_need_no_stabilizer_chain(
    generators: named.Generators, factors: tuple[str, ...]
) -> None:
    subject = group(named.regular(generators))
    assert subject.order == subject.degree
    assert composition_factors(subject) == factors
    assert subject.base == (0,)
    derived = subject.derived_subgroup()
    assert derived.order == subject.order // (2 if "C2" in factors else 1)
    assert "chain" not in vars(subject) | vars(derived)
    assert derived.chain.order == derived.order


def test_a_product_acting_on_itself_keeps_both_factors() -> None:
    left = [(*g, 5, 6, 7, 8, 9) for g in named.alternating(5)]
    right = [(0, 1, 2, 3, 4, 5, 6, *(7 + image for image in g)) for g in named.symmetric(3)]
    subject = group(named.regular(left + right))
    assert subject.degree == 360
    assert sorted(composition_factors(subject)) == ["A5", "C2", "C3"]
    assert "chain" not in vars(subject)


@settings(max_examples=60, deadline=None)
@given(generator_lists)
def test_a_group_is_semiregular_exactly_if_only_the_identity_fixes_a_point(
    generators: named.Generators,
) -> None:
    elements = named.closure(generators)
    free = all(all(image != q for q, image in enumerate(g)) for g in elements[1:])
    assert semiregular_order(generators, len(generators[0])) == (len(elements) if free else None)


def test_several_orbits_of_a_semiregular_group_are_compared() -> None:
    two_squares = [(1, 2, 3, 0, 5, 6, 7, 4)]
    assert semiregular_order(two_squares, 8) == 4
    square_and_two_pairs = [(1, 2, 3, 0, 5, 4, 7, 6)]
    assert semiregular_order(square_and_two_pairs, 8) is None


def test_equal_groups_from_different_generators_are_the_same_group() -> None:
    first, second = group(named.alternating(5)), group([(1, 2, 0, 3, 4), (1, 2, 3, 4, 0)])
    assert first != second
    assert same_group(first, second)
    assert not same_group(first, group(named.symmetric(5)))


def test_orders_agree_with_sympy() -> None:
    combinatorics = pytest.importorskip("sympy.combinatorics")
    for generators in (
        named.mathieu11(),
        named.regular(named.symmetric(4)),
        named.regular(named.alternating(5)),
    ):
        expected = combinatorics.PermutationGroup([combinatorics.Permutation(list(g)) for g in generators])
        subject = group(generators)
        assert subject.order == expected.order()
        assert [part.order for part in subject.derived_series] == [
            part.order() for part in expected.derived_series()
        ]


def test_few_generators_of_many_generate_the_same_group_and_decide_it_quickly() -> None:
    """Schreier generators come by the hundred; commutators are taken of a few of them."""
    rng = Random(0)
    many = [tuple(rng.sample(range(6), 6)) for _ in range(676)]
    group = PermutationGroup(many, 6)
    assert len(group.few_generators) <= 9
    assert PermutationGroup(group.few_generators, 6).order == group.order == 720
    assert not group.is_solvable
    assert [part.order for part in group.derived_series] == [720, 360]
