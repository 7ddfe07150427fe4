"""The page of the protocol that papers use says what the stored runs say."""

import json
import sys
from pathlib import Path

import pytest

from krohn.automata.zoo import parse_spec
from krohn.lab.cards.control import StockWeights, guarantee

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))

import protocol_page  # noqa: E402

EVERY = protocol_page.read(protocol_page.RUNS)
RUNS = protocol_page.whole(EVERY)
CONTROLS = [row for row in protocol_page.read(protocol_page.CONTROLS) if "error" not in row]


def test_page_and_figure_are_what_the_tool_makes_of_the_runs() -> None:
    assert protocol_page.PAGE.read_text(encoding="utf-8") == protocol_page.page_text()
    assert protocol_page.FIGURE.read_text(encoding="utf-8") == protocol_page.figure_text()


def test_a_changed_run_changes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = [json.loads(json.dumps(run)) for run in EVERY]
    changed[0]["bfloat16"]["512"]["letters"] = 0.5
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(run) + "\n" for run in changed), encoding="utf-8")
    monkeypatch.setattr(protocol_page, "RUNS", file)
    assert "yes; 3, 2 of 3" in protocol_page.page_text()


def test_three_seeds_of_every_cell_read_two_million_words() -> None:
    for layer in protocol_page.LAYERS:
        for task in protocol_page.TASKS:
            own = protocol_page.of(RUNS, layer, task)
            assert [run["seed"] for run in own] == [0, 1, 2]
            assert {run["steps"] * run["settings"]["batch"] for run in own} == {1_999_872}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run['layer']} {run['task']} {run['seed']}")
def test_the_numbers_of_a_run_agree(run: dict) -> None:
    for dtype in ("bfloat16", "float32"):
        assert "error" not in run[dtype]
        for length in ("128", "512"):
            part = run[dtype][length]
            assert part["words"] <= part["letters"] + 1e-9
            shares = list(part["so_far"].values())
            assert shares == sorted(shares, reverse=True)
            assert abs(shares[-1] - part["words"]) < 1e-4
        passes = run[dtype]["128"]["letters"] >= protocol_page.PASSES
        assert passes is ("first_wrong" in run[dtype])


@pytest.mark.parametrize(
    "row", CONTROLS, ids=lambda row: f"{row['automaton']} {row['dtype']} {row['kernel']}"
)
def test_no_control_fails_before_its_guaranteed_length_and_estimates_are_within_a_factor_of_two(
    row: dict,
) -> None:
    if row["measured"] is None:
        assert row["estimated"] is None
    else:
        assert row["guaranteed"] < row["measured"]
        assert 0.5 < row["estimated"] / row["measured"] < 2


def test_guaranteed_lengths_are_those_computed_today() -> None:
    for row in CONTROLS:
        if row["automaton"] in ("C2", "S3"):
            weights = StockWeights(parse_spec(row["automaton"]), row["dtype"], row["kernel"])
            assert guarantee(weights) == row["guaranteed"]
