"""Elementary functions rounded to the nearest float, against mpmath with many digits."""

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from krohn.base.portable import FLOATS, at_least, cos, each, exp, few_bits, log, portable_bound, sin

RNG = np.random.default_rng(0)
ANGLES = [
    *RNG.uniform(-10, 10, 300).tolist(),
    *(2 * math.pi * k / n for n in (3, 7, 16, 100) for k in range(0, 2 * n, 3)),
    *(k * math.pi / 2 for k in range(-5, 6)),  # next to a zero of one of them
    *(0.0, 2.0**-41, -(2.0**-39), 1e-300, 123456.789, 6381956970095103.0 * 2.0**-10),
]
POSITIVE = [
    *map(float, range(1, 400)),
    *RNG.uniform(0, 3, 200).tolist(),
    *(1 + k * 2.0**-52 for k in range(-20, 20)),  # next to the zero of log
    *(2.0**k for k in (-1074, -1022, -30, 30, 1023)),
    5e-324 * 12345,
]
SMALL = [*RNG.uniform(-40, 40, 200).tolist(), 0.0, -700.0, 700.0, 1e-20, -745.0, -800.0]


@pytest.mark.parametrize(
    ("function", "meant", "values"),
    [
        (sin, mpmath.sin, ANGLES),
        (cos, mpmath.cos, ANGLES),
        (log, mpmath.log, POSITIVE),
        (exp, mpmath.exp, SMALL),
    ],
    ids=["sin", "cos", "log", "exp"],
)
def test_the_nearest_float(
    function: Callable[[float], float], meant: Callable[[mpmath.mpf], mpmath.mpf], values: list[float]
) -> None:
    with mpmath.workprec(2000):
        for value in values:
            assert function(value) == float(meant(mpmath.mpf(value))), value


def test_values_that_everyone_knows() -> None:
    assert (log(1.0), log(2.0), exp(0.0), sin(0.0), cos(0.0)) == (0.0, 0.6931471805599453, 1.0, 0.0, 1.0)
    assert cos(2 * math.pi / 3) == -0.4999999999999998  # of that float, which is no third of a turn


@pytest.mark.parametrize("digits", [2, 4, 6])
def test_a_lower_bound_of_few_digits(digits: int) -> None:
    for value in [*RNG.uniform(0, 50, 200).tolist(), 20.0, 1.0, 0.1, 1e-9, 99.995, -3.2]:
        bound = at_least(value, digits)
        assert Fraction(bound) < Fraction(value)
        assert Fraction(value) - Fraction(bound) < abs(Fraction(value)) * Fraction(11, 10**digits)
        assert float(f"{bound:.{digits - 1}e}") == bound
    assert (at_least(0.0), at_least(math.inf)) == (0.0, math.inf)


@pytest.mark.parametrize("around", [20.0, 1.0, 0.5, 0.999, -2.0])
def test_what_is_measured_with_other_rounding_errors_is_written_alike(around: float) -> None:
    near = [around * (1 + off) for off in (-(2.0**-31), -(2.0**-50), 0.0, 2.0**-50, 2.0**-31)]
    assert len({at_least(value) for value in near}) == 1
    assert {few_bits(value, 24) for value in near} == {few_bits(around, 24)}


def test_what_is_stated_is_a_bound_and_short_numbers_stay() -> None:
    assert [portable_bound(value) for value in (1.0, 0.25, 0.0, -0.5, math.inf)] == [
        1.0,
        0.25,
        0.0,
        -0.5,
        math.inf,
    ]
    for value in (1 / 3, 0.9999999, 123.456789, -1 / 3):
        assert (
            value - 1e-5 * abs(value)
            < portable_bound(value)
            == portable_bound(math.nextafter(value, 0))
            < value
        )


def test_few_bits_are_the_nearest_ones() -> None:
    for value in RNG.uniform(-100, 100, 200).tolist():
        short = few_bits(value, 12)
        step = 2.0 ** (math.frexp(value)[1] - 12)
        assert short / step == round(value / step)
    assert [few_bits(value, 2) for value in (0.0, 1.0, 5.0, 7.5, -0.3)] == [0.0, 1.0, 4.0, 8.0, -0.25]


def test_each_keeps_the_shape() -> None:
    table = np.array([[1, 2, 3], [4, 5, 6]])
    assert each(log, table).tolist() == [[log(float(k)) for k in row] for row in table]
    assert each(cos, 0.5).shape == ()
    assert each(sin, np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize(("function", "wrong"), [(log, 0.0), (log, -1.0), (log, math.inf), (sin, math.nan)])
def test_what_has_no_value_is_refused(function: Callable[[float], float], wrong: float) -> None:
    with pytest.raises((AssertionError, ValueError)):
        function(wrong)


@pytest.mark.parametrize("name", FLOATS)
def test_the_formats_are_those_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    info = torch.finfo(getattr(torch, name))
    assert (FLOATS[name].largest, FLOATS[name].unit) == (info.max, info.eps / 2)
