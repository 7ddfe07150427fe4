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
