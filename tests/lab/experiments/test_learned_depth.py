"""Least depths that are only known to lie between two depths: how they are read, and the model for them."""

import math
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TOOLS = Path(__file__).parents[3] / "tools"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    sys.path.insert(0, str(TOOLS))
    try:
        return runpy.run_path(str(TOOLS / "learned_depth.py"))
    finally:
        sys.path.remove(str(TOOLS))


def rows(**solved: bool) -> list[dict[str, Any]]:
    return [{"task": "C2", "depth": int(name[1:]), "solved": passed} for name, passed in solved.items()]


@pytest.mark.parametrize(
    ("cells", "low", "high", "shown"),
    [
        ({"L1": True, "L2": True}, 0, 1, "1"),
        ({"L1": False, "L4": True, "L8": True}, 1, 4, "1 < L ≤ 4"),
        ({"L8": True}, 0, 8, "at most 8"),
        ({"L1": False, "L8": False}, 8, math.inf, "more than 8"),
        ({"L2": True, "L4": False}, 0, 2, "at most 2"),
    ],
)
def test_what_cells_say_of_the_least_depth(
    script: dict[str, Any], cells: dict[str, bool], low: float, high: float, shown: str
) -> None:
    result = script["interval"]("C2", "Muon", rows(**cells))
    assert (result.low, result.high, str(result)) == (low, high, shown)
    assert script["interval"]("C3", "Muon", rows(**cells)) is None


def likelihood(beta: tuple[float, float], spread: float, x: Any, low: Any, high: Any) -> float:
    """From the definition, by the error function."""
    total = 0.0
    for one, bottom, top in zip(x, low, high, strict=True):
        ends = [(edge - beta[0] - beta[1] * one) / spread / math.sqrt(2) for edge in (bottom, top)]
        total += math.log(max(1e-300, (math.erf(ends[1]) - math.erf(ends[0])) / 2))
    return total


def test_the_fit_is_the_best_of_a_search_by_brute_force(script: dict[str, Any]) -> None:
    x = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0])
    low = np.array([-np.inf, 0.0, 0.0, 1.0, -np.inf, 2.0, 2.0, 3.0])
    high = np.array([0.0, 1.0, 1.0, 2.0, 3.0, np.inf, 3.0, np.inf])
    result = script["fit"](np.stack([np.ones(8), x], axis=1), low, high).log_likelihood
    best = max(
        likelihood((intercept, slope), spread, x, low, high)
        for intercept in np.linspace(-1, 1, 41)
        for slope in np.linspace(0, 2, 41)
        for spread in np.linspace(0.2, 1.6, 29)
    )
    assert best - 1e-3 <= result <= best + 0.05


def test_an_observation_of_weight_two_counts_twice(script: dict[str, Any]) -> None:
    places = np.column_stack([np.ones(5), [0.0, 1.0, 2.0, 3.0, 4.0]])
    low, high = np.array([0.0, 0.0, 1.0, 1.0, 2.0]), np.array([1.0, 2.0, 2.0, 3.0, math.inf])
    order = [0, 1, 1, 2, 3, 4, 4]
    twice = script["fit"](places[order], low[order], high[order])
    weighted = script["fit"](places, low, high, np.array([1.0, 2.0, 1.0, 1.0, 2.0]))
    assert weighted.log_likelihood == pytest.approx(twice.log_likelihood, abs=1e-6)
    assert weighted.slopes == pytest.approx(twice.slopes, abs=1e-5)


def test_a_property_that_decides_gains_and_one_that_does_not_gains_little(script: dict[str, Any]) -> None:
    x = np.array([0.0, 1.0] * 6)
    low, high = np.where(x > 0, 2.0, -np.inf), np.where(x > 0, np.inf, 1.0)
    low[:2], high[:2] = [0.0, 1.0], [1.0, 2.0]  # so that no line is perfect
    base = np.ones((12, 1))
    none = script["fit"](base, low, high).log_likelihood
    right = script["fit"](np.column_stack([base, x]), low, high).log_likelihood
    idle = script["fit"](np.column_stack([base, np.repeat([0.0, 1.0], 6)]), low, high).log_likelihood
    assert right > none + 2
    assert none - 1e-6 <= idle < none + 1


def test_a_cell_that_one_replicate_passes_is_not_passed_by_most(script: dict[str, Any]) -> None:
    few = [row | {"reached": 3 * row["solved"], "replicates": 6} for row in rows(L4=False, L8=True)]
    many = [row | {"reached": 4 * row["solved"]} for row in few]
    assert [str(script["interval"]("C2", "Muon", one)) for one in (few, many)] == ["4 < L ≤ 8"] * 2
    by_most = [str(script["interval"]("C2", "Muon", script["by_most"](one))) for one in (few, many)]
    assert by_most == ["more than 8", "4 < L ≤ 8"], "three of six are not most"
    assert script["passing"]({"reached": 1, "replicates": 6, "max_accuracy": 0.98999}) == "1 of 6 (98.9%)"
