"""The leak bound against softmax itself."""

import numpy as np

from krohn.certify.arithmetic import arithmetic
from krohn.certify.visit_heads import Leak, copied_error, leak_of


def test_the_leak_bounds_every_softmax_within_the_error() -> None:
    dice = np.random.default_rng(0)
    arith = arithmetic("float64")
    for _ in range(50):
        scores = dice.uniform(-3, 0, size=(1, 9))
        wanted = int(dice.integers(9))
        scores[0, wanted] = 4.0
        others = scores.copy()
        others[0, wanted] = -np.inf
        target = np.full((1, 9), -np.inf)
        target[0, wanted] = 4.0
        leak = leak_of(target, others, others, 0.05, arith)
        moved = scores + dice.uniform(-0.05, 0.05, size=scores.shape)
        weights = np.exp(moved) / np.exp(moved).sum()
        far = np.abs(np.arange(9) - wanted)
        assert 1 - weights[0, wanted] <= leak.total
        assert (weights[0] * far).sum() <= leak.distance
        assert leak.gap == 4.0 - others.max()


def test_a_gap_beyond_underflow_copies_exactly() -> None:
    arith = arithmetic("float32")
    target, others = np.array([[0.0, -np.inf]]), np.array([[-np.inf, -200.0]])
    leak = leak_of(target, others, others, 1.0, arith)
    assert leak.total == 0.0
    assert copied_error(leak, np.ones(1), np.ones(1), np.ones(1), 2, arith).tolist() == [0.0]
    weights = np.exp(np.array([0.0, -200.0], dtype=np.float32))
    assert (weights / weights.sum()).tolist() == [1.0, 0.0]


def test_copying_a_far_value_costs_what_the_leak_moves() -> None:
    arith = arithmetic("float32")
    dice = np.random.default_rng(1)
    values = dice.integers(0, 9, size=64).astype(np.float32)
    scores = np.linspace(-640, 0, 64).astype(np.float32)[None, :]
    others = scores.astype(np.float64).copy()
    others[0, -1] = -np.inf
    target = np.full((1, 64), -np.inf)
    target[0, -1] = 0.0
    leak = leak_of(target, others, others, 0.0, arith)
    weights = np.exp(scores[0])
    weights = weights / weights.sum()
    bound = copied_error(leak, np.array([8.0]), np.zeros(1), np.array([8.0]), 64, arith)
    assert abs(float(weights @ values) - values[-1]) <= bound[0]


def test_a_lead_is_put_into_words_whichever_side_leads() -> None:
    assert Leak(0.0, 0.0, 12.5).lead_of("t − 1") == "t − 1 wins by 12.5 nats"
    assert Leak(1.0, 1.0, -3e10).lead_of("t − 1") == "t − 1 may lose by 3e+10 nats to another position"
