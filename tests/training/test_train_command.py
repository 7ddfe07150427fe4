import json
from pathlib import Path

import pytest

from krohn.cli.app import run

SMALL = ["--length", "5", "--layers", "1", "--dim", "16", "--heads", "2", "--mlp", "16", "--device", "cpu"]
QUICK = ["--steps", "6", "--eval-every", "3", "--eval-sequences", "8", "--batch", "2"]


def test_training_prints_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "train",
        "Grid4",
        *SMALL,
        *QUICK,
        "--replicates",
        "3",
        "--lr",
        "1e-3",
        "--lr",
        "3e-3",
        "--json",
    ]
    assert run([*arguments, "--out", str(tmp_path / "run")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["learning_rate"] for entry in found["replicates"]] == [1e-3, 3e-3, 1e-3]
    assert all(0.0 <= entry["accuracy"] <= 1.0 for entry in found["replicates"])
    assert found["seconds"] > 0
    assert found["sequences_per_second"] > 0
    assert run(["train", "--config", str(tmp_path / "run" / "config.json"), "--device", "cpu", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["replicates"] == found["replicates"]


def test_training_prints_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "C2", "--model", "lstm", "--length", "5", "--device", "cpu", *QUICK]) == 0
    captured = capsys.readouterr()
    assert "token accuracy" in captured.out
    assert "sequences/s" in captured.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["Grid4", "--heads", "3", "--length", "0"],
            "length must be at least 1; got 0; dim must be divisible",
        ),
        (["Grid4", "--model", "lstm", "--heads", "3"], "options of lstm must be among"),
        (["Grid4", "--distribution", "zipf"], "a distribution must be one of"),
        ([], "give either an automaton SPEC or --config FILE"),
        (["--config", "nowhere.json"], "must be a readable file"),
    ],
)
def test_wrong_combinations_are_refused_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", *arguments]) == 2
    captured = capsys.readouterr().err
    assert captured.startswith("error: ")
    assert message in captured
    assert captured.count("\n") == 1
