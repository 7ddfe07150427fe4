"""MLPs put together from signals against the plain arithmetic they stand for."""

from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from every import every
from krohn.errors import LimitExceeded
from krohn.network.lowering.mlp_builder import SLACK, MlpBuilder, Signal, require_entries, require_positions
from krohn.network.lowering.staircase import ramp_width, staircase
from krohn.network.transformer import Mlp

Numbers = npt.NDArray[np.float64]
DIM = 3
INPUTS = np.array([[a, b, c] for a in (-2.0, 0.0, 3.0) for b in (-1.0, 0.5) for c in (0.0, 2.0)])


def naive(mlp: Mlp, inputs: Numbers) -> Numbers:
    """Layer by layer with nothing but products, sums and max(0, ·)."""
    held = inputs
    for weight, bias in zip(mlp.weights[:-1], mlp.biases[:-1], strict=True):
        held = np.maximum(held @ weight + bias, 0.0)
    return held @ mlp.weights[-1] + mlp.biases[-1]


@dataclass
class Known:
    """A signal and the values it must have."""

    signal: Signal
    values: Numbers


def given(channel: int) -> Known:
    column = INPUTS[:, channel]
    return Known(Signal(0, {channel: 1.0}, 0.0, float(column.min()), float(column.max())), column)


def grown(builder: MlpBuilder, rng: Random, steps: int) -> list[Known]:
    """Random expressions: sums, multiples, positive parts, the same value some layers later."""
    result = [given(channel) for channel in range(DIM)]
    for _ in range(steps):
        one, other = rng.choice(result), rng.choice(result)
        factor = rng.choice([-2.0, -0.5, 1.0, 3.0])
        kind = rng.randrange(4)
        if kind == 0:
            signal = builder.total([one.signal, other.signal.scaled(factor)], factor)
            result.append(Known(signal, one.values + factor * other.values + factor))
        elif kind == 1:
            result.append(Known(builder.positive(one.signal), np.maximum(one.values, 0.0)))
        elif kind == 2:
            result.append(Known(builder.carried(one.signal, one.signal.layer + 2), one.values))
        else:
            result.append(Known(one.signal.scaled(factor), factor * one.values))
    return result


@every("balanced", [False, True])
@every("seed", range(25))
def test_an_mlp_computes_what_its_signals_say_and_keeps_within_their_bounds(
    seed: int, balanced: bool
) -> None:
    builder = MlpBuilder(DIM, balanced=balanced)
    known = grown(builder, Random(seed), 8)
    mlp = builder.build({channel: part.signal for channel, part in enumerate(known)}, width=len(known) + 1)
    outputs = naive(mlp, INPUTS)
    for channel, part in enumerate(known):
        np.testing.assert_allclose(outputs[:, channel], part.values, atol=1e-9)
        assert part.signal.low - 1e-9 <= part.values.min()
        assert part.values.max() <= part.signal.high + 1e-9
    assert (outputs[:, -1] == 0).all()  # what was not asked for is nothing


@every("seed", range(10))
def test_balancing_moves_powers_of_two_and_nothing_else(seed: int) -> None:
    built = []
    for balanced in (False, True):
        builder = MlpBuilder(DIM, balanced=balanced)
        signals = {channel: part.signal for channel, part in enumerate(grown(builder, Random(seed), 8))}
        built.append(builder.build(signals, width=len(signals)))
    plain, even = built
    for before, after in zip(plain.weights, even.weights, strict=True):
        changed = (before != 0) & (after != 0)
        assert ((before != 0) == (after != 0)).all()
        exponents = np.log2(np.abs(after[changed] / before[changed]))
        assert (exponents == np.round(exponents)).all()
    assert (naive(plain, INPUTS) == naive(even, INPUTS)).all()  # bit by bit


def test_a_unit_is_balanced_so_that_its_input_and_output_are_about_equally_large() -> None:
    for factor in (1024.0, 512.0, 1 / 4096):
        builder = MlpBuilder(DIM)
        mlp = builder.build({0: builder.positive(given(0).signal).scaled(factor)})
        inward, outward = np.abs(mlp.weights[0]).max(), np.abs(mlp.weights[1]).max()
        assert inward * outward == factor
        assert 1 / 4 < inward / outward < 4


def test_equal_units_are_made_once_and_constants_need_none() -> None:
    builder = MlpBuilder(DIM)
    signal = given(0).signal
    assert builder.positive(signal).terms == builder.positive(signal).terms
    assert builder.unit(signal, 1.0, 0.0) != builder.unit(signal, 1.0, 1.0)
    assert [len(layer) for layer in builder.layers] == [2]
    three = builder.carried(Signal(0, {}, 3.0, 3.0, 3.0), 5)
    assert (three.layer, three.terms, three.constant) == (5, {}, 3.0)
    assert len(builder.layers) == 1
    assert builder.total([]).constant == 0.0


def test_a_carried_value_survives_an_error_up_to_the_slack_below_its_least_value() -> None:
    builder = MlpBuilder(1)
    signal = Signal(0, {0: 1.0}, 0.0, -2.0, 5.0)
    mlp = builder.build({0: builder.carried(signal, 3)})
    inputs = np.array([[-2.0 - SLACK], [-2.0], [5.0 + 7.0]])
    assert naive(mlp, inputs).tolist() == inputs.tolist()
    assert naive(mlp, np.array([[-2.0 - SLACK - 0.5]])).tolist() == [[-2.0 - SLACK]]


@every("saturate", [False, True])
@every("seed", range(10))
def test_a_staircase_is_flat_around_every_point(seed: int, saturate: bool) -> None:
    rng = np.random.default_rng(seed)
    points = np.cumsum(rng.choice([0.5, 1.0, 3.0], size=6)) - 4.0
    values = rng.integers(-3, 4, size=(6, 2)).astype(np.float64)
    builder = MlpBuilder(1, saturate=saturate)
    code = Signal(0, {0: 1.0}, 0.0, float(points[0]), float(points[-1]))
    mlp = builder.build(dict(enumerate(staircase(builder, code, points, values))), width=2)
    gaps = np.diff(points)
    for index, point in enumerate(points):
        left = gaps[index - 1] / 4 if index else 100.0
        right = gaps[index] / 4 if index < 5 else 100.0
        around = np.array([[point - left], [point], [point + right]])
        np.testing.assert_allclose(naive(mlp, around), values[[index] * 3], atol=1e-9)
    assert len(mlp.weights) == (3 if saturate else 2)


@pytest.mark.parametrize("distance", [0.25, 0.3, 1.0, 1.9, 2.0, 7.0, 1000.0])
def test_a_ramp_is_a_power_of_two_and_at_most_half_of_its_distance(distance: float) -> None:
    width = ramp_width(distance)
    assert np.log2(width) == round(np.log2(width))
    assert distance / 4 < width <= distance / 2


def test_matrices_that_are_too_large_are_refused_with_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    require_entries(40_000_000)
    require_positions(4_000_000, 10)
    builder = MlpBuilder(DIM)
    signal = builder.positive(given(0).signal)
    monkeypatch.setattr("krohn.network.lowering.mlp_builder.MAX_ENTRIES", 14)
    with pytest.raises(LimitExceeded, match="would have 15;"):
        builder.build({0: signal}, width=12)  # 3 × 1 and 1 × 12
