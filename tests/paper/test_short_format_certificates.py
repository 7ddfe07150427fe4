"""What the paper's methods build for float32 is certified there, because steps and indicators saturate."""

import numpy as np
import pytest

from every import every
from krohn.automata.zoo import parse_spec
from krohn.network.transformer import Mlp
from krohn.paper.circular_mlp import circular_mlp
from krohn.paper.counter import modular_mlp
from krohn.paper.interpolation import saturating_nd
from krohn.proving.verification import verify
from paper.lemmas import interpolation_nd_meaning, modular_meaning
from unproved import compile


def in_float32(mlp: Mlp, inputs: np.ndarray) -> np.ndarray:
    """A ReLU network in float32, naively."""
    values = inputs.astype(np.float32)
    for index, (weight, bias) in enumerate(zip(mlp.weights, mlp.biases, strict=True)):
        values = np.maximum(values, 0) if index else values
        values = values @ weight.astype(np.float32) + bias.astype(np.float32)
    return values


@every(
    ("name", "method"),
    [
        *((name, "paper") for name in ("C5", "abab", "T3")),
        *((name, "grid") for name in ("Grid9:noop", "Grid3x4")),
    ],
)
def test_networks_built_for_float32_are_certified_in_float32(name, method) -> None:
    automaton = parse_spec(name)
    length = 24 if name == "C5" else 8
    network = compile(automaton, length, method=method, dtype="float32")
    certificate = verify(network, dtype="float32", second_opinion=False)
    assert certificate.certified, certificate.reason
    assert certificate.margin > 0.49
    words = np.random.default_rng(0).integers(0, automaton.num_letters, (4, length))
    assert network.run(words, np.float32).tolist() == [automaton.run(word) for word in words.tolist()]


@pytest.mark.parametrize(("modulus", "start"), [(1, 0), (2, 1), (3, 0), (7, 5), (24, 11)])
def test_counters_by_steps_are_exact_in_float32_within_a_quarter_of_a_sum(modulus, start) -> None:
    length = 100
    sums = np.arange((modulus - 1) * length + 1)
    expected = [modular_meaning(int(j), modulus, start) for j in sums]
    mlp = modular_mlp(modulus, length, start, "steps")
    for off in (-0.24, 0.0, 0.24):
        # Below the least sum there is none: the unit of y cuts off at 0.
        inputs = np.maximum(sums + off, 0.0)[:, None] / (2.0 * length)
        assert in_float32(mlp, inputs)[:, 0].tolist() == expected


def test_sums_of_one_residue_class_get_the_same_point_in_float32_bit_for_bit() -> None:
    total, period = 131, 9
    sums = np.arange(-total, total + 1)
    points = in_float32(circular_mlp(total, period, "clamped"), (sums + 0.2)[:, None] / (2.0 * total))
    angle = 2.0 * np.pi * (sums % period) / period
    np.testing.assert_allclose(
        points, np.stack([np.cos(angle), np.sin(angle)], axis=1), rtol=0, atol=2.0**-24
    )
    for residue in range(period):
        assert len(np.unique(points[sums % period == residue], axis=0)) == 1


def test_saturating_tables_return_their_values_exactly_for_inputs_off_by_less_than_a_quarter() -> None:
    random = np.random.default_rng(3)
    rows = np.unique(random.integers(-3, 24, (40, 5)), axis=0)
    values = random.integers(-50, 50, (len(rows), 2))
    inputs = rows + random.uniform(-0.24, 0.24, rows.shape)
    expected = interpolation_nd_meaning(rows, values, inputs)
    assert np.array_equal(in_float32(saturating_nd(rows, values), inputs), expected)
    assert np.array_equal(expected, values)
