"""Points anywhere in the balls that go in come out in the balls that come out."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from every import every
from krohn.automata.zoo import parse_spec
from krohn.check.ground import Refused
from krohn.check.recurrent.balls import Ball, DiagonalBalls
from krohn.recurrent.recurrent_weights import diagonal


def balls() -> DiagonalBalls:
    """Of a diagonal stack; only its gates matter here."""
    return DiagonalBalls(diagonal(parse_spec("C5")), "float32")


def gate_of(parts: torch.Tensor) -> np.ndarray:
    """As the layer has it, in float32."""
    real, imaginary = parts.chunk(2, -1)
    size = (real.square() + imaginary.square()).clamp(min=1.0).sqrt()
    turned: np.ndarray = (real / size).double().numpy() + 1j * (imaginary / size).double().numpy()
    return turned


def inside(ball: Ball, dice: np.random.Generator) -> np.ndarray:
    """A point of each ball, often at its edge."""
    share = dice.choice([-1.0, 1.0, 0.3, -0.7], size=ball.middle.shape)
    moved: np.ndarray = ball.middle + share * ball.radius
    return moved


@every("radius", [0.0, 1e-6, 1e-2, 0.3])
def test_a_gate_moves_no_further_than_its_ball(radius: float) -> None:
    dice, ways = np.random.default_rng(4), balls()
    width = 8
    for size in (0.1, 0.9, 1.0, 1.1, 3.0):
        middle = (dice.normal(size=(50, width)) * size).astype(np.float32).astype(np.float64)
        parts = Ball(middle, np.full(middle.shape, radius))
        gates = ways.gates(parts)
        for _ in range(8):
            given = torch.tensor(inside(parts, dice), dtype=torch.float32)
            # Rounding a point to float32 may take it out of its ball by half a unit.
            slack = 1e-6 * (1 + np.abs(middle).max())
            assert (np.abs(gate_of(given) - gates.middle) <= gates.radius + slack).all()


@pytest.mark.parametrize("gate", ["signed", "unit"])
def test_a_horizon_is_for_gates_that_turn(gate: str) -> None:
    with pytest.raises(Refused, match="gates that turn"):
        DiagonalBalls(replace(diagonal(parse_spec("C5")), gate=gate), "float32")


@pytest.mark.parametrize("turn", [(1, 0), (-1, 0), (0, 1), (0, -1), (5, 0), (0, -7)])
def test_only_quarter_turns_are_called_exact(turn: tuple[int, int]) -> None:
    ways = balls()
    middle = np.array([turn], dtype=np.float64)
    exact = ways.gates(Ball(middle, np.zeros((1, 2))))
    length = complex(*turn)
    assert exact.middle[0, 0] == length / abs(length)
    assert exact.radius[0, 0] == 0
    tilted = ways.gates(Ball(middle + 0.25, np.zeros((1, 2))))
    assert tilted.radius[0, 0] > 0


@pytest.mark.parametrize("radius", [0.0, 0.02, 0.1])
def test_units_are_on_or_off_all_over_their_ball_or_refused(radius: float) -> None:
    dice = np.random.default_rng(2)
    refused = 0
    for _ in range(200):
        x = Ball(dice.normal(size=(1, 3)), np.full((1, 3), radius))
        try:
            result = x.positive()
        except Refused:
            refused += 1
            assert ((x.middle <= 0) & (x.middle + radius > 0)).any()
            continue
        for _ in range(4):
            assert (np.abs(np.maximum(inside(x, dice), 0) - result.middle) <= result.radius + 1e-15).all()
    assert (refused > 0) == (radius > 0)


def test_sums_and_letters_of_a_stack_hold_their_points() -> None:
    dice, ways = np.random.default_rng(6), balls()
    for unit in (1.0, 1e-3, 1e3):
        x, y = (Ball(dice.normal(size=(5, 4)) * unit, dice.random((5, 4)) * unit / 9) for _ in range(2))
        result = ways.plus(x, y)
        for _ in range(10):
            one, other = (inside(part, dice).astype(np.float32) for part in (x, y))
            assert (np.abs((one + other) - result.middle) <= result.radius + 1e-6 * unit).all()
    whole = ways.plus(Ball(np.array([[3.0]]), np.zeros((1, 1))), Ball(np.array([[-5.0]]), np.zeros((1, 1))))
    assert (whole.middle.item(), whole.radius.item()) == (-2.0, 0.0)


def test_a_memory_holds_its_points_where_gate_and_memory_are_uncertain() -> None:
    """Around a memory of 0 all that an uncertain gate does is the product of two radii."""
    dice, ways = np.random.default_rng(8), balls()
    pairs, width = 3, 4
    w = {"gate.weight": dice.normal(size=(width, 2 * pairs)) / 4, "gate.bias": np.zeros(2 * pairs)}
    w["write"] = np.zeros((width, 2 * pairs))
    window = Ball(dice.normal(size=(40, width)), np.full((40, width), 0.5))
    middles = ways.numbers(exactly(window.middle @ w["gate.weight"])).middle
    for size in (0.0, 1.0):
        turned = np.exp(2j * np.pi * dice.random((40, pairs)))
        _, after = ways.mix(w, window, Ball(size * turned, np.ones((40, pairs))))
        for _ in range(50):
            gate = gate_of(torch.tensor(inside(window, dice) @ w["gate.weight"]))
            # As far out as it can be, in the direction in which the gate has moved.
            moved = gate - middles / np.maximum(1.0, np.abs(middles))
            held = size * turned + np.exp(1j * (np.angle(size * turned * moved) - np.angle(gate)))
            assert (np.abs(gate * held - after.middle) <= after.radius).all()


def exactly(numbers: np.ndarray) -> Ball:
    return Ball(numbers, np.zeros(numbers.shape))


@every("seed", range(20))
def test_a_gate_moves_below_the_chord_of_its_bound(seed: int) -> None:
    """Also where the bound itself does not, because the circle lies within the ball."""
    dice, ways = np.random.default_rng(seed), balls()
    middle = dice.normal(size=(1, 2)) * dice.choice([0.5, 1.0, 2.0])
    low = float(dice.random() / 2)
    high = low + float(dice.random() * 2)

    def bound(radius: float) -> float:
        # The radius of a complex number is √2 times that of its parts.
        return float(ways.gates(Ball(middle, np.full((1, 2), radius / np.sqrt(2)))).radius[0, 0])

    centre, circle = complex(*middle[0]), np.exp(2j * np.pi * np.arange(720) / 720)
    turned = centre / max(1.0, abs(centre))
    for share in np.linspace(0, 1, 21):
        near = centre + ((1 - share) * low + share * high) * circle
        farthest = np.abs(near / np.maximum(1.0, np.abs(near)) - turned).max()
        assert farthest <= (1 - share) * bound(low) + share * bound(high) + 1e-9
