"""The float formats of the proofs, compared with exact fractions."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from krohn.certify.arithmetic import arithmetic, linear

DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}


@pytest.mark.parametrize("name", DIGITS)
def test_casting_finds_the_nearest_number_with_that_many_digits(name: str) -> None:
    """Ties go to the even one; in fractions, for numbers that are neither tiny nor huge."""
    dice = np.random.default_rng(0)
    numbers = np.concatenate([dice.normal(size=200), dice.integers(1, 2**11, size=200) / 2.0**5 * 1.0])
    single = numbers.astype(np.float32).astype(np.float64) if name == "bfloat16" else numbers
    for number, cast in zip(single.tolist(), arithmetic(name).cast(numbers).tolist(), strict=True):
        grain = Fraction(2) ** (math.frexp(number)[1] - DIGITS[name])
        assert Fraction(cast) == round(Fraction(number) / grain) * grain


@pytest.mark.parametrize("name", DIGITS)
def test_what_is_no_number_stays_none_and_infinities_stay(name: str) -> None:
    strange = np.array([0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF], dtype=np.uint64).view(np.float64)
    assert np.isnan(arithmetic(name).cast(strange)).all()
    assert arithmetic(name).cast(np.array([np.inf, -np.inf])).tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("seed", range(6))
def test_half_products_lie_within_their_bound_of_the_exact_sum(name: str, seed: int) -> None:
    """Sums in float32 in a shuffled order, stored before and after the bias; compared in fractions."""
    dice, arith = np.random.default_rng(seed), arithmetic(name)
    values = arith.cast(dice.normal(size=(4, 9)) * 2.0 ** dice.integers(-6, 6))
    weight = arith.cast(dice.normal(size=(9, 3)) * (dice.random((9, 3)) < 0.7))
    bias = arith.cast(dice.normal(size=3) * (dice.random(3) < 0.7))
    _, error = linear(arith, values, np.zeros(9), weight, bias)
    order = dice.permutation(9)
    for row, column in product(range(4), range(3)):
        total, exact = np.float32(0), Fraction(float(bias[column]))
        for at in order:
            total = np.float32(total + np.float32(values[row, at]) * np.float32(weight[at, column]))
            exact += Fraction(float(values[row, at])) * Fraction(float(weight[at, column]))
        stored = float(arith.cast(np.array([float(total)]))[0])
        if bias[column]:
            stored = float(arith.cast(np.array([float(np.float32(stored) + np.float32(bias[column]))]))[0])
        assert abs(Fraction(stored) - exact) <= Fraction(float(error[row, column]))
