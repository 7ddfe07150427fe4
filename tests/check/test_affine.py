"""Soundness of affine forms in exact rationals: a run gives every symbol its value."""

from fractions import Fraction

import numpy as np
import pytest

from krohn.check.arithmetic.format import FORMATS, Format
from krohn.check.ground import Array, Real
from krohn.check.transformer.mlp import Affine, entering

STORED = {"float64": np.float64, "float32": np.float32}


def run(dice: np.random.Generator, dtype: type, x: Array, weight: Array, bias: Array) -> Array:
    """x @ weight + bias, every operation rounded, the terms of each sum in an order of their own."""
    result = np.zeros(weight.shape[1])
    for unit in range(weight.shape[1]):
        terms = [dtype(a) * dtype(b) for a, b in zip(x, weight[:, unit], strict=True)] + [dtype(bias[unit])]
        order, total = dice.permutation(len(terms)), dtype(0)
        for index in order:
            total = dtype(total + terms[index])
        result[unit] = total
    return result


def apart(form: Affine, symbols: list[Fraction], values: Array) -> list[Fraction]:
    """The exact distance of each number from the value of its form."""
    result = []
    for unit, value in enumerate(values.tolist()):
        meant = Fraction(form.centre[0, unit].item())
        for symbol, part in zip(symbols, form.tied[:, 0, unit].tolist(), strict=True):
            meant += symbol * Fraction(part)
        result.append(Fraction(value) - meant)
    return result


def held(form: Affine, symbols: list[Fraction], values: Array) -> None:
    for off, own in zip(apart(form, symbols, values), form.own[0].tolist(), strict=True):
        assert abs(off) <= Fraction(own)
    assert (form.box.lo[0] <= values).all()
    assert (values <= form.box.hi[0]).all()


def numbers(dice: np.random.Generator, dtype: type, *shape: int) -> Array:
    """Numbers, some of them short, whose sums are exact."""
    short = dice.integers(-4, 5, shape) / 2.0 ** dice.integers(0, 3)
    return np.where(dice.random(shape) < 0.8, short, dice.normal(size=shape)).astype(dtype).astype(np.float64)


@pytest.mark.parametrize("name", ["float64", "float32"])
def test_two_layers_are_held_by_their_forms_exactly(name: str) -> None:
    fmt, dtype, dice = FORMATS[name], STORED[name], np.random.default_rng(0)
    certain = 0
    for _ in range(150):
        first, second = numbers(dice, dtype, 3, 5), numbers(dice, dtype, 5, 4)
        biases = numbers(dice, dtype, 5), numbers(dice, dtype, 4)
        middle = numbers(dice, dtype, 3)
        radius = np.where(dice.random(3) < 0.5, 0.0, dice.random(3) * 10.0 ** dice.integers(-9, 1))
        x = (middle + radius * dice.uniform(-1, 1, 3)).astype(dtype).astype(np.float64)
        box = Real(np.minimum(middle - radius, x)[None], np.maximum(middle + radius, x)[None])
        certain += _held_through(fmt, dtype, dice, box, x, (first, second), biases)
    assert certain >= 30  # some sums are known exactly


def _held_through(
    fmt: Format,
    dtype: type,
    dice: np.random.Generator,
    box: Real,
    x: Array,
    weights: tuple[Array, Array],
    biases: tuple[Array, Array],
) -> int:
    form = entering(box)
    assert ((form.tied[:, 0] != 0).sum(axis=1) == 1).all()  # each symbol is the error of one input
    ends = zip(x.tolist(), form.centre[0].tolist(), form.tied[:, 0].sum(axis=0).tolist(), strict=True)
    symbols = [(Fraction(a) - Fraction(c)) / Fraction(r) for a, c, r in ends if r]
    sums = form.linear(fmt, weights[0], biases[0])
    values = run(dice, dtype, x, weights[0], biases[0])
    held(sums, symbols, values)
    units, shown = sums.activate(fmt, np.zeros(len(values), dtype=bool)), np.maximum(values, 0.0)
    held(units, symbols, shown)
    after = run(dice, dtype, shown, weights[1], biases[1])
    last = units.linear(fmt, weights[1], biases[1])
    held(last, symbols, after)
    return int(last.box.known.sum())
