"""The checker's arithmetic against exact rationals: every number of formats with 4 to 6 bits, from the
subnormal numbers up to the overflow threshold.

Rounding is written again here, with fractions, and knows infinity. What is not refused must be finite in
every order of sums, fused or not, and in its box.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import pairwise, product
from math import inf

import numpy as np
import pytest
import torch

from krohn.check.arithmetic.format import ASSUMPTIONS, BEND, FORMATS, Format, whole
from krohn.check.arithmetic.sums import Sums
from krohn.check.ground import Array, Real, Refused, Rounding, between, point

BITS = (4, 5, 6)
LEAST = Fraction(1, 8)
Number = Fraction | float


def toy(bits: int, octaves: int = 4) -> Format:
    """``bits`` of significand; ``octaves`` binades of normal numbers above the subnormal ones."""
    rounding = Rounding(bits, float(LEAST), float(LEAST * (2**bits - 1) * 2**octaves))
    return replace(FORMATS["float64"], name="toy", inner=rounding, outer=rounding)


def mixed(bits: int) -> Format:
    """A half type: sums with six bits, tensors with ``bits`` and less range."""
    inner = toy(6, 6).inner
    return replace(FORMATS["float16"], name="toy half", inner=inner, outer=toy(bits, 2).outer)


def numbers(rounding: Rounding) -> list[Fraction]:
    """Every number of the format."""
    least, result = Fraction(rounding.tiny), set()
    top = Fraction(rounding.largest)
    step = least
    while step * 2 ** (rounding.bits - 1) <= top:
        result |= {step * n for n in range(2**rounding.bits) if step * n <= top}
        step *= 2
    return sorted(result | {-x for x in result})


def nearest(x: Number, rounding: Rounding) -> Number:
    """IEEE: to nearest, ties to even, infinite from half a step beyond the largest number on."""
    if isinstance(x, float):
        return x
    step = Fraction(rounding.tiny)
    while abs(x) >= step * 2**rounding.bits:
        step *= 2
    rounded = round(x / step) * step  # Python's round is to even
    return inf * (1 if x > 0 else -1) if abs(rounded) > Fraction(rounding.largest) else rounded


def every_near(values: Array, rounding: Rounding) -> Array:
    """``nearest`` for arrays: all numbers here are rationals that float64 holds exactly, or infinite."""
    step = np.full(values.shape, rounding.tiny)
    while (large := np.isfinite(values) & (np.abs(values) >= step * 2**rounding.bits)).any():
        step = np.where(large, 2 * step, step)
    rounded = np.rint(values / step) * step
    return np.where(np.abs(rounded) > rounding.largest, np.copysign(np.inf, values), rounded)


def dots(a: Array, w: float, b: Array, v: float, bias: float, rounding: Rounding) -> Iterator[Array]:
    """Two products and a bias in every order, fused or not."""

    def near(values: Array) -> Array:
        return every_near(values, rounding)

    one, two = near(a * w), near(b * v)
    yield near(near(one + two) + bias)
    yield near(one + near(two + bias))
    yield near(near(one + bias) + two)
    yield near(near(a * w + two) + bias)
    yield near(near(one + b * v) + bias)
    yield near(a * w + near(b * v + bias))
    yield near(near(a * w + bias) + b * v)


def holds(box: Real, value: Number) -> bool:
    return Fraction(float(box.lo.min())) <= Fraction(value) <= Fraction(float(box.hi.max()))


def judged(
    make: Callable[[Array], Real], values: list[Array], size: Array, largest: float
) -> tuple[int, int]:
    """Rows that stay far below the largest number are not refused; those near it, one by one, if they may be
    infinite. What is not refused is finite in every order, and in its box.
    """
    far, refused = size < largest / 2, 0
    done = np.flatnonzero(far)
    box = make(done)
    for value in values:
        inside = (box.lo.reshape(-1) <= value[far]) & (value[far] <= box.hi.reshape(-1))
        assert inside.all()
    for row in np.flatnonzero(~far)[:: max(1, int((~far).sum()) // 25)]:
        try:
            box = make(np.array([row]))
        except Refused:
            refused += 1
            continue
        assert all(box.lo.min() <= value[row] <= box.hi.max() for value in values), (row, box)
    return len(done), refused


@pytest.mark.parametrize("bits", BITS)
def test_casting_is_rounding_to_nearest_up_to_infinity(bits: int) -> None:
    rounding = toy(bits).inner
    every = numbers(rounding)
    some = [x + (y - x) * Fraction(n, 4) for x, y in pairwise(every) for n in range(4)]
    top = Fraction(rounding.largest)
    beyond = [top + (top - every[-2]) * Fraction(n, 8) for n in range(9)]
    tried = [*some, *beyond, *(-y for y in beyond)]
    held = np.array([float(x) for x in tried])
    wanted = np.array([float(nearest(x, rounding)) for x in tried])
    assert all(Fraction(x) == y for x, y in zip(held.tolist(), tried, strict=True))
    assert (rounding.cast(held) == wanted).all()
    assert (every_near(held, rounding) == wanted).all()
    assert np.isinf(wanted).any()


def pairs(values: list[Fraction]) -> tuple[Array, Array]:
    left, right = np.meshgrid([float(x) for x in values], [float(x) for x in values])
    return left.reshape(-1), right.reshape(-1)


@pytest.mark.parametrize("bits", BITS)
def test_every_sum_and_every_product_of_two_numbers(bits: int) -> None:
    fmt = toy(bits, 3)
    a, b = pairs(numbers(fmt.inner))
    for result, size, operation in (
        (a + b, np.abs(a) + np.abs(b), lambda x, y: fmt.add(whole(x), whole(y)).part),
        (a * b, np.abs(a * b), lambda x, y: Sums(fmt).total((x, y))),
    ):
        value = every_near(result, fmt.inner)

        def make(rows: Array, operation: Callable[..., Real] = operation) -> Real:
            return operation(point(a[rows]), point(b[rows]))

        results, refused = judged(make, [value], size, fmt.inner.largest)
        assert results > 1000
        assert refused > 5


WEIGHTS = [n / 8 for n in (0, 1, 3, 8, -8, 10, -13, 16)]


@pytest.mark.parametrize("bits", [4, 5])
def test_every_dot_product_of_two_terms_and_a_bias(bits: int) -> None:
    """Weights that are powers of two and not, in all orders: also where sums are said to be exact."""
    fmt = toy(bits, 2)
    a, b = pairs(numbers(fmt.inner))
    seen = np.zeros(2, dtype=int)
    for w, v, bias in product(WEIGHTS, WEIGHTS[1:], (0.0, 0.125, -fmt.inner.largest / 2)):
        matrix, offset = np.array([[w], [v]]), np.array([bias])
        values = list(dots(a, w, b, v, bias, fmt.inner))
        size = np.abs(a * w) + np.abs(b * v) + abs(bias)

        def make(rows: Array, matrix: Array = matrix, offset: Array = offset) -> Real:
            return fmt.linear(whole(point(np.stack([a[rows], b[rows]], axis=1))), matrix, offset).part

        seen += judged(make, values, size, fmt.inner.largest)
    assert (seen > 100).all()


def test_every_dot_product_of_a_half_type() -> None:
    """Four bits, sums with six; the product is stored before the bias comes, or not."""
    fmt = mixed(4)
    a, b = pairs(numbers(fmt.outer))
    seen = np.zeros(2, dtype=int)
    for w, v, bias in product(WEIGHTS[:5], WEIGHTS[1:6], (0.0, 0.125, fmt.outer.largest / 2)):
        bias = float(fmt.outer.cast(np.array(bias)))
        matrix, offset = np.array([[w], [v]]), np.array([bias])
        values = [every_near(x, fmt.outer) for x in dots(a, w, b, v, bias, fmt.inner)]
        for x in dots(a, w, b, v, 0.0, fmt.inner):
            after = every_near(every_near(x, fmt.outer) + bias, fmt.inner)
            values.append(every_near(after, fmt.outer))
        size = np.abs(a * w) + np.abs(b * v) + abs(bias)

        def make(rows: Array, matrix: Array = matrix, offset: Array = offset) -> Real:
            return fmt.linear(whole(point(np.stack([a[rows], b[rows]], axis=1))), matrix, offset).part

        seen += judged(make, values, size, fmt.outer.largest)
    assert (seen > 100).all()


@pytest.mark.parametrize("bits", BITS)
def test_intervals_hold_every_number_between_their_ends(bits: int) -> None:
    fmt = toy(bits, 2)
    every = numbers(fmt.inner)
    half = len(every) // 2
    for low, high in [(0, 3), (2, 7), (half - 4, half + 5), (len(every) - 9, len(every) - 6)]:
        inside = every[low : high + 1]
        box = between([[float(inside[0])] * 2], [[float(inside[-1])] * 2])
        a, b = pairs(inside)
        for w, v in product((0.25, -0.375), repeat=2):
            rounded = fmt.linear(whole(box), np.array([[w], [v]]), np.array([0.125])).part
            for value in dots(a, w, b, v, 0.125, fmt.inner):
                assert (rounded.lo.min() <= value).all()
                assert (value <= rounded.hi.max()).all()


def exact_bend(name: str, x: float) -> Fraction:
    """tanh and sigmoid to fifty digits."""
    getcontext().prec = 50
    power = (Decimal(x) * (2 if name == "tanh" else 1)).exp()
    return Fraction((power - 1) / (power + 1) if name == "tanh" else power / (power + 1))


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
@pytest.mark.parametrize("bits", BITS)
def test_bends_hold_whatever_the_assumption_allows(name: str, bits: int) -> None:
    fmt = toy(bits)
    for x in numbers(fmt.inner):
        rounded, true = getattr(fmt, name)(point([float(x)])), exact_bend(name, float(x))
        if x:
            for sign in (-1, 1):
                assert holds(rounded, true + sign * Fraction(BEND) / 2**bits)
        else:
            assert rounded.known.all()
            assert holds(rounded, true)


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_bends_of_torch_lie_in_their_boxes(name: str, dtype: str) -> None:
    fmt, kind = FORMATS[dtype], getattr(torch, dtype)
    dice = np.random.default_rng(0)
    spread = dice.standard_normal(40_000) * 2.0 ** dice.integers(-30, 9, size=40_000)
    given = torch.tensor(np.r_[spread, 0.0, 2.0**-149, 103.0, -103.0, 110.0, -110.0, 800.0, -800.0]).to(kind)
    given = given[torch.isfinite(given)]
    function = {"tanh": torch.tanh, "sigmoid": torch.sigmoid}[name]
    wanted = function(given).double().numpy()
    rounded = getattr(fmt, name)(point(given.double().numpy()))
    assert ((rounded.lo <= wanted) & (wanted <= rounded.hi)).all()
    far = np.abs(given.double().numpy()) >= (752 if dtype == "float64" else 110)
    assert far.any()
    assert rounded.known[far].all()
    some = between([-1.0], [2.0])
    wide = getattr(fmt, name)(some)
    assert wide.lo[0] < wanted.min() + 1.1
    assert wide.hi[0] > float(function(torch.tensor(2.0, dtype=torch.float64)))


def test_softmax_weights_of_every_pair_of_scores() -> None:
    """exp in fifty digits, moved by what is assumed of it; then one sum and one quotient, each rounded."""
    getcontext().prec = 50
    fmt = replace(toy(6, 8), vanish=104.0, normal=2.0**-40)
    slack = Fraction(2) ** -5
    for gap in [Fraction(n, 4) for n in range(33)]:
        rounded = fmt.weights(point([[0.0, -float(gap)]]), np.ones((1, 2), bool), np.ones((1, 2)))
        power = Fraction((Decimal(float(-gap))).exp())
        for moved in (power * (1 - slack), power, min(power * (1 + slack), Fraction(1))):
            total = 1 + moved
            assert float(rounded.lo[0, 0]) <= float(1 / total) <= float(rounded.hi[0, 0])
            assert float(rounded.lo[0, 1]) <= float(moved / total) <= float(rounded.hi[0, 1])


def test_every_assumption_has_a_sentence() -> None:
    assert {"rounding", "sum", "exp", "softmax-kernel", "tanh", "sigmoid", "saturation", "layer-norm"} <= set(
        ASSUMPTIONS
    )
    for text in ASSUMPTIONS.values():
        assert 20 < len(text) < 240
        assert not text.endswith(".")


def test_the_range_of_a_format_is_no_wider_than_torch_says() -> None:
    for name, fmt in FORMATS.items():
        info = torch.finfo(getattr(torch, name))
        assert fmt.outer.largest <= info.max <= fmt.outer.largest * 1.01
        assert fmt.outer.unit == info.eps / 2
        assert fmt.outer.tiny == info.smallest_normal * info.eps
        largest: Array = fmt.outer.cast(np.array([info.max]))
        assert np.isinf(largest) or largest == info.max
