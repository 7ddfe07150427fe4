"""Take-offs of replicates on made-up curves."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.experiments.made_up_records import record

TOOLS = Path(__file__).parents[3] / "tools"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    sys.path.insert(0, str(TOOLS))
    try:
        return runpy.run_path(str(TOOLS / "take_offs.py"))
    finally:
        sys.path.remove(str(TOOLS))


def replicate(script: dict[str, Any], number: int, curve: dict[int, float], test: float) -> Any:
    return script["replicate"](
        record(
            replicate=number,
            config={"optimizer": {"lr": [8e-4, 1.2e-3]}},
            metrics={
                "test": {"accuracy": test},
                "curve": {"step": list(curve), "accuracy": list(curve.values())},
            },
        )
    )


def test_a_replicate_takes_off_at_the_first_evaluation_with_seven_letters_in_ten(
    script: dict[str, Any],
) -> None:
    one = replicate(script, 0, {500: 0.4, 1000: 0.7, 1500: 0.6, 2000: 0.999}, 0.995)
    assert (one.step, one.passes, one.rate, one.is_early) == (1000, True, 8e-4, True)
    late = replicate(script, 1, {5000: 0.69, 5500: 0.71}, 0.98)
    assert (late.step, late.passes, late.rate, late.is_early) == (5500, False, 1.2e-3, False)
    never = replicate(script, 2, {500: 0.4, 1000: 0.69}, 0.69)
    assert (never.step, never.passes, never.is_early) == (None, False, False)


def test_those_that_never_take_off_are_counted_with_the_late_ones(script: dict[str, Any]) -> None:
    curves = [({1000: 0.9}, 0.999), ({5000: 0.8}, 0.98), ({9000: 0.8}, 0.991), ({1000: 0.4}, 0.4)]
    replicates = [replicate(script, number, *pair) for number, pair in enumerate(curves)]
    line = script["row"]("D6", 8, replicates)
    assert line == "| D6 | 8 | 3 of 4 | 1,000 | 5,000 | 9,000 | 9.0 | 2 | 2 of 4 (15–85%) |"
    assert script["row"]("D6", 8, replicates[3:]) == "| D6 | 8 | 0 of 1 |  |  |  |  | 0 | 0 of 1 (0–79%) |"
    text = script["summary"](replicates)
    assert (
        "1 of 2 (9–91%) of those that take off within 5,000 steps pass, and 1 of 2 (9–91%) of the others"
        in text
    )
    assert "2 of 2 (34–100%) pass with 0.0008, 0 of 2 (0–66%) with 0.0012" in text
