"""Every operation on intervals contains the result in exact rationals."""

from fractions import Fraction

import numpy as np
import pytest

from krohn.check.ground import (
    OWN,
    Array,
    Real,
    Refused,
    affine_error,
    ample,
    hull,
    leak_of,
    lowest_bit,
    point,
    rivals,
    sum_up,
)


def numbers(dice: np.random.Generator, count: int) -> Array:
    """Of all sizes, near the ends of the range and in the middle, with many that cancel."""
    scale = dice.choice([0, 1, -1, 40, -40, 300, -320, -340], size=count)
    out = np.ldexp(dice.integers(-(2**53), 2**53, size=count).astype(float), scale * 3 - 52)
    out[dice.random(count) < 0.1] = 0.0
    return np.where(np.isfinite(out) & (np.abs(out) < 1e280), out, 1.0)


def intervals(dice: np.random.Generator, count: int) -> Real:
    ends = np.sort(np.stack([numbers(dice, count), numbers(dice, count)]), axis=0)
    return Real(ends[0], np.where(dice.random(count) < 0.5, ends[0], ends[1]))


def holds(box: Real, at: int, low: Fraction, high: Fraction) -> bool:
    lo, hi = box.lo[at], box.hi[at]
    return (np.isinf(lo) or Fraction(lo) <= low) and (np.isinf(hi) or high <= Fraction(hi))


@pytest.mark.parametrize("seed", range(3))
def test_sums_differences_and_products_hold_the_exact_ones(seed: int) -> None:
    dice = np.random.default_rng(seed)
    left, right = intervals(dice, 1500), intervals(dice, 1500)
    result = {"+": left + right, "-": left - right, "*": left * right}
    for at in range(1500):
        a, b = (
            (Fraction(left.lo[at]), Fraction(left.hi[at])),
            (Fraction(right.lo[at]), Fraction(right.hi[at])),
        )
        assert holds(result["+"], at, a[0] + b[0], a[1] + b[1])
        assert holds(result["-"], at, a[0] - b[1], a[1] - b[0])
        ends = [x * y for x in a for y in b]
        assert holds(result["*"], at, min(ends), max(ends))


def test_sums_that_fit_are_exact() -> None:
    assert (point([0.5, 3.0, 1e16]) + point([0.25, -3.0, 2.0])).known.tolist() == [True, True, True]
    assert not (point([1.0]) + point([2.0**-60])).known[0]


@pytest.mark.parametrize("seed", range(4))
def test_matrix_products_hold_the_exact_ones(seed: int) -> None:
    dice = np.random.default_rng(seed)
    rows, middle, columns = 12, 7, 5
    box = intervals(dice, rows * middle).reshape(rows, middle)
    matrix = numbers(dice, middle * columns).reshape(middle, columns)
    box = Real(box.lo * 2.0**-400, box.hi * 2.0**-400) if seed % 2 else box
    matrix = matrix * 2.0**-600 if seed % 2 else np.sign(matrix)
    result = box @ matrix
    for row in range(rows):
        for column in range(columns):
            low = high = Fraction(0)
            for k in range(middle):
                ends = [Fraction(e) * Fraction(matrix[k, column]) for e in (box.lo[row, k], box.hi[row, k])]
                low, high = low + min(ends), high + max(ends)
            assert holds(result[row], column, low, high)


def test_products_that_underflow_here_are_not_lost() -> None:
    tiny = point(np.full((1, 3), 2.0**-600))
    result = tiny @ np.full((3, 1), 2.0**-600)
    assert result.lo[0, 0] < 0 < result.hi[0, 0]
    assert (point([2.0**-600]) * point([2.0**-600])).hi[0] > 0


def test_sums_along_an_axis_and_of_parts_round_up() -> None:
    dice = np.random.default_rng(5)
    parts = dice.standard_normal((500, 3)) * 10.0 ** dice.integers(-8, 8, size=(500, 3))
    total, upper = point(parts).total(0), sum_up(parts)
    for column in range(3):
        exact = sum((Fraction(x) for x in parts[:, column]), Fraction(0))
        assert holds(total, column, exact, exact)
        assert sum((abs(Fraction(x)) for x in parts[:, column]), Fraction(0)) <= Fraction(upper[column])


def test_parts_of_an_affine_form_are_counted_with_their_own_size() -> None:
    """Terms that cancel: the error is that of the parts, not of the sum."""
    parts = np.array([[1e16, 1.0, -1e16]]).T
    weight = np.array([[1.0]])
    off = affine_error(np.abs(parts).sum(axis=0)[None] @ np.abs(weight), len(weight))
    assert off[0, 0] >= abs(float(parts.sum()) - 1.0)


def test_a_label_that_no_row_has_is_refused() -> None:
    with pytest.raises(Refused, match="left out"):
        hull(point(np.zeros((2, 1))), np.array([0, 2]))


def test_the_hull_of_nan_is_nan() -> None:
    box = hull(point(np.array([[np.nan], [1.0]])), np.array([0, 0]))
    assert np.isnan(box.lo[0, 0])


def test_rivals_are_bounded_from_above() -> None:
    dice = np.random.default_rng(2)
    before, after = dice.uniform(-30, 5, size=(4, 40)), dice.uniform(-30, 5, size=(4, 40))
    result = rivals(before, after)
    for row in range(4):
        for at in range(40):
            exact = np.exp(before[row, :at]).sum() + np.exp(after[row, at + 1 :]).sum()
            assert np.exp(result[row, at]) >= exact * (1 - 1e-12)
    assert rivals(np.array([[-np.inf]]), np.array([[-np.inf]]))[0, 0] == -np.inf


def test_leaks_round_up_and_sizes_too() -> None:
    assert leak_of(3.0, 10.0) > np.exp(-3.0)
    assert leak_of(np.inf, 0.0) == 0.0
    assert (ample(np.array([1.0, 2.0])) > [1.0, 2.0]).all()


def test_nan_is_refused_by_every_range_check() -> None:
    with pytest.raises(Refused, match="overflow"):
        OWN.error(np.array([1.0, np.nan]), 1.0, 0.0)
    with pytest.raises(Refused, match="overflow"):
        OWN.error(np.array([1e308, 2.0]) * 10, 1.0, 0.0)


def test_the_lowest_bit_is_the_largest_power_of_two_that_divides() -> None:
    random = np.random.default_rng(0).integers(2**64, size=4000, dtype=np.uint64).view(np.float64)
    edges = [1.0, -3.0, 0.75, 2.0**1023, 5e-324, -1.5e-323, 2.0**-1022, np.finfo(float).max]
    numbers = np.array([*random[np.isfinite(random)], *edges])
    for number, bit in zip(numbers.tolist(), lowest_bit(numbers).tolist(), strict=True):
        over, under = number.as_integer_ratio()
        assert Fraction(bit) == Fraction(over & -over, under)
    assert (lowest_bit(np.array([0.0, -0.0])) == np.inf).all()
