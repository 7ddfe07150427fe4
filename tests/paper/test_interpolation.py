"""Lemmas mlp-1d, mlp-nd and threshold against their naive meanings, at the edge of their tolerance."""

import itertools

import numpy as np
import pytest

from every import every
from krohn.network.forward import apply_mlp
from krohn.paper.interpolation import interpolate_1d, interpolate_nd, threshold
from paper.lemmas import (
    MlpBound,
    interpolation_1d_bound,
    interpolation_1d_meaning,
    interpolation_nd_bound,
    interpolation_nd_meaning,
    threshold_bound,
    threshold_meaning,
)

DTYPES = [np.float64, np.float32]


@every("dtype", DTYPES)
@every("points", [[0], [0, 1, 2, 3], [-3, 5, 1], [0.0, 0.5, 1.5, -2.0]])
def test_a_table_of_one_number_is_reproduced_up_to_a_quarter_of_the_separation(points, dtype) -> None:
    values = np.random.default_rng(0).integers(-9, 10, (len(points), 3))
    mlp = interpolate_1d(points, values)
    gap = min([b - a for a, b in itertools.pairwise(sorted(points))], default=1.0)
    for noise in np.linspace(-gap / 4, gap / 4, 9):
        inputs = np.asarray(points, dtype=np.float64) + noise
        out = apply_mlp(mlp, inputs[:, None].astype(dtype))
        np.testing.assert_allclose(out, interpolation_1d_meaning(points, values, inputs), atol=1e-4)
    assert interpolation_1d_bound(points, values).violations(mlp) == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_table_of_several_numbers_is_reproduced_up_to_a_quarter_of_the_separation(dims, dtype) -> None:
    rng = np.random.default_rng(dims)
    points = np.array([p for p in itertools.product(range(4), repeat=dims) if rng.random() < 0.7])
    values = rng.integers(0, 9, (len(points), 2))
    mlp = interpolate_nd(points, values)
    for _ in range(10):
        inputs = points + rng.uniform(-0.25, 0.25, points.shape)
        out = apply_mlp(mlp, inputs.astype(dtype))
        np.testing.assert_allclose(out, interpolation_nd_meaning(points, values, inputs), atol=1e-4)
    assert interpolation_nd_bound(points, values).violations(mlp) == []


@pytest.mark.parametrize("gap", [0.01, 1.0, 7.0])
def test_the_threshold_is_exact_at_the_edge_of_its_tolerance(gap) -> None:
    points = np.array([-5 * gap, -gap, gap, 3 * gap])
    for noise in (-gap / 4, 0.0, gap / 4):
        out = apply_mlp(threshold(gap), (points + noise)[:, None])[:, 0]
        np.testing.assert_allclose(out, threshold_meaning(points), atol=1e-12)
    assert threshold_bound(gap).violations(threshold(gap)) == []


def test_a_bound_names_every_promise_a_network_breaks() -> None:
    broken = MlpBound((1,), (0.1, 0.1), (0.1, 0.0)).violations(threshold(1.0))
    assert len(broken) == 4
    assert "width 2 > 1" in broken[0]
    assert MlpBound((9, 9), (9, 9, 9), (9, 9, 9)).violations(threshold(1.0)) == ["2 layers, promised 3"]
