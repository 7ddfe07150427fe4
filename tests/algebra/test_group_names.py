"""Names of groups: the same name means the same group, and textbook facts about simple groups."""

from collections import Counter
from itertools import product
from math import prod

import pytest

from algebra import named_groups as named
from every import every
from krohn.algebra.composition import composition_factors
from krohn.algebra.group_names import group_name
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.simple_groups import is_simple_order, simple_group_name
from krohn.algebra.transformation import compose, order, prime_factors

SIMPLE_BELOW_10000 = {
    60: "A5",
    168: "PSL(2,7)",
    360: "A6",
    504: "PSL(2,8)",
    660: "PSL(2,11)",
    1092: "PSL(2,13)",
    2448: "PSL(2,17)",
    2520: "A7",
    3420: "PSL(2,19)",
    4080: "PSL(2,16)",
    5616: "PSL(3,3)",
    6048: "PSU(3,3)",
    6072: "PSL(2,23)",
    7800: "PSL(2,25)",
    7920: "M11",
    9828: "PSL(2,27)",
}
"""The orders of all non-abelian simple groups below 10,000 (Dickson 1901; one group each)."""


def group(generators: named.Generators) -> PermutationGroup:
    return PermutationGroup(generators, len(generators[0]))


def affine(modulus: int, multipliers: list[int]) -> named.Generators:
    """x ↦ x + 1 and x ↦ m·x on the integers mod n."""
    turn = tuple((x + 1) % modulus for x in range(modulus))
    return [turn, *(tuple(m * x % modulus for x in range(modulus)) for m in multipliers)]


def side_by_side(first: named.Generators, second: named.Generators) -> named.Generators:
    """The direct product, on the points of both."""
    left, right = len(first[0]), len(second[0])
    return [(*g, *range(left, left + right)) for g in first] + [
        (*range(left), *(left + image for image in g)) for g in second
    ]


def of_matrices(matrices: list[tuple[complex, ...]]) -> named.Generators:
    """The regular action of the group of 2 × 2 matrices of small Gaussian integers."""

    def times(x: tuple[complex, ...], y: tuple[complex, ...]) -> tuple[complex, ...]:
        return (
            x[0] * y[0] + x[1] * y[2],
            x[0] * y[1] + x[1] * y[3],
            x[2] * y[0] + x[3] * y[2],
            x[2] * y[1] + x[3] * y[3],
        )

    elements: list[tuple[complex, ...]] = [(1, 0, 0, 1)]
    for element in elements:
        elements += [result for m in matrices if (result := times(element, m)) not in elements]
    return [tuple(elements.index(times(element, m)) for element in elements) for m in matrices]


Q8 = of_matrices([(1j, 0, 0, -1j), (0, 1, -1, 0)])
DICYCLIC12 = named.regular([(1, 2, 0, 3, 4, 5, 6), (1, 0, 2, 4, 5, 6, 3)])

NAMED = {
    "C2xC2xC2": side_by_side(side_by_side([(1, 0)], [(1, 0)]), [(1, 0)]),
    "C3xC3": side_by_side([(1, 2, 0)], [(1, 2, 0)]),
    "C2xC6": side_by_side([(1, 0)], affine(6, [])),
    "S3": affine(3, [2]),
    "D12": side_by_side(affine(3, [2]), [(1, 0)]),
    "D14": affine(7, [6]),
    "D16": affine(8, [7]),
    "Q8": Q8,
    "F20": affine(5, [2]),
    "F21": affine(7, [2]),
    "F42": affine(7, [3]),
    "C2xA4": side_by_side(named.alternating(4), [(1, 0)]),
    "S4": named.regular(named.symmetric(4)),
    "A6": named.alternating(6),
    "order 16": affine(8, [3]),  # semidihedral: half of the reflections have order 4
    "order 12": DICYCLIC12,
    "order 18": side_by_side(affine(3, [2]), [(1, 2, 0)]),
    "order 120": side_by_side(named.alternating(5), [(1, 0)]),  # neither S5 nor SL(2,5)
}


@every("name", NAMED)
def test_groups_written_down_by_hand_have_their_names_in_every_action(name: str) -> None:
    assert group_name(group(NAMED[name])) == name
    if group(NAMED[name]).order <= 60:
        assert group_name(group(named.regular(NAMED[name]))) == name


def spectrum(generators: named.Generators) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(Counter(map(order, named.closure(generators))).items()))


def test_a_name_that_is_given_to_two_groups_is_given_to_one() -> None:
    """Many subgroups of S6: equal names go with equal numbers of elements of each order."""
    seen: dict[str, tuple[tuple[int, int], ...]] = {}
    for seed in range(150):
        generators = named.random_generators(seed, largest=6)
        name = group_name(group(generators))
        if not name.startswith("order"):
            assert seen.setdefault(name, spectrum(generators)) == spectrum(generators)
    assert len(seen) >= 12


