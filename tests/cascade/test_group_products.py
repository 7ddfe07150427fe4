"""Products of groups by their definitions, and the Krasner–Kaloujnine embedding as a homomorphism."""

from itertools import product

import pytest

from krohn.algebra.permgroup import PermutationGroup
from krohn.cascade.group_products import (
    TableGroup,
    cyclic_group,
    direct_product,
    krasner_kaloujnine,
    semidirect_product,
    wreath_product,
)
from krohn.errors import InvalidInput, LimitExceeded


def element_orders(group: TableGroup) -> list[int]:
    orders = []
    for element in range(group.order):
        power, count = element, 1
        while power != group.one:
            power, count = group.table[power][element], count + 1
        orders.append(count)
    return sorted(orders)


def orders_of(generators: list[tuple[int, ...]]) -> list[int]:
    group = PermutationGroup(generators, len(generators[0]))
    return element_orders(TableGroup.from_permutations(group))


def test_the_direct_product_multiplies_side_by_side() -> None:
    group = direct_product(cyclic_group(2), cyclic_group(4))
    for (a, b), (c, d) in product(product(range(2), range(4)), repeat=2):
        assert group.table[a * 4 + b][c * 4 + d] == (a + c) % 2 * 4 + (b + d) % 4


def test_inverting_three_by_two_gives_the_symmetric_group() -> None:
    group = semidirect_product(cyclic_group(3), cyclic_group(2), lambda h, n: -n % 3 if h else n)
    assert element_orders(group) == orders_of([(1, 2, 0), (1, 0, 2)])


def test_inverting_four_by_two_gives_the_dihedral_group_of_order_eight() -> None:
    group = semidirect_product(cyclic_group(4), cyclic_group(2), lambda h, n: -n % 4 if h else n)
    assert element_orders(group) == orders_of([(1, 2, 3, 0), (0, 3, 2, 1)])


def test_an_action_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="group table"):
        semidirect_product(cyclic_group(3), cyclic_group(2), lambda h, n: (n + h) % 3)


def test_the_wreath_product_of_two_by_two_is_the_dihedral_group() -> None:
    group = wreath_product(cyclic_group(2), cyclic_group(2))
    assert element_orders(group) == orders_of([(1, 2, 3, 0), (0, 3, 2, 1)])


def test_the_wreath_product_of_three_by_two_acts_on_six_points() -> None:
    group = wreath_product(cyclic_group(3), cyclic_group(2))
    assert element_orders(group) == orders_of([(1, 2, 0, 3, 4, 5), (3, 4, 5, 0, 1, 2)])


def test_a_product_too_large_to_write_out_is_refused() -> None:
    with pytest.raises(LimitExceeded, match="at most 5000 elements"):
        wreath_product(cyclic_group(5), cyclic_group(6))


@pytest.mark.parametrize(
    ("generators", "normal_order"),
    [
        ([(1, 2, 0), (1, 0, 2)], 3),
        ([(1, 2, 3, 0)], 2),
        ([(1, 2, 3, 0), (0, 3, 2, 1)], 4),
        ([(1, 2, 3, 0, 5, 6, 7, 4), (4, 7, 6, 5, 2, 1, 0, 3)], 4),
    ],
)
def test_krasner_kaloujnine_is_an_injective_homomorphism(
    generators: list[tuple[int, ...]], normal_order: int
) -> None:
    """S3, C4, D8 and Q8: split and non-split extensions alike."""
    permutations = PermutationGroup(generators, len(generators[0]))
    elements = permutations.elements()
    group = TableGroup.from_elements(elements)
    normal = next(
        closed
        for size in (1, 2)
        for chosen in product(elements, repeat=size)
        for closed in [permutations.normal_closure(list(chosen))]
        if closed.order == normal_order
    )
    embedding = krasner_kaloujnine(group, [elements.index(each) for each in normal.elements()])
    wreath = wreath_product(embedding.normal, embedding.quotient)
    images = [embedding.image(element) for element in range(group.order)]
    assert len(set(images)) == group.order
    for a, b in product(range(group.order), repeat=2):
        assert wreath.table[images[a]][images[b]] == images[group.table[a][b]]


def test_a_subgroup_that_is_not_normal_is_refused() -> None:
    group = TableGroup.from_permutations(PermutationGroup([(1, 2, 0), (1, 0, 2)], 3))
    flip = next(g for g in range(6) if g != group.one and group.table[g][g] == group.one)
    with pytest.raises(InvalidInput, match="must be normal"):
        krasner_kaloujnine(group, [group.one, flip])
    with pytest.raises(InvalidInput, match="closed under products"):
        krasner_kaloujnine(group, [flip])


@pytest.mark.parametrize("table", [((0, 0), (1, 1)), ((1, 0), (1, 0)), ((0, 1, 2), (1, 0, 2), (2, 1, 0))])
def test_tables_that_are_no_groups_are_refused(table: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(InvalidInput, match="a group table must"):
        TableGroup(table)
