"""Affine arithmetic: what really happens inside an error box never leaves the enclosure."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krohn.certify.arithmetic import arithmetic
from krohn.certify.hidden import Affine, activate, apply, factor


def test_equal_columns_share_one_way_whatever_they_hold() -> None:
    """(x/y)·y is not always x in floats: dividing by the largest entry told equal columns apart."""
    column = np.array([3.28, 5.19, -2.96])
    largest = column[np.abs(column).argmax()]
    assert ((column / largest) * largest != column).any()
    factors = factor(np.column_stack([column, column, column]))
    assert factors.ways.shape == (3, 1)
    assert (factors.scales == 1.0).all()


def test_multiples_share_one_way() -> None:
    column = np.array([0.1, 0.3, -0.7])
    factors = factor(np.column_stack([column, 2 * column, -4 * column, np.zeros(3), column[::-1]]))
    assert (
        factors.ways @ factors.scales
        == np.column_stack([column, 2 * column, -4 * column, np.zeros(3), column[::-1]])
    ).all()
    used = factors.scales != 0
    assert (used.sum(axis=0) <= 1).all()
    assert used[:, 0].argmax() == used[:, 1].argmax() == used[:, 2].argmax() != used[:, 4].argmax()


def test_nearly_parallel_columns_do_not_share() -> None:
    """An error of one way must not cancel against another that only looks the same."""
    column = np.array([0.1, 0.3, -0.7])
    near = column * (1 + np.array([0, 1e-13, 0]))
    factors = factor(np.column_stack([column, near]))
    assert (factors.ways @ factors.scales == np.column_stack([column, near])).all()
    assert (factors.scales[:, 0] * factors.scales[:, 1] == 0).all()


@given(seed=st.integers(0, 10**6), name=st.sampled_from(["float64", "float32"]))
@settings(max_examples=80, deadline=None)
def test_runs_stay_inside_the_enclosure(seed: int, name: str) -> None:
    """Random MLPs with repeated and cancelling columns, random inputs of the box, sums in random order."""
    dice, arith = np.random.default_rng(seed), arithmetic(name)
    kind = np.dtype(name)
    widths = dice.integers(2, 6, size=4)
    weights = [_weight(dice, n, m, kind) for n, m in pairwise(widths)]
    biases = [dice.normal(size=weight.shape[1]).astype(kind).astype(float) for weight in weights]
    centre = dice.integers(-3, 4, size=(1, widths[0])).astype(float)
    radius = np.where(dice.random(widths[0]) < 0.5, 0.0, 10.0 ** dice.uniform(-6, -1, size=widths[0]))
    value = Affine(centre, np.diag(radius)[:, None, :], np.zeros_like(centre))
    for index, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        if index:
            value = activate(value, np.zeros(weight.shape[0], dtype=np.int64), arith)
        value = apply(value, weight, bias, arith, share=index + 1 < len(weights))
    for _ in range(20):
        inside = (centre[0] + radius * dice.choice([-1, 1, 0.3], size=len(radius))).astype(kind)
        inside = np.where(np.abs(inside - centre[0]) <= radius, inside, centre[0]).astype(kind)
        out = _run(inside, weights, biases, dice, kind)
        assert (np.abs(out - value.centre[0]) <= value.radius()[0]).all()


def _weight(dice: np.random.Generator, rows: int, columns: int, kind: np.dtype[np.floating]) -> np.ndarray:
    weight = dice.normal(size=(rows, columns)) * 10.0 ** dice.integers(-2, 3)
    copied = dice.integers(columns, size=columns)
    scale = dice.choice([1.0, -1.0, 2.0, 3.0], size=columns)
    mixed = np.where(dice.random(columns) < 0.5, weight, weight[:, copied] * scale)
    out: np.ndarray = mixed.astype(kind).astype(float)
    return out


def _run(
    stream: np.ndarray,
    weights: list[np.ndarray],
    biases: list[np.ndarray],
    dice: np.random.Generator,
    kind: np.dtype[np.floating],
) -> np.ndarray:
    """Every sum in an order of its own, rounded after every step."""
    for index, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        if index:
            stream = np.maximum(stream, 0)
        out = []
        for column, offset in zip(weight.T.astype(kind), bias.astype(kind), strict=True):
            total = kind.type(0)
            for term in dice.permutation([*(stream * column), offset]):
                total = kind.type(total + kind.type(term))
            out.append(total)
        stream = np.array(out, dtype=kind)
    return stream.astype(float)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_a_matrix_without_entries_has_factors(shape: tuple[int, int]) -> None:
    factors = factor(np.zeros(shape))
    assert (factors.ways @ factors.scales).shape == shape
