"""Rounding bounds against real rounding, in every order that is easy to try."""

import numpy as np
import pytest

from krohn.certify.arithmetic import arithmetic, linear
from krohn.errors import InvalidInput


@pytest.mark.parametrize("seed", range(8))
def test_a_float32_product_in_any_order_stays_within_the_bound(seed: int) -> None:
    dice = np.random.default_rng(seed)
    arith = arithmetic("float32")
    values = arith.cast(dice.normal(size=(6, 40)) * 10.0 ** dice.integers(-2, 4))
    weight, bias = arith.cast(dice.normal(size=(40, 5))), arith.cast(dice.normal(size=5))
    exact, error = linear(arith, values, np.zeros(40), weight, bias)
    for order in (np.arange(40), np.arange(40)[::-1], dice.permutation(40), np.argsort(-weight[:, 0])):
        total = np.zeros((6, 5), dtype=np.float32)
        for index in order:
            product = values[:, index].astype(np.float32)[:, None] * weight[index].astype(np.float32)
            total = total + product
        total = total + bias.astype(np.float32)
        assert (np.abs(total.astype(np.float64) - exact) <= error).all()


def test_positive_terms_first_is_the_order_the_bound_fears() -> None:
    arith = arithmetic("float32")
    values = np.concatenate([np.full(500, 16777.25), np.full(500, 16777.0)])[None, :]
    weight = np.concatenate([np.ones(500), -np.ones(500)])[:, None]
    exact, error = linear(arith, values, np.full(1000, 1e-3), weight)
    total = np.float32(0)
    for term in (values[0] * weight[:, 0]).astype(np.float32):
        total = np.float32(total + term)
    assert abs(float(total) - exact[0, 0]) <= error[0, 0]
    assert error[0, 0] < 1000


def test_whole_numbers_are_summed_exactly_as_long_as_they_fit() -> None:
    arith = arithmetic("float32")
    values = np.array([[3.0, 5.0, 0.5]])
    weight = np.array([[2.0], [-7.0], [4.0]])
    assert linear(arith, values, np.zeros(3), weight)[1].max() == 0.0
    assert linear(arith, values * 2.0**22, np.zeros(3), weight + 2.0**-20)[1].max() > 0.0
    assert linear(arith, values, np.array([1e-9, 0, 0]), weight)[1].max() > 0.0


def test_casting_rounds_to_the_nearest_stored_number() -> None:
    assert arithmetic("bfloat16").cast(np.array([1.0 + 2.0**-8, 257.0, -3.0])).tolist() == [1.0, 256.0, -3.0]
    assert arithmetic("bfloat16").cast(np.array([1.0 + 3 * 2.0**-8])).tolist() == [1.0 + 2.0**-6]
    assert arithmetic("float16").cast(np.array([2049.0, 1e6])).tolist() == [2048.0, np.inf]
    assert arithmetic("float32").cast(np.array([2.0**24 + 1])).tolist() == [2.0**24]


def test_an_unknown_dtype_is_refused() -> None:
    with pytest.raises(InvalidInput, match="dtype must be one of float64"):
        arithmetic("float8")
