import json
from pathlib import Path

import pytest
import torch

from every import every
from krohn.automata.zoo import zoo_names
from krohn.cli.app import run
from krohn.lab.models.registry import kinds

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
    report = json.loads(capsys.readouterr().out)
    assert [entry["learning_rate"] for entry in report["replicates"]] == [1e-3, 3e-3, 1e-3]
    assert all(0.0 <= entry["accuracy"] <= 1.0 for entry in report["replicates"])
    assert report["seconds"] > 0
    assert report["sequences_per_second"] > 0
    assert run(["train", "--config", str(tmp_path / "run" / "config.json"), "--device", "cpu", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["replicates"] == report["replicates"]


def test_training_prints_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "C2", "--model", "lstm", "--length", "5", "--device", "cpu", *QUICK]) == 0
    captured = capsys.readouterr()
    assert "token accuracy" in captured.out
    assert "sequences/s" in captured.out


@every(
    ("arguments", "message"),
    [
        (["Grid4", "--heads", "3", "--ema", "1"], "ema must lie in [0, 1)"),
        (
            ["Grid4", "--heads", "3", "--steps", "0"],
            "dim must be divisible by heads; got dim 512 and heads 3",
        ),
        (["Grid4", "--model", "lstm", "--heads", "3"], "options of lstm must be among"),
        (["Grid4", "--distribution", "zipf"], "a distribution must be one of"),
        (["Grid4", "--positions", "learned", "--context", "8", "--length", "9"], "reach 8 tokens; got 9"),
        (
            ["Grid4", "--positions", "learned", "--context", "8", "--length", "5", "--scratchpad"],
            "reach 8 tokens; got 9",
        ),
        (["C2", "--target", "observation"], "needs an automaton with an observation map"),
        (["Grid4@boundary", "--target", "observation", "--scratchpad"], "a scratchpad holds states"),
        (["Grid4", "--provable"], "--provable needs a directory"),
        (["--config", "c.json", "--steps", "5", "--lr", "1e-3"], "leave out --lr, --steps"),
        ([], "give one of an automaton SPEC, --config FILE"),
        (["--config", "nowhere.json"], "nowhere.json must exist"),
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


def test_all_errors_of_automaton_sections_and_network_come_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krohn.cli.output.MAX_ERROR", 2_000)  # so many reasons do not fit into one line
    wrong = ["--model", "mamba", "--length", "0", "--lr", "-1", "--stop-at", "2", "--reveal", "7"]
    assert run(["train", "NoSuch", *wrong]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    for reason in (
        "length must be at least 1; got 0",
        "lr must be one or more positive numbers",
        "stop_at must lie in (0, 1]",
        "reveal must",
        "NoSuch",
        f"a model must be one of {', '.join(kinds())}; got 'mamba'",
    ):
        assert reason in line


def test_all_reasons_of_network_run_and_machine_come_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krohn.cli.output.MAX_ERROR", 2_000)
    assert run(["train", "C2", "--model", "mamba", "--steps", "0", "--precision", "fp8"]) == 2
    line = capsys.readouterr().err
    for reason in (
        f"a model must be one of {', '.join(kinds())}; got 'mamba'",
        "steps must be at least 1; got 0",
        "precision must be one of",
    ):
        assert reason in line


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_one_reason_among_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "C2", "--device", "cuda", "--heads", "3", "--target", "observation"]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "cuda needs a GPU" in line
    assert "divisible by heads" in line
    assert "observation map" in line


def test_the_first_example_of_the_documentation_learns(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "training.md").read_text(encoding="utf-8")
    command = page.split("$ krohn ")[1].splitlines()[0]
    assert run([*command.split(), "--json"]) == 0
    assert max(entry["accuracy"] for entry in json.loads(capsys.readouterr().out)["replicates"]) > 0.97


@every("name", list(zoo_names())[::3])
def test_automata_of_the_zoo_can_be_trained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", name, *SMALL, *QUICK, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {"replicates", "seconds", "sequences_per_second"} <= set(report)
    (entry,) = report["replicates"]
    assert 0.0 <= entry["accuracy"] <= 1.0
    assert entry["status"] == "finished"
    assert entry["loss"] > 0.0
