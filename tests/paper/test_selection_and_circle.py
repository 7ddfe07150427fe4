"""Softmax selection and circular embeddings: the bounds hold, and are not wildly loose."""

import math
from dataclasses import replace

import numpy as np
import pytest

from every import every
from krohn.paper.positions import circle, circle_code, rotation, selection_error, selection_gap
from krohn.paper.theorem1 import scan_gamma
from paper.lemmas import (
    computed_margin,
    nearest_back_meaning,
    neighbour_product,
    product_bound,
    recency_error,
    selection_distance,
)


@every("gap", [0.5, 2.0, 10.0])
@every("count", [1, 2, 50])
def test_softmax_is_as_close_to_one_hot_as_the_lemma_says(count, gap) -> None:
    rng = np.random.default_rng(count)
    for _ in range(50):
        scores = rng.uniform(-5, 0, count)
        scores[rng.integers(count)] = gap
        assert selection_distance(scores) <= selection_error(count, gap)
    worst = np.zeros(count)
    worst[0] = gap
    assert selection_distance(worst) <= selection_error(count, gap)


def test_the_gap_for_an_error_gives_that_error() -> None:
    assert selection_error(100, selection_gap(100, 1e-3)) == pytest.approx(1e-3)


@pytest.mark.parametrize("gap", [1.0, 4.0])
def test_scores_that_fall_with_distance_need_no_factor_of_the_length(gap) -> None:
    scores = gap * np.arange(1000)
    assert selection_distance(scores) <= recency_error(gap) < selection_error(1000, gap)


@every("count", [2, 3, 4, 8, 40, 41, 100, 1000])
def test_two_points_of_the_circle_are_as_far_apart_as_the_corrected_proposition_says(count) -> None:
    points = circle(np.arange(count), count)
    products = points @ points.T - 3 * np.eye(count)
    assert products.max() == pytest.approx(neighbour_product(count))
    assert products.max() <= product_bound(count) + 1e-15


def test_a_rotation_moves_a_point_along_the_circle() -> None:
    points = circle(np.arange(12), 12)
    np.testing.assert_allclose(
        points @ rotation(2 * math.pi * 5 / 12), circle(np.arange(12) + 5, 12), atol=1e-12
    )


@pytest.mark.parametrize("distance", [0, 1, 3, 8])
def test_a_look_back_on_the_circle_stops_at_the_start(distance) -> None:
    code = circle_code(18, 17, 1.0)
    scores = code.points @ (code.points @ code.key_rotation(distance)).T
    visible = np.where(np.tri(18, dtype=bool), scores, -np.inf)
    assert visible.argmax(axis=1).tolist() == nearest_back_meaning(18, distance)


@pytest.mark.parametrize("distance", [0, 1, 64])
def test_computed_scores_make_attention_one_hot(distance) -> None:
    for states in (2, 120):
        code = circle_code(1001, 1000, scan_gamma(states, 1000))
        assert computed_margin(code, distance, "float32") > 104
        assert computed_margin(code, distance, "float64") > 746


def test_a_code_that_cannot_tell_neighbours_apart_has_no_margin() -> None:
    coarse = circle_code(2001, 2000, scan_gamma(2, 2000))
    blurred = replace(coarse, points=np.round(coarse.points, 4))
    assert computed_margin(coarse, 1, "float32") > 104
    assert computed_margin(blurred, 1, "float64") <= 0
