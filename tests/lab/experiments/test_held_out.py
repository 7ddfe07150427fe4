"""Predictions for held-out automata: recomputed from the stored data, and scored by hand."""

import json
import math
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
FROZEN = json.loads((ROOT / "results" / "sample-predictions.json").read_text())


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return runpy.run_path(str(ROOT / "tools" / "held_out.py"))
    finally:
        sys.path.remove(str(ROOT / "tools"))


def test_the_predictions_follow_from_the_automata_they_were_fitted_on(script: dict[str, Any]) -> None:
    """A number changed by hand, or a model fitted on what it predicts, would not."""
    assert not set(FROZEN["fitted_on"]) & set(FROZEN["automata"])
    known = list(FROZEN["fitted_on"].values())
    models = script["fitted"](
        [one["properties"] for one in known], script["bounds"]([one["between"] for one in known])
    )
    for one in FROZEN["automata"].values():
        for name, chances in one["chances"].items():
            place = script["places"]([one["properties"]], FROZEN["models"][name]["properties"])[0]
            assert chances == pytest.approx(script["chances"](models[name], place), abs=0.002)
            assert sum(chances) == pytest.approx(1, abs=0.002)


def test_chances_are_areas_under_the_normal_curve_with_some_doubt(script: dict[str, Any]) -> None:
    model = script["Fit"](slopes=np.array([0.5]), spread=0.5, log_likelihood=0.0)
    result = script["chances"](model, np.array([1.0]))
    outside = 0.158655  # beyond one spread
    assert result == pytest.approx(
        [(one + 0.01) / 1.03 for one in (outside, 1 - 2 * outside, outside)], abs=1e-5
    )


def rows(task: str, **passed: bool) -> list[dict[str, Any]]:
    return [{"task": task, "depth": int(name[1:]), "solved": solved} for name, solved in passed.items()]


def test_scores_count_what_the_runs_decide_and_nothing_else(script: dict[str, Any]) -> None:
    shares = {
        "one": [0.5, 0.25, 0.25],
        "deep": [0.1, 0.2, 0.7],
        "open": [0.8, 0.1, 0.1],
        "two": [0.6, 0.3, 0.1],
    }
    result = {
        "models": {"m": {}},
        "automata": {task: {"chances": {"m": chances}} for task, chances in shares.items()},
    }
    seen = [
        *rows("one", L1=True),
        *rows("deep", L1=False, L2=False),
        *rows("open", L1=False),
        *rows("two", L1=False, L2=True),
    ]
    score, right, count = script["scored"](result, seen)["m"]
    assert (right, count) == (2, 3)
    assert score == pytest.approx(math.log(0.5 * 0.7 * 0.3))
