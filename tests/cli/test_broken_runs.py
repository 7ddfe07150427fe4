"""Run directories with junk in them: one line and exit status 2 from every command that reads them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from krohn.cli.app import run

TRAIN = ["train", "Parity", "--length", "5", "--steps", "2", "--eval-sequences", "4", "--batch", "2"]
GPT = ["--layers", "1", "--dim", "8", "--heads", "2", "--mlp", "8", "--device", "cpu", "--json"]
Tensors = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("broken") / "run"
    assert run([*TRAIN, *GPT, "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path / "run")
    return tmp_path / "run"


def refused(capsys: pytest.CaptureFixture[str], folder: Path, *commands: str) -> list[str]:
    lines = []
    for command in commands:
        extra = ["--to", "hf", "--out", str(folder.parent / "out")] if command == "export" else []
        capsys.readouterr()
        assert run([command, str(folder), *extra]) == 2, command
        line = capsys.readouterr().err
        assert line.startswith("error: ")
        assert line.count("\n") == 1
        lines.append(line)
    return lines


@pytest.mark.parametrize(
    "junk", [b"", b"junk", b"\xff" * 100, b'\x10\x00\x00\x00\x00\x00\x00\x00{"a":', None]
)
def test_a_file_that_is_not_safetensors_is_refused(
    junk: bytes | None, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "weights.safetensors"
    file.write_bytes(file.read_bytes()[:500] if junk is None else junk)
    for line in refused(capsys, folder, "verify", "export", "run"):
        assert "weights.safetensors must be a safetensors file; " in line


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(
    value: float, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tensors = load_file(folder / "weights.safetensors")
    next(iter(tensors.values())).view(-1)[0] = value
    save_file(tensors, folder / "weights.safetensors")
    for line in refused(capsys, folder, "verify", "export"):
        assert "must hold finite weights; those of replicate 0 are not" in line
    assert not (folder.parent / "out").exists()


CHANGES: dict[str, Callable[[Tensors], Tensors]] = {
    "no tensors": lambda tensors: {},
    "one missing": lambda tensors: {name: value for name, value in tensors.items() if name != "wte"},
    "one more": lambda tensors: {**tensors, "more": torch.zeros(1, 2)},
    "too narrow": lambda tensors: {**tensors, "wte": tensors["wte"][..., :-1].contiguous()},
    "scalars": lambda tensors: dict.fromkeys(tensors, torch.tensor(1.0)),
    "whole numbers": lambda tensors: {name: value.int() for name, value in tensors.items()},
    "half precision": lambda tensors: {name: value.half() for name, value in tensors.items()},
}


@pytest.mark.parametrize("change", CHANGES)
def test_weights_of_another_network_are_refused(
    change: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "weights.safetensors"
    changed = {name: value.clone() for name, value in CHANGES[change](load_file(file)).items()}
    save_file(changed, file)
    for line in refused(capsys, folder, "verify", "export"):
        assert "must hold the float32 or bfloat16 weights of this network" in line


@pytest.mark.parametrize(
    "payload", [[], {}, {"replicates": []}, {"replicates": [{"accuracy": 0}] * 2 + [{"accuracy": 1}]}]
)
def test_a_result_that_does_not_fit_is_refused(
    payload: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "result.json").write_text(json.dumps(payload))
    refused(capsys, folder, "verify", "export")


@pytest.mark.parametrize(
    "text", ["", "[", "[]", "null", '{"task": {"spec": "NoSuch"}}', '{"task": {"spec": 5}}']
)
def test_an_invalid_config_is_refused(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "config.json").write_text(text)
    refused(capsys, folder, "verify", "export")
    assert run(["train", "--config", str(folder / "config.json"), "--device", "cpu"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        (None, "steps", 4.5),
        (None, "steps", "5"),
        (None, "replicates", 2**62),
        ("task", "length", 2**62),
        ("optimizer", "batch", 2**62),
        ("evaluation", "sequences", 2**62),
        ("evaluation", "seed", -1),
        ("model", "layers", 2**62),
        ("model", "dim", 2**16),
        ("curriculum", "growth", float("nan")),
    ],
)
def test_a_config_that_cannot_be_run_is_refused_before_anything_starts(
    section: str | None, name: str, value: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "config.json"
    plain = json.loads(file.read_text())
    (plain if section is None else plain.setdefault(section, {}))[name] = value
    if name == "dim":
        plain["model"] |= {"mlp": 2**16, "layers": 64}
    file.write_text(json.dumps(plain))
    capsys.readouterr()
    assert run(["train", "--config", str(file), "--device", "cpu"]) == 2
    line = capsys.readouterr().err
    assert line.startswith("error: ")
    assert line.count("\n") == 1
    assert name in line or "GB of memory" in line or "must be finite; got NaN" in line


def test_a_place_that_is_not_a_runs_is_refused_before_any_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").write_text("not a run")
    for out in (tmp_path, Path("/dev/null/run")):
        assert run(["train", "C2", "--steps", "1", "--device", "cpu", "--out", str(out)]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
