"""``krohn verify`` on a trained run: examined, with no wording that suggests a proof."""

import json
from pathlib import Path

import pytest
import torch

from krohn.automata.zoo import zoo
from krohn.cli.app import run
from krohn.errors import Unsupported
from krohn.lab.training.trained_network import read_run

SMALL = ["--length", "6", "--steps", "2", "--batch", "4", "--warmup", "1"]
GPT = ["--layers", "1", "--dim", "16", "--heads", "2", "--mlp", "16"]
KINDS = {
    "gpt": GPT,
    "lstm": ["--model", "lstm", "--embedding", "8", "--hidden", "8"],
    "scratchpad": [*GPT, "--scratchpad"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_trained_run_is_examined(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "Parity", *SMALL, *KINDS[kind], "--out", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    assert run(["verify", str(tmp_path / "run"), "--json"]) == 1
    payload = json.loads(capsys.readouterr().out)
    assert payload["certified"] is False
    assert payload["examined"] is True
    assert payload["exact"]["length"] == payload["sample"]["length"] == 6
    assert payload["claim"]["lengths"] == ("every" if kind == "lstm" else {"up_to": 6})
    assert payload["exact"]["words"] == 64
    sample = payload["sample"]
    assert 0 <= sample["low"] <= sample["right"] / sample["words"] <= sample["high"] <= 1
    assert (payload["exact"]["wrong"] > 0) == (payload["counterexample"] is not None)
    if payload["counterexample"]:
        parity, result = zoo("Parity"), payload["counterexample"]
        assert parity.state_names[parity.run(result["word"])[-1]] == result["expected"] != result["got"]


def test_people_read_what_was_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "Parity", *SMALL, *GPT, "--out", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    assert run(["verify", str(tmp_path / "run")]) == 1
    text = capsys.readouterr().out
    assert text.startswith("examined, not certified: a trained network")
    assert "all 64 words of length 6" in text
    assert "95 % confidence" in text


def test_a_run_without_its_result_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "Parity", *SMALL, *GPT, "--out", str(tmp_path / "run")]) == 0
    (tmp_path / "run" / "result.json").unlink()
    assert run(["verify", str(tmp_path / "run")]) == 2
    assert "must hold the result.json of a finished run" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="cuda needs a GPU that torch can see"):
        read_run(tmp_path, "cuda")
