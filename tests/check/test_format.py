"""Computed numbers lie in their boxes: every number of a toy format, and real runs in all orders."""

import math
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from krohn.check.arithmetic.format import FORMATS, Box, Format, whole
from krohn.check.ground import Array, Real, Refused, Rounding, between, point

SMALL = Rounding(4, 2.0**-3, 15 * 2.0**3)
TOY = replace(FORMATS["float64"], name="toy", inner=SMALL, outer=SMALL)
"""A format so small that all its numbers can be tried: 4 bits of significand, from 1/8 on."""


def all_numbers(rounding: Rounding) -> Array:
    """Every number of a small format."""
    steps = np.arange(0, 2**rounding.bits)
    scales = rounding.tiny * 2.0 ** np.arange(0, 12)
    result = np.unique((steps[:, None] * scales).reshape(-1))
    result = result[result <= rounding.largest]
    return np.unique(np.concatenate([result, -result]))


def inside(box: Box, values: Array) -> bool:
    return bool(((box.part.lo <= values) & (values <= box.part.hi)).all())


def test_rounding_to_float16_is_that_of_numpy() -> None:
    rounding, dice = FORMATS["float16"].outer, np.random.default_rng(0)
    values = dice.standard_normal(4000) * 2.0 ** dice.integers(-30, 15, size=4000)
    assert (rounding.cast(values) == values.astype(np.float16).astype(np.float64)).all()
    assert np.isinf(rounding.cast(np.array([1e39])))


def test_rounding_to_float32_is_to_the_nearest_of_24_bits_ties_to_even() -> None:
    """Judged by exact fractions: subnormals, ties, both signs, and what is too large."""
    rounding, dice = FORMATS["float32"].outer, np.random.default_rng(0)
    values = dice.standard_normal(2000) * 2.0 ** dice.integers(-152, 127, size=2000)
    ties = (dice.integers(2**23, 2**24, size=500) + 0.5) * 2.0 ** dice.integers(-149, 100, size=500)
    values = np.concatenate([values, ties, -ties, np.array([0.0, 2.0**-150, 1.5 * 2.0**-149, 2.0**-149])])
    for value, got in zip(values.tolist(), rounding.cast(values).tolist(), strict=True):
        exponent = max(math.frexp(value)[1] - 24, -149)
        steps = round(Fraction(value) / Fraction(2) ** exponent)  # Python rounds ties to even
        assert got == float(steps * Fraction(2) ** exponent)
    assert rounding.cast(np.array([3.5e38, -1e300])).tolist() == [np.inf, -np.inf]


def test_rounding_to_bfloat16_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(1).standard_normal(4000).astype(np.float32).astype(np.float64)
    wanted = torch.tensor(values, dtype=torch.float32).to(torch.bfloat16).to(torch.float64).numpy()
    assert (FORMATS["bfloat16"].outer.cast(values) == wanted).all()


def test_the_toy_format_rounds_to_its_numbers() -> None:
    numbers = all_numbers(TOY.inner)
    box = TOY.inner.cast(np.linspace(-100, 100, 4001))
    assert np.isin(box, numbers).all()
    assert len(numbers) > 100


def test_every_sum_of_two_toy_numbers_is_in_its_box() -> None:
    numbers = all_numbers(TOY.inner)
    numbers = numbers[np.abs(numbers) <= 40]
    left, right = (grid.reshape(-1) for grid in np.meshgrid(numbers, numbers))
    box = TOY.add(whole(point(left)), whole(point(right)))
    assert inside(box, TOY.inner.cast(left + right))
    exact = box.part.known
    assert 0 < exact.sum() < len(exact)
    assert (box.part.lo[exact] == (left + right)[exact]).all()


def dot_orders(
    a: Array, w: float, b: Array, v: float, bias: float, cast: Callable[[Array], Array]
) -> Iterator[Array]:
    """a w + b v + bias in every order, with and without fused multiply-add."""
    one, two = cast(a * w), cast(b * v)
    yield cast(cast(one + two) + bias)
    yield cast(one + cast(two + bias))
    yield cast(cast(one + bias) + two)
    yield cast(cast(a * w + two) + bias)
    yield cast(cast(one + b * v) + bias)
    yield cast(a * w + cast(b * v + bias))
    yield cast(cast(a * w + bias) + b * v)


