"""``krohn verify`` on a trained run: examined, with no wording that suggests a proof."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

import krohn
from krohn.automata.zoo import zoo
from krohn.cli.app import run
from krohn.errors import Unsupported
from krohn.lab.training.trained_network import read_run

KEPT = Path(__file__).parents[2] / "results" / "networks"
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
    result = tmp_path / "run" / "result.json"
    for text in (None, "[]", json.dumps({"replicates": [{"accuracy": 10**400}]})):
        result.unlink() if text is None else result.write_text(text)
        assert run(["verify", str(tmp_path / "run")]) == 2
        assert "must hold the result.json of a finished run" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="cuda needs a GPU that torch can see"):
        read_run(tmp_path, "cuda")


@pytest.mark.parametrize("swapped", [True, False])
def test_a_cell_that_accepts_or_rejects_is_proved_by_what_it_shows(swapped: bool, tmp_path: Path) -> None:
    """The start of this pattern is accepted and shows 1: the right cell answers 1 where that of C2 has 0."""
    folder = Path(shutil.copytree(KEPT / "c2-lstm-proved", tmp_path / "run"))
    config = json.loads((folder / "config.json").read_text())
    config["task"] |= {"spec": "regex:(0|10*1)*", "target": "observation"}
    (folder / "config.json").write_text(json.dumps(config))
    tensors = dict(load_file(folder / "weights.safetensors"))
    if swapped:
        for name in ("head.weight", "head.bias"):
            tensors[name] = np.concatenate([tensors[name][..., [1, 0]], tensors[name][..., 2:]], axis=-1)
        save_file(tensors, folder / "weights.safetensors")
    verdict = krohn.verify(folder, effort=0.01)
    assert verdict.certified == swapped
    assert (verdict.counterexample is None) == swapped
    if swapped:
        verdict.save(tmp_path / "proof.json")
        assert krohn.verify(folder, certificate=tmp_path / "proof.json").certified
        assert "its first 2 logits (for 0, 1; letters are numbered 0, 1)" in verdict.claim.sentence()
        assert "observation of the automaton with 2 states" in verdict.claim.sentence()
