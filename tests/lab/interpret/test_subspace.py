"""Directions in synthetic streams with known content."""

import numpy as np
import torch

from krohn.lab.interpret.subspace import RIDGES, Spread, directions, random_directions


def example(rng: np.random.Generator) -> tuple[torch.Tensor, np.ndarray]:
    """Channel 0: the value times a factor of the position. Channel 1: the value with noise. Others: noise."""
    values = rng.integers(3, size=(200, 6))
    stream = rng.standard_normal((200, 6, 8))
    stream[..., 0] = values * (1 + np.arange(6))
    stream[..., 1] += values
    return torch.from_numpy(stream), values


def test_a_small_ridge_finds_the_code_that_holds_nothing_else() -> None:
    stream, values = example(np.random.default_rng(0))
    basis = directions(*Spread(stream).scatters(values), RIDGES[0])[0]
    assert abs(float(basis[0, 0])) > 0.9999
    assert torch.allclose(basis.T @ basis, torch.eye(basis.shape[1], dtype=basis.dtype), atol=1e-9)


def test_a_rotation_of_the_stream_rotates_the_directions() -> None:
    stream, values = example(np.random.default_rng(1))
    turn = random_directions(8, 8, seed=2)
    for ridge in RIDGES:
        plain = directions(*Spread(stream).scatters(values), ridge)[0][:, :2]
        turned = directions(*Spread(stream @ turn).scatters(values), ridge)[0][:, :2]
        assert torch.allclose(turn.T @ plain @ plain.T @ turn, turned @ turned.T, atol=1e-6)


def test_positions_without_a_value_are_left_out() -> None:
    stream, values = example(np.random.default_rng(2))
    spoiled, missing = stream.clone(), values.copy()
    spoiled[:50, 2] = 1e6
    missing[:50, 2] = -1
    cut = np.where(np.arange(6) == 2, -1, values)
    assert abs(float(directions(*Spread(spoiled).scatters(missing), RIDGES[0])[0][0, 0])) > 0.9999
    between, _ = Spread(stream).scatters(cut)
    other, _ = Spread(stream[:, [0, 1, 3, 4, 5]]).scatters(values[:, [0, 1, 3, 4, 5]])
    assert torch.allclose(between, other)


def test_a_stream_that_says_nothing_has_no_directions() -> None:
    assert directions(torch.zeros(3, 3), torch.zeros(3, 3), 1e-3)[0].shape == (3, 0)