def test_every_dot_product_of_toy_numbers_is_in_its_box_in_every_order() -> None:
    numbers = all_numbers(TOY.inner)
    numbers = numbers[np.abs(numbers) <= 3]
    a, b = (grid.reshape(-1) for grid in np.meshgrid(numbers, numbers))
    rows = point(np.stack([a, b], axis=1))
    some = [0.0, 0.125, 0.25, 0.375, 1.0, -1.0, 1.25, -1.75, 2.0]
    for w, v, bias in product(some, some, [0.0, 0.125, -2.75]):
        weight = np.array([[w], [v]])
        box = TOY.linear(whole(rows), weight, np.array([bias]))
        exact = (a * w + b * v + bias)[:, None]
        off = TOY.measured(whole(rows), weight, np.array([bias]))[1]
        for value in dot_orders(a, w, b, v, bias, TOY.inner.cast):
            assert inside(box, value[:, None]), (w, v, bias)
            assert (np.abs(value[:, None] - exact) <= off).all(), (w, v, bias)


def test_boxes_of_toy_numbers_hold_whatever_lies_in_them() -> None:
    numbers = all_numbers(TOY.inner)
    numbers = numbers[np.abs(numbers) <= 2]
    weight, bias = np.array([[1.25], [-0.375]]), np.array([0.625])
    for lo, hi in [(-0.5, 0.75), (0.125, 0.25), (-2.0, -1.0)]:
        inner = numbers[(numbers >= lo) & (numbers <= hi)]
        a, b = (grid.reshape(-1) for grid in np.meshgrid(inner, inner))
        box = TOY.linear(whole(between([[lo, lo]], [[hi, hi]])), weight, bias)
        for value in dot_orders(a, 1.25, b, -0.375, 0.625, TOY.inner.cast):
            assert inside(box, value[:, None])


def test_the_ablation_without_underflow_is_caught_by_the_toy_numbers() -> None:
    """The same test fails if the least positive number is left out: it is that term which holds."""
    from dataclasses import replace

    blind = replace(TOY, inner=replace(TOY.inner, tiny=2.0**-200), outer=replace(TOY.outer, tiny=2.0**-200))
    rows = whole(point(np.array([[0.125, 0.125]])))
    weight = np.array([[0.375], [0.375]])
    computed = TOY.inner.cast(TOY.inner.cast(np.array([[0.046875]])) + TOY.inner.cast(np.array([[0.046875]])))
    assert inside(TOY.linear(rows, weight), computed)
    assert not inside(blind.linear(rows, weight), computed)


KINDS = {"float32": np.float32, "float16": np.float16}


def run_shuffled(x: Array, w: Array, b: float, dice: np.random.Generator, *, fused: bool) -> float:
    """A dot product in float32, in a random order, with fused products or not."""
    total = np.float32(0.0)
    parts = [(np.float32(p), np.float32(q)) for p, q in zip(x, w, strict=True)] + [
        (np.float32(b), np.float32(1.0))
    ]
    for at in dice.permutation(len(parts)):
        p, q = parts[at]
        if fused:
            total = np.float32(np.float64(p) * np.float64(q) + np.float64(total))
        else:
            total = np.float32(total + np.float32(p * q))
    return float(total)


@pytest.mark.parametrize("scale", [0, -60, -130])
def test_real_runs_in_shuffled_orders_lie_in_their_boxes(scale: int) -> None:
    dice, fmt = np.random.default_rng(scale + 200), FORMATS["float32"]
    with np.errstate(under="ignore"):
        for _ in range(150):
            count = int(dice.integers(1, 12))
            x = fmt.inner.cast(dice.standard_normal(count) * 2.0**scale)
            w = fmt.inner.cast(
                dice.standard_normal((count, 1)) * 2.0 ** dice.integers(-20, 3, size=(count, 1))
            )
            b = fmt.inner.cast(dice.standard_normal(1) * 2.0**scale)
            box = whole(point(x[None]))
            out, off = fmt.measured(box, w, b)
            exact = sum(
                (Fraction(p) * Fraction(q) for p, q in zip(x, w[:, 0], strict=True)), Fraction(float(b[0]))
            )
            for fused in (False, True):
                value = run_shuffled(x, w[:, 0], float(b[0]), dice, fused=fused)
                assert out.part.lo[0, 0] <= value <= out.part.hi[0, 0]
                assert abs(Fraction(value) - exact) <= Fraction(float(off[0, 0]))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_types_store_the_product_before_the_bias_or_not(name: str) -> None:
    dice, fmt = np.random.default_rng(3), FORMATS[name]
    for _ in range(60):
        x = fmt.outer.cast(dice.standard_normal((1, 4)) * 2.0 ** dice.integers(-16, 6))
        w, b = fmt.outer.cast(dice.standard_normal((4, 1))), fmt.outer.cast(dice.standard_normal(1) * 16)
        box = fmt.linear(whole(point(x)), w, b)
        total = np.float32(0.0)
        for p, q in zip(x[0], w[:, 0], strict=True):
            total = np.float32(total + np.float32(p) * np.float32(q))
        apart = fmt.outer.cast(
            np.float64(np.float32(fmt.outer.cast(np.array([float(total)]))[0] + b[0])).reshape(1)
        )
        fused = fmt.outer.cast(np.float64(np.float32(np.float64(total) + b[0])).reshape(1))
        off = fmt.measured(whole(point(x)), w, b)[1]
        for value in (apart[0], fused[0]):
            assert box.part.lo[0, 0] <= value <= box.part.hi[0, 0]
            assert abs(value - float((x @ w)[0, 0] + b[0])) <= off[0, 0]


