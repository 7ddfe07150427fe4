"""``krohn train --provable``: a fine-tune that ends with a proof, and what it refuses."""

import json
from pathlib import Path

import pytest

from krohn.cli.app import run

CELL = ["--hidden", "8", "--embedding", "3", "--length", "8", "--warmup", "1", "--batch", "8"]


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_run_becomes_provable(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    arguments = ["train", "Parity", "--model", kind, *CELL, "--steps", "20", "--eval-sequences", "16"]
    assert run([*arguments, "--provable", "--out", str(out), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["provable"]
    assert made["proved"] is True
    assert made["accuracy"] == 1.0
    folder = Path(made["folder"])
    assert folder == out / "provable"
    assert run(["verify", str(folder), "--recheck", str(folder / "boxes.safetensors"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["every_length"] is True
    # What was trained before is still there, and is another network.
    assert run(["verify", str(out), "--recheck", str(folder / "boxes.safetensors")]) == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--model", "lstm"], "--provable needs a directory"),
        (["--out", "OUT"], "--provable needs --model lstm or gru; got gpt"),
        (["--model", "lstm", "--bos", "--out", "OUT"], "leave out --scratchpad and --bos"),
    ],
)
def test_what_cannot_be_proved_is_refused_before_training(
    options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(tmp_path / "out") if option == "OUT" else option for option in options]
    assert run(["train", "Parity", "--length", "6", "--steps", "2", "--provable", *given]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
