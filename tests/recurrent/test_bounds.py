"""Foundations of the proofs against brute force: balls, merged machines, rows of chunks."""

import numpy as np
import pytest

from krohn.automata.zoo import parse_spec
from krohn.check.arithmetic.sums import Notes
from krohn.check.ground import Refused, Work, point
from krohn.check.recurrent.balls import Ball, DiagonalBalls
from krohn.check.recurrent.chunks import carry_back
from krohn.recurrent.recurrent_network import logits_of
from krohn.recurrent.recurrent_weights import diagonal


@pytest.mark.parametrize("name", ["C5", "D10"])
def test_balls_hold_what_floats_do(name: str) -> None:
    automaton, rng = parse_spec(name), np.random.default_rng(0)
    cell = diagonal(automaton)
    balls = DiagonalBalls(cell, "float32")
    carried, word = balls.start(), rng.integers(automaton.num_letters, size=(1, 40))
    for letter, result in zip(word[0], logits_of(cell, word)[0], strict=True):
        carried, logits = balls.step(carried, int(letter))
        assert (np.abs(result - logits.middle) <= logits.radius).all()
    assert any(memory.radius.any() for memory, _, _ in carried)


@pytest.mark.parametrize("name", ["D8", "abab"])
def test_gates_that_do_not_turn_have_no_horizon(name: str) -> None:
    with pytest.raises(Refused, match="gates that turn"):
        DiagonalBalls(diagonal(parse_spec(name)), "float32")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_sums_in_any_order_stay_in_their_ball(dtype: str) -> None:
    import torch

    cell, rng = diagonal(parse_spec("C5")), np.random.default_rng(1)
    balls, kind = DiagonalBalls(cell, dtype), getattr(torch, dtype)
    weight = torch.tensor(rng.normal(size=(30, 4)), dtype=torch.float32).to(kind)
    x = torch.tensor(rng.normal(size=(6, 30)), dtype=torch.float32).to(kind)
    ball = balls.product(Ball(x.double().numpy(), np.zeros(x.shape)), weight.double().numpy())
    for _ in range(20):
        total = torch.zeros(6, 4)  # added in float32 in both types, as matrix products are
        for i in rng.permutation(30):
            total = total + x[:, i, None].float() * weight[i].float()
        for result in (total.to(kind), x @ weight):
            assert (np.abs(result.double().numpy() - ball.middle) <= ball.radius).all()


def test_a_unit_at_its_bend_is_refused() -> None:
    wide, on = Ball(np.array([[-1.0]]), np.array([[2.0]])), Ball(np.array([[1.0]]), np.array([[2.0]]))
    with pytest.raises(Refused):
        wide.positive()
    assert on.positive().radius[0, 0] == 2.0
    assert Ball(np.array([[-3.0]]), np.array([[2.0]])).positive().radius[0, 0] == 0.0


def test_rows_carried_back_are_those_of_every_inverse() -> None:
    rng = np.random.default_rng(2)
    code = np.repeat(np.eye(4), 2, axis=1)
    pairs = [(0, 1), (1, 2), (2, 3)]
    keys = np.array([[(code[i] - code[j]) / 2] for i, j in pairs])
    rows = carry_back(np.ones(3), keys, 2 * keys, Work(1e10))
    assert rows is not None
    known = {row.tobytes() for row in rows}
    for _ in range(20):
        word = rng.integers(3, size=12)
        k, w = keys[word, 0], 2 * keys[word, 0]
        inverse = np.linalg.inv(np.eye(12) + np.tril(w @ k.T, -1))
        solution = np.rint(inverse @ w * 4) / 4 + 0.0
        assert all(row.tobytes() in known for row in solution)
    skewed = 1.5 * keys * np.array([1.1, 1, 1])[:, None, None]
    assert carry_back(np.ones(3), keys, skewed, Work(1e10)) is None


def test_what_is_remembered_is_each_step_once() -> None:
    notes = Notes()
    for _ in range(3):
        steps = point([[1.0, 2.0], [1.0, 2.0], [0.5, 0.0]])
        notes.take("mix", point([[0.25, -3.0]]), [steps[:, :1], steps[:, 1:]])
    assert len(notes.steps["mix"]) == 2
    assert notes.sizes["mix"] == (3.0, 0.25)
    assert notes.exact
