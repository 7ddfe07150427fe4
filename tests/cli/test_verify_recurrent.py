"""``krohn verify`` on a recurrent network: for which automaton, for which words, in which type."""

import io
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from krohn.automata.zoo import zoo
from krohn.cli.app import run

Capture = pytest.CaptureFixture[str]


def compiled(name: str, architecture: str, folder: Path) -> Path:
    assert run(["compile", name, "--architecture", architecture, "--out", str(folder)]) == 0
    return folder


def verified(folder: Path, capsys: Capture, *options: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    status = run(["verify", str(folder), "--json", *options])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("architecture", ["deltaproduct", "diagonal", "lstm", "gru", "rankone"])
def test_every_length_and_all_short_words(architecture: str, tmp_path: Path, capsys: Capture) -> None:
    status, answer = verified(compiled("C2", architecture, tmp_path / "net"), capsys)
    assert (status, answer["certified"], answer["every_length"]) == (0, True, True)
    assert answer["exact"] == {"length": 12, "words": 2**12, "wrong": 0}
    assert (answer["identity"]["name"], answer["identity"]["claimed_by"]) == ("C2", "file")


def test_the_automaton_that_is_meant(tmp_path: Path, capsys: Capture) -> None:
    folder = compiled("S4", "deltaproduct", tmp_path / "net")
    status, answer = verified(folder, capsys, "--automaton", "S4")
    assert (status, answer["identity"]["claimed_by"]) == (0, "user")
    status, answer = verified(folder, capsys, "--automaton", "S5")
    assert (status, answer["certified"], answer["every_length"]) == (1, False, False)
    assert answer["reason"].startswith("identity: ")


def test_a_name_that_is_not_its_own_is_not_repeated(tmp_path: Path, capsys: Capture) -> None:
    meaning = compiled("C2", "gru", tmp_path / "net") / "recurrent.json"
    meaning.write_text(meaning.read_text().replace('"name": "C2"', '"name": "Rubik"'))
    status, answer = verified(tmp_path / "net", capsys)
    assert (status, answer["identity"]["name"]) == (0, None)
    assert (
        verified(tmp_path / "net", capsys, "--automaton", "Parity", "--renamed")[1]["identity"]["renamed"]
        is None
    )


def test_a_horizon_suffices_for_the_length_that_is_asked(tmp_path: Path, capsys: Capture) -> None:
    folder = compiled("C5", "diagonal", tmp_path / "net")
    status, answer = verified(folder, capsys, "--dtype", "bfloat16")
    assert (status, answer["certified"]) == (1, False)
    longest = answer["largest_length"]
    for length, holds in ((longest, True), (longest + 1, False)):
        status, answer = verified(folder, capsys, "--dtype", "bfloat16", "--length", str(length))
        assert (status, answer["certified"], answer["every_length"]) == (int(not holds), holds, False)


def test_a_broken_network_has_wrong_words_and_a_shortest_one(tmp_path: Path, capsys: Capture) -> None:
    file = compiled("C2", "gru", tmp_path / "net") / "model.safetensors"
    tensors = load_file(file)
    save_file({name: np.roll(part, 1, 0) if "head" in name else part for name, part in tensors.items()}, file)
    status, answer = verified(tmp_path / "net", capsys)
    assert (status, answer["every_length"]) == (1, False)
    assert answer["exact"]["wrong"] > 0
    word = answer["counterexample"]
    assert zoo("C2").state_names[zoo("C2").run(word["letters"])[-1]] == word["expected"] != word["got"]


@pytest.mark.parametrize("architecture", ["deltaproduct", "gru"])
def test_the_network_that_is_trained_runs_words(architecture, tmp_path, capsys, monkeypatch) -> None:
    folder = compiled("FlipFlop", architecture, tmp_path / "net")
    words = "\n".join(" ".join(word) for word in product(zoo("FlipFlop").letter_names, repeat=3))
    answers = []
    for device in ("numpy", "cpu"):
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", io.StringIO(words))
        assert run(["run", str(folder), "--device", device]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]
    assert len(answers[0].splitlines()) == 27
    assert run(["run", str(folder), "--device", "moon"]) == 2
    assert capsys.readouterr().err.startswith("error: the device must be one that torch has")
