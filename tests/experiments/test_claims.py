"""Verdicts on the paper's claims follow from the records by rules: other records, another verdict."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from krohn.experiments.store import Store

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def claims() -> dict[str, Any]:
    sys.modules.pop("claims", None)
    return runpy.run_path(str(BENCHMARKS / "claims.py"))


class Told:
    """Records that consist of rows written down here."""

    def __init__(self, **rows: list[dict[str, Any]]) -> None:
        self._rows = rows
        self.maps = rows.get("maps", [])

    def rows(self, name: str) -> list[dict[str, Any]]:
        return self._rows[name]

    def row(self, name: str, **where: object) -> dict[str, Any]:
        return next(
            row for row in self._rows[name] if all(row.get(key) == value for key, value in where.items())
        )


def test_without_records_nothing_is_reached(claims: dict[str, Any], tmp_path: Path) -> None:
    with Store(tmp_path / "empty.sqlite") as store:
        verdicts = claims["judged"](store)
    assert len(verdicts) == 17
    assert {word for word, _ in verdicts.values()} == {"not reached"}


def test_a_verdict_turns_when_the_numbers_turn(claims: dict[str, Any]) -> None:
    row = {"model": "GPT", "reached": 3, "replicates": 4, "solved_at_2": 0.8, "solved_at_40": 0.6}
    judge = claims["few_ones_are_harder"]
    word, text = judge(Told(ood=[row]))
    assert (word, text) == (
        "contradicted",
        "the 3 of 4 replicates that solve C2 have 80.0% at 2 ones and 60.0% at 40",
    )
    assert judge(Told(ood=[row | {"solved_at_2": 0.5}]))[0] == "reproduced"


def test_a_shallow_non_abelian_group_would_contradict_the_depth_claim(claims: dict[str, Any]) -> None:
    judge = claims["non_abelian_groups_need_more"]

    def cell(task: str, depth: int, accuracy: float) -> dict[str, Any]:
        solved = {"max_accuracy": accuracy, "solved": accuracy >= 0.99}
        return {"task": task, "depth": depth, "sheet": "whole words", **solved}

    maps = [cell(task, 2, 0.995) for task in claims["ABELIAN"]] + [cell("A5", 8, 0.996)]
    word, text = judge(Told(maps=[*maps, cell("D8", 2, 0.5)]))
    assert word == "reproduced"
    assert "1 fail with 2 layers or with more (D8 50.0% with 2); not tried: D6, Q8, A4, S4 and S5" in text
    assert judge(Told(maps=[*maps, cell("D8", 2, 0.991)]))[0] == "contradicted"
    with pytest.raises(claims["Missing"]):
        judge(Told(maps=maps))


def test_a_difference_counts_from_two_standard_errors(claims: dict[str, Any]) -> None:
    gain = claims["Gain"]
    assert gain("D8", 1.0, 0.4, 5, 6).helps
    assert not gain("D8", 1.0, 0.6, 5, 6).helps
    assert gain("D8", -1.0, 0.4, 0, 6).hurts
    assert str(gain("Q8", -9.57, 4.41, 1, 6)) == "Q8 −9.6 ± 4.4 (1 of 6 gain)"