def test_stored_queries_below_the_least_number_are_exactly_zero() -> None:
    box = FORMATS["float16"].linear(whole(between([[-(2.0**-26)]], [[2.0**-26]])), np.array([[1.0]]))
    assert box.part.lo[0, 0] == box.part.hi[0, 0] == 0


def test_what_lies_beyond_a_box_counts_when_it_is_stored() -> None:
    """2048 + 1 is no float16: with a counter beside it a box is widened by the rounding of both."""
    fmt = FORMATS["float16"]
    box = fmt.stored(Box(point([[1.0]]), np.array([4095.0])))
    assert box.part.hi[0, 0] - box.part.lo[0, 0] >= 2.0
    assert fmt.stored(whole(point([[1.0]]))).part.known.all()


def test_the_difference_of_rounded_ends_is_not_taken_for_the_error_inside() -> None:
    """Both ends may be numbers of the format: what lies between is rounded all the same."""
    fmt = FORMATS["float16"]
    box = whole(between([[2048.0]], [[2050.0]]))
    assert (fmt.measured(box, np.array([[1.0]]), np.zeros(1))[1] >= 1.0).all()


def test_overflow_is_refused_in_every_operation() -> None:
    for name in ("float32", "float16", "bfloat16", "float64"):
        fmt = FORMATS[name]
        large = whole(point(np.full((1, 2), fmt.outer.largest * 0.7)))
        for operation in (
            lambda fmt=fmt, large=large: fmt.add(large, large),
            lambda fmt=fmt, large=large: fmt.linear(large, np.array([[2.0], [2.0]])),
            lambda fmt=fmt, large=large: fmt.gathered([large, large, large]),
            lambda fmt=fmt, large=large: fmt.stored(Box(large.part, large.size)),
        ):
            with pytest.raises(Refused, match="overflow"):
                operation()


def test_partial_sums_that_overflow_are_refused_even_if_the_sum_does_not() -> None:
    big = whole(point(np.array([[3e38, 3e38]])))
    with pytest.raises(Refused, match="overflow"):
        FORMATS["float32"].linear(big, np.array([[1.0], [-1.0]]))


def test_scores_of_real_runs_lie_in_their_boxes() -> None:
    dice, fmt = np.random.default_rng(9), FORMATS["float32"]
    for scale in (0, -70):
        q = fmt.inner.cast(dice.standard_normal((20, 3)) * 2.0**scale)
        k = fmt.inner.cast(dice.standard_normal((30, 3)) * 2.0**scale)
        scores = fmt.scores(point(q), point(k))
        real = (q.astype(np.float32) @ k.astype(np.float32).T).astype(np.float64)
        assert ((scores.lo <= real) & (real <= scores.hi)).all()
    assert fmt.scores(point(np.zeros((2, 3))), point(k)).known.all()


def test_softmax_of_real_runs_lies_in_its_box() -> None:
    dice = np.random.default_rng(10)
    for name, kind in (("float32", np.float32), ("float64", np.float64)):
        fmt = FORMATS[name]
        for spread in (0.0, 1.0, 30.0, 300.0):
            scores = (dice.standard_normal((30, 17)) * spread).astype(kind)
            exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
            real = (exponentials / exponentials.sum(axis=1, keepdims=True)).astype(np.float64)
            box = fmt.weights(
                point(scores.astype(np.float64)), np.ones(scores.shape, bool), np.ones(scores.shape)
            )
            assert ((box.lo <= real) & (real <= box.hi)).all()


@pytest.mark.parametrize("count", [3, 8, 10, 24, 64])
def test_weights_allow_for_32_units_in_the_last_place_of_exp(count: int) -> None:
    """Just above a power of two a unit is two roundings; one exp is too large, and most others too small."""
    score, unit = np.float32(-0.6931471), 2.0**-24
    exact = np.exp(np.float64(score))
    assert 0.5 < exact < 0.5 + 8 * unit
    up, down = (np.float32(np.float32(exact) + side * 31 * unit) for side in (1, -1))
    total = np.float32(1)
    for term in (up, *(count - 2) * (down,)):
        total = np.float32(total + term)
    scores = np.array([[0.0, *(count - 1) * (float(score),)]])
    box = FORMATS["float32"].weights(point(scores), np.ones((1, count), bool), np.ones((1, count)))
    for weight in (up / total, up * (np.float32(1) / total)):
        assert box.lo[0, 1] <= float(weight) <= box.hi[0, 1]


