"""``krohn train --provable``: training that ends with a proof, and what it refuses."""

import json
from pathlib import Path

import pytest

from krohn.automata.zoo import parse_spec
from krohn.cli.app import run
from krohn.lab.provable.box_search import contexts
from krohn.lab.provable.code_training import code_of
from krohn.lab.provable.provable_run import ProvableRun, make_provable
from krohn.lab.training.loop import train
from krohn.proving.witness.search import checkable_table

CELL = ["--hidden", "8", "--embedding", "3", "--length", "8", "--warmup", "1", "--batch", "8"]


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_run_becomes_provable(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    arguments = ["train", "Parity", "--model", kind, *CELL, "--steps", "20", "--eval-sequences", "16"]
    assert run([*arguments, "--provable", "--out", str(out), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)["provable"]
    assert report["proved"] is True
    assert report["accuracy"] == 1.0
    folder = Path(report["folder"])
    assert folder == out / "provable"
    assert run(["verify", str(folder), "--recheck", str(folder / "certificate.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["every_length"] is True
    # What was trained before is still there, and is another network.
    assert run(["verify", str(out), "--recheck", str(folder / "certificate.json")]) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--model", "lstm"], "--provable needs a directory"),
        (["--out", "OUT"], "--provable needs --model lstm, gru or looped; got gpt"),
        (["--model", "lstm", "--bos", "--out", "OUT"], "leave out --scratchpad and --bos"),
        (
            ["--model", "gru", "--hidden", "4", "--out", "OUT"],
            "needs --hidden 5 or more",
        ),
    ],
)
def test_what_cannot_be_proved_is_refused_before_training(
    options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(tmp_path / "out") if option == "OUT" else option for option in options]
    assert run(["train", "Parity", "--length", "6", "--steps", "2", "--provable", *given]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_too_many_boxes_are_refused_before_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["train", "C70", "--model", "lstm", "--length", "6", "--steps", "2", "--out", str(out)]
    assert run([*arguments, "--provable"]) == 2
    assert "at most 4096 pairs of a state and a letter" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("spec", ["C6", "S3", "Grid4", "Dyck2,2", "A4", "T3"])
def test_units_of_a_code_are_thresholds(spec: str) -> None:
    """Whether a unit is on after a letter is an "or" of units before it; states are told apart."""
    automaton = parse_spec(spec)
    result = contexts(checkable_table(automaton))
    assert result is not None
    code = code_of(automaton, result)
    assert len({(*row, state) for row, state in zip(code.tolist(), result.state, strict=True)}) == len(
        {tuple(row) for row in code.tolist()}
    )
    for letter in range(automaton.num_letters):
        after = code[result.follower[:, letter]]
        for unit in range(1, code.shape[1]):
            before = [v for v in range(1, code.shape[1]) if not (code[1:, v] & ~after[1:, unit]).any()]
            assert (code[1:, before].any(axis=1) == after[1:, unit]).all()


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_first_weights_learn_the_code_of_a_group(kind: str, tmp_path: Path) -> None:
    size = {"hidden": 26, "embedding": 5, "length": 8, "batch": 8, "steps": 1, "warmup": 1}
    train("S3", model=kind, directory=tmp_path, device="cpu", **size)
    result = make_provable(tmp_path)
    assert isinstance(result, ProvableRun)
    assert result.tuned.verdict.certified
    assert result.accuracy == 1.0
