from hypothesis import given
from hypothesis import strategies as st

from krohn.algebra import transformation as perm
from krohn.algebra.packed import ByteRows, TupleRows

permutations = st.integers(1, 9).flatmap(lambda n: st.permutations(range(n))).map(tuple)
pairs = st.integers(1, 9).flatmap(
    lambda n: st.tuples(st.permutations(range(n)).map(tuple), st.permutations(range(n)).map(tuple))
)


def test_the_product_applies_the_first_factor_first() -> None:
    first, second = (1, 2, 0), (1, 0, 2)
    assert perm.compose(first, second) == (0, 2, 1)


@given(pairs)
def test_both_packed_forms_agree_with_tuples(pair: tuple[perm.Permutation, perm.Permutation]) -> None:
    first, second = pair
    for rows in (ByteRows(len(first)), TupleRows(len(first))):
        a, b = rows.table(rows.pack(first)), rows.table(rows.pack(second))
        back = rows.matching(a, rows.one)
        assert tuple(rows.send(a, b)[: rows.degree]) == perm.compose(first, second)
        assert tuple(back[: rows.degree]) == perm.inverse(first)
        assert rows.send(a, back) == rows.one


@given(permutations, st.integers(-7, 7))
def test_powers_are_repeated_products(permutation: perm.Permutation, exponent: int) -> None:
    factor = permutation if exponent >= 0 else perm.inverse(permutation)
    product = perm.identity(len(permutation))
    for _ in range(abs(exponent)):
        product = perm.compose(product, factor)
    assert perm.power(permutation, exponent) == product


@given(permutations)
def test_the_order_is_the_least_exponent_that_gives_the_identity(permutation: perm.Permutation) -> None:
    product, exponent = permutation, 1
    while product != perm.identity(len(permutation)):
        product, exponent = perm.compose(product, permutation), exponent + 1
    assert perm.order(permutation) == exponent


@given(permutations)
def test_parity_counts_inversions(permutation: perm.Permutation) -> None:
    inversions = sum(
        permutation[i] > permutation[j] for i in range(len(permutation)) for j in range(i, len(permutation))
    )
    assert perm.is_even(permutation) == (inversions % 2 == 0)


def test_cycle_notation_leaves_out_fixed_points() -> None:
    assert perm.cycle_notation((1, 2, 0, 3, 5, 4)) == "(0 1 2)(4 5)"
    assert perm.cycle_notation((0, 1)) == "()"