def test_small_rivals_are_not_lost_beside_a_large_weight() -> None:
    """Others of 1e-20 beside a weight of 1 vanish in a plain difference of sums."""
    scores = Real(np.array([[-44.0, -46.0]]), np.array([[0.0, -46.0]]))
    box = FORMATS["float64"].weights(scores, np.ones((1, 2), bool), np.ones((1, 2)))
    assert box.lo[0, 0] <= np.exp(-44.0) / (np.exp(-44.0) + np.exp(-46.0))


def test_averages_of_equal_weights_lie_within_their_error() -> None:
    dice, fmt = np.random.default_rng(11), FORMATS["float32"]
    for count in (3, 50, 700):
        weight = np.float32(1 / (count + 3))
        terms = (dice.integers(0, 2, size=count) * weight).astype(np.float32)
        exact = float(terms.astype(np.float64).sum())
        size, largest = np.array([count * float(weight)]), np.array([float(weight)])
        off = fmt.averaged(size, largest, np.array([float(count)]), float(count))
        for order in (np.arange(count), dice.permutation(count)):
            total = np.float32(0.0)
            for term in terms[order]:
                total = np.float32(total + term)
            assert abs(float(total) - exact) <= off[0]
        assert off[0] < fmt.averaged(size, np.array([np.inf]), np.array([float(count)]), float(count))[0]


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_heads_may_be_added_in_any_order(name: str) -> None:
    dice, fmt = np.random.default_rng(12), FORMATS[name]
    parts = [fmt.outer.cast(dice.standard_normal((1, 6)) * 10.0 ** dice.integers(-3, 4)) for _ in range(5)]
    box = fmt.gathered([whole(point(part)) for part in parts])
    for _ in range(40):
        left = list(parts)
        while len(left) > 1:
            dice.shuffle(left)
            left.append(fmt.outer.cast(fmt.inner.cast(left.pop() + left.pop())))
        assert inside(box, left[0])


def test_what_is_kept_beside_a_counter_rounds_with_the_size_of_both() -> None:
    fmt: Format = FORMATS["float32"]
    old, added = Box(point([[1.0]]), np.array([2.0**24])), whole(point([[0.25]]))
    box = fmt.add(old, added)
    assert box.part.hi[0, 0] - box.part.lo[0, 0] >= 1.0


def test_sines_of_real_runs_lie_in_their_boxes() -> None:
    values = np.linspace(-300, 300, 999).astype(np.float32)
    box = FORMATS["float32"].sine(point(values.astype(np.float64)))
    real = np.sin(values).astype(np.float64)
    assert ((box.lo <= real) & (real <= box.hi)).all()
    assert (FORMATS["float32"].sine(between([-10.0], [10.0])).hi <= 1.001).all()


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_boxes_of_a_matrix_taken_in_parts_lie_between_the_exact_ones_and_those_of_the_whole(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fmt, dice = FORMATS[name], np.random.default_rng(3)
    weight, bias = dice.integers(-9, 10, (12, 7)) / 4.0, dice.integers(-3, 4, 7) / 2.0
    weight[[2, 3, 8]], weight[:, 4], bias[1], x = 0.0, 0.0, 0.0, dice.normal(size=(5, 12))
    box = Box(between(x - 0.25, x + 0.25), np.abs(dice.normal(size=12)))
    together, most = fmt.measured(box, weight, bias)
    monkeypatch.setattr("krohn.check.arithmetic.format.LARGE", 8)
    out, off = fmt.measured(box, weight, bias)
    up, down = np.maximum(weight, 0), np.minimum(weight, 0)
    low, high = box.part.lo @ up + box.part.hi @ down + bias, box.part.hi @ up + box.part.lo @ down + bias
    slack = 1e-12
    assert (together.part.lo - slack <= out.part.lo).all()
    assert (out.part.lo <= low + slack).all()
    assert (high - slack <= out.part.hi).all()
    assert (out.part.hi <= together.part.hi + slack).all()
    assert np.allclose(out.beyond, np.broadcast_to(together.beyond, out.beyond.shape))
    assert (off <= most + slack).all()
    assert (off[:, weight.any(axis=0)] > 0).all()


def test_a_large_matrix_of_zeros_is_bounded_in_less_memory_than_its_own() -> None:
    side = 3_000
    weight, box = np.zeros((side, side)), whole(point(np.ones((1, side))))
    weight[7, 5] = 1.0
    tracemalloc.start()
    out = FORMATS["float32"].linear(box, weight, np.zeros(side))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert out.part.lo[0, 5] == 1.0
    assert out.part.lo.sum() == 1.0
    assert peak < weight.nbytes / 4