def test_the_table_of_simple_orders_is_the_one_in_the_books() -> None:
    assert {n for n in range(2, 10_000) if is_simple_order(n)} == set(SIMPLE_BELOW_10000)
    for other in (20160, 25920, 29120, 95040, 443520):
        assert is_simple_order(other)


def fractions(prime: int) -> named.Generators:
    """PSL(2, p) on the projective line: x ↦ x + 1 and x ↦ −1/x; the last point is infinity."""
    shift = (*((x + 1) % prime for x in range(prime)), prime)
    swap = [0] * (prime + 1)
    swap[0], swap[prime] = prime, 0
    for x in range(1, prime):
        swap[x] = -pow(x, -1, prime) % prime
    return [shift, tuple(swap)]


@pytest.mark.parametrize("prime", [5, 7, 11, 13, 17, 19, 23])
def test_fractional_linear_maps_are_the_simple_groups_of_their_orders(prime: int) -> None:
    subject = group(fractions(prime))
    assert subject.order == prime * (prime**2 - 1) // 2
    assert composition_factors(subject) == (SIMPLE_BELOW_10000[subject.order],)
    assert group_name(subject) == SIMPLE_BELOW_10000[subject.order]


def plane_over_four() -> named.Generators:
    """PSL(3, 4) on the 21 points of the projective plane over GF(4) = {0, 1, w, w + 1} as 0 … 3."""
    times = [[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]]

    def normal(v: tuple[int, ...]) -> tuple[int, ...]:
        first = next(x for x in v if x)
        return tuple(times[times[first].index(1)][x] for x in v)

    points = sorted({normal(v) for v in product(range(4), repeat=3) if any(v)})
    turn = tuple(points.index(normal((v[1], v[2], v[0]))) for v in points)
    shears = [
        tuple(points.index(normal((v[0] ^ times[s][v[1]], v[1], v[2]))) for v in points) for s in (1, 2)
    ]
    return [turn, *shears]


def test_the_two_simple_groups_of_order_20160_are_distinguished() -> None:
    plane, alternating = group(plane_over_four()), group(named.alternating(8))
    assert plane.order == alternating.order == 20160
    assert (simple_group_name(plane), simple_group_name(alternating)) == ("PSL(3,4)", "A8")
    assert composition_factors(plane) == ("PSL(3,4)",)


@pytest.mark.parametrize(
    ("generators", "factors"),
    [
        (side_by_side(named.alternating(5), named.alternating(6)), ["A5", "A6"]),
        (side_by_side(named.symmetric(5), named.symmetric(3)), ["A5", "C2", "C2", "C3"]),
        (
            [*side_by_side(named.alternating(5), named.alternating(5)), (5, 6, 7, 8, 9, 0, 1, 2, 3, 4)],
            ["A5", "A5", "C2"],
        ),
        (named.matrices([[[1, 1], [0, 1]], [[0, 1], [1, 0]]], 2, translate=True), ["C2", "C2", "C2", "C3"]),
    ],
)
def test_products_and_wreath_products_have_the_factors_of_their_parts(
    generators: named.Generators, factors: list[str]
) -> None:
    assert sorted(composition_factors(group(generators))) == factors


@every("seed", range(40))
def test_factors_multiply_to_the_order_and_those_of_solvable_groups_are_its_primes(seed: int) -> None:
    subject = group(named.random_generators(seed, smallest=3, largest=7))
    result = composition_factors(subject)
    orders = {"A5": 60, "A6": 360, "A7": 2520, "PSL(2,7)": 168}
    assert prod(orders[f] if f in orders else int(f[1:]) for f in result) == subject.order
    if subject.is_solvable:
        assert sorted(result) == sorted(f"C{p}" for p in prime_factors(subject.order))


@pytest.mark.parametrize("name", [name for name in NAMED if name != "order 120"])
def test_a_group_on_many_points_is_compared_on_few(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done for more than 256 points, done here for more than four."""
    generators = named.regular(NAMED[name]) if group(NAMED[name]).order <= 60 else NAMED[name]
    monkeypatch.setattr("krohn.algebra.permgroup.LARGE_DEGREE", 4)
    subject = group(generators)
    small = subject.compact
    assert small.degree <= subject.degree
    assert spectrum(list(small.generators)) == spectrum(generators)
    assert group_name(subject) == name
    assert small.is_abelian == all(compose(a, b) == compose(b, a) for a in generators for b in generators)
