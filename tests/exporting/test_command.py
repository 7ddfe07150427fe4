"""``krohn export`` from outside: keys, files, exit status, refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from krohn.cli.app import run


@pytest.fixture
def network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert run(["compile", "C3", "--length", "9", "--out", str(tmp_path / "c3")]) == 0
    capsys.readouterr()
    return tmp_path / "c3"


@pytest.mark.parametrize(
    ("to", "file"), [("hf", "config.json"), ("transformer-lens", "config.json"), ("onnx", "model.onnx")]
)
def test_it_writes_the_files_it_names(
    network: Path, to: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["export", str(network), "--to", to, "--out", str(out), "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert sorted(payload["files"]) == sorted(path.name for path in out.iterdir())
    assert file in payload["files"]
    assert (payload["checked"]["wrong"], payload["counterexample"], payload["written"]) == (0, None, True)
    assert (payload["format"], payload["length"], payload["vocabulary"]) == (to, 9, 4)


def test_a_network_that_is_wrong_is_not_written(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = network / "model.safetensors"
    tensors = load_file(file)
    tensors["readout"] = np.roll(tensors["readout"], 1, axis=1)
    tensors["readout_bias"] = np.roll(tensors["readout_bias"], 1)
    save_file(tensors, file)
    out = tmp_path / "out"
    assert run(["export", str(network), "--to", "hf", "--out", str(out)]) == 1
    assert "not written; an export must be right on every word tried; after " in capsys.readouterr().out
    assert not out.exists()


def test_a_network_that_says_nothing_is_not_written(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = network / "model.safetensors"
    tensors = load_file(file)
    save_file(tensors | {name: 0 * tensors[name] for name in ("readout", "readout_bias")}, file)
    assert run(["export", str(network), "--to", "onnx", "--out", str(tmp_path / "out")]) == 1
    assert "not written" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["--to", "gguf"], "'hf', 'transformer-lens', 'onnx'"),
        (["--to", "hf", "--replicate", "0"], "replicate and length are for training runs"),
    ],
)
def test_bad_input_gets_one_line(
    network: Path, arguments: list[str], match: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", str(network), *arguments, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert match in error


def test_a_directory_without_a_network_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", str(tmp_path), "--to", "hf", "--out", str(tmp_path / "out")]) == 2
    assert "written by krohn compile" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_network_of_our_own_is_never_overwritten(network: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_bytes() for path in network.iterdir()}
    assert run(["export", str(network), "--to", "hf", "--out", str(network)]) == 2
    assert "must not hold a network of krohn's own" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in network.iterdir()} == before


def test_a_strict_mask_is_refused_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = str(tmp_path / "strict")
    assert run(["compile", "abab", "--length", "8", "--mask", "strict", "--out", made]) == 0
    capsys.readouterr()
    assert run(["export", made, "--to", "hf", "--out", str(tmp_path / "out")]) == 2
    assert "compile with --mask causal" in capsys.readouterr().err
