"""Comparison of two recipes on made-up curves: pairs, words to 99%, intervals."""

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krohn.lab.experiments.experiment import ResultCell
from lab.experiments.made_up_records import record

TOOLS = Path(__file__).parents[3] / "tools"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(TOOLS / "two_optimisers.py"))


def cell(*curves: dict[int, float]) -> ResultCell:
    records = [
        record(
            replicate=number,
            config={"optimizer": {"batch": 64}},
            metrics={
                "accuracy": max(curve.values()),
                "curve": {"step": list(curve), "accuracy": list(curve.values())},
            },
        )
        for number, curve in enumerate(curves)
    ]
    return ResultCell(label={"task": "C2"}, records=tuple(reversed(records)))


def test_a_replicate_that_was_done_early_keeps_its_last_accuracy(script: dict[str, Any]) -> None:
    result = script["way"](cell({2000: 0.5, 4000: 0.6, 6000: 0.995}, {2000: 0.999}, {2000: 0.3, 4000: 0.4}))
    assert result.at_common == (0.6, 0.999, 0.4)
    assert result.words == (6000 * 64, 2000 * 64, None)
    assert script["way"](cell({4000: 0.6}, {4000: 0.7}, {4000: 0.5}), 2).at_common == (0.6, 0.7)


def test_the_quantiles_are_those_of_students_distribution(script: dict[str, Any]) -> None:
    """Its density, summed between the bounds, is 95%."""
    for count, bound in script["T_95"].items():
        freedom = count - 1
        width = 2 * bound / 100_000
        middle = -bound + width * (np.arange(100_000) + 0.5)
        density = (1 + middle**2 / freedom) ** (-(freedom + 1) / 2)
        scale = math.gamma((freedom + 1) / 2) / (math.sqrt(freedom * math.pi) * math.gamma(freedom / 2))
        assert scale * width * density.sum() == pytest.approx(0.95, abs=1e-4), count


def test_the_interval_is_the_mean_and_its_error(script: dict[str, Any]) -> None:
    mean, half = script["interval"]([1.0, 2.0, 3.0])
    assert (mean, half) == pytest.approx((2.0, 4.303 / math.sqrt(3)))


def test_every_cell_that_both_recipes_ran_is_there(script: dict[str, Any]) -> None:
    """Of the published records: as many pairs as replicates, and no cell of one recipe alone."""
    pairs = script["both"]()
    assert ("D6", 8) in pairs
    assert len(pairs["Grid9", 4][0].words) == 3  # by AdamW there are six
    assert ("C5", 16) not in pairs
    assert all(len(muon.words) == len(adamw.words) for muon, adamw in pairs.values())


def test_where_both_pass_the_least_common_depth_counts_once_for_each_task(script: dict[str, Any]) -> None:
    way, sentence = script["Way"], script["where_both_pass"]

    def one(*words: int | None) -> Any:
        return way((0.5,) * len(words), words)

    pairs = {
        ("C2", 4): (one(100, 900), one(9000, None)),  # deeper than the next: does not count
        ("C2", 2): (one(None, 100), one(200, 900)),
        ("C3", 1): (one(100), one(800)),
        ("C4", 1): (one(100), one(None)),
    }
    text = sentence(pairs)
    assert "pass for 2 of the 19 tasks" in text
    half = 12.706 * math.log(4) / 2
    assert "has read 4.0 times" in text
    assert f"interval {4 / math.exp(half):.1f} to {4 * math.exp(half):.1f}; smallest 2.0, largest 8.0" in text
    assert sentence({("C4", 1): pairs["C4", 1]}) == ""


def test_only_replicates_of_one_index_and_one_rate_are_a_pair(script: dict[str, Any]) -> None:
    def rated(method: str, *rates: float) -> ResultCell:
        config = {"optimizer": {"batch": 64, "lr": list(rates), "method": method}}
        records = [record(replicate=number, config=config, metrics={"accuracy": 0.5}) for number in range(6)]
        return ResultCell(label={"task": "C2"}, records=tuple(reversed(records)))

    pairs, others = script["by_rate"](rated("muon", 8e-4, 1.2e-3), rated("adamw", 8e-4, 1.2e-3, 3e-4, 4e-4))
    assert [(one.replicate, other.replicate) for one, other in pairs] == [(0, 0), (1, 1), (4, 4), (5, 5)]
    assert all(one.config["optimizer"]["method"] == "muon" for one, _ in pairs)
    assert [record.replicate for record in others] == [2, 3]
