"""Weights split over several files: every reader sees one network, and an incomplete set is refused."""

import re
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import krohn
from krohn.check.files.folders import weight_files
from krohn.check.rules import read_net
from krohn.cli.app import run
from krohn.errors import InvalidFile
from krohn.lab.training.directory import read_weights, write_weights
from krohn.lab.training.loop import train
from krohn.lab.training.trained_network import read_run
from lab.training.small_runs import small_run

keep = runpy.run_path(str(Path(__file__).parents[3] / "research" / "device_queue.py"))["keep"]

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kept network in one file."""
    result = train(small_run(), device="cpu")
    return keep(result, tmp_path_factory.mktemp("kept") / "whole")


@pytest.fixture
def parts(whole: Path, tmp_path: Path) -> Path:
    """The same network in several files."""
    folder = tmp_path / "parts"
    shutil.copytree(whole, folder)
    weights = load_file(folder / "weights.safetensors")
    assert len(write_weights(folder, weights, part_bytes=1500)) > 2
    return folder


def test_every_tensor_is_in_one_file_and_no_file_is_larger_than_asked(whole: Path, parts: Path) -> None:
    files = weight_files(parts)
    assert files[0].name == "weights.safetensors"
    assert files[1].name == "weights-2.safetensors"
    result = [load_file(file) for file in files]
    sizes = [sum(tensor.numel() * tensor.element_size() for tensor in part.values()) for part in result]
    assert all(size <= 1500 or len(part) == 1 for size, part in zip(sizes, result, strict=True))
    names = [name for part in result for name in part]
    assert sorted(names) == sorted(load_file(whole / "weights.safetensors"))


def test_every_reader_gives_the_same_network(whole: Path, parts: Path) -> None:
    one, other = (read_weights(folder, 0) for folder in (whole, parts))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert read_net(whole).digest == read_net(parts).digest
    words = np.random.default_rng(0).integers(0, 2, (5, 6))
    answers = [krohn.load(folder).states(words).tolist() for folder in (whole, parts)]
    assert answers[0] == answers[1] == read_run(parts).forward(words).tolist()


@pytest.mark.parametrize("command", ["understand", "export", "verify"])
def test_commands_take_the_folder(
    whole: Path, parts: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    more = {
        "export": ["--to", "hf", "--out", "{}"],
        "verify": ["--effort", "0.1"],
        "understand": [],
    }
    lines = []
    for name, folder in (("one", whole), ("other", parts)):
        options = [option.format(tmp_path / name) for option in more[command]]
        code = run([command, str(folder), *options])
        out = capsys.readouterr()
        assert code in (0, 1), out.err
        text = out.out.replace(str(folder), "").replace(str(tmp_path / name), "")
        lines.append((code, re.sub(r"[\d,]+ words/s", "", text)))
    assert lines[0] == lines[1]


def test_a_missing_file_and_a_tensor_that_stands_twice_are_refused(parts: Path) -> None:
    last = weight_files(parts)[-1]
    tensors = load_file(last)
    last.unlink()
    with pytest.raises(InvalidFile, match="missing or different"):
        read_run(parts)
    first = load_file(parts / "weights.safetensors")
    save_file({**tensors, **first}, last)
    with pytest.raises(InvalidFile, match="must not hold"):
        read_run(parts)
    with pytest.raises(InvalidFile, match="no tensor of a file before it"):
        read_net(parts)


def test_fewer_files_replace_more(whole: Path, parts: Path) -> None:
    write_weights(parts, load_file(whole / "weights.safetensors"))
    assert [file.name for file in weight_files(parts)] == ["weights.safetensors"]
    assert not list(parts.glob("weights-*"))


def test_a_release_carries_networks_with_their_digests(
    whole: Path,
    parts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = runpy.run_path(str(ROOT / "tools" / "release_weights.py"))
    (dist := tmp_path / "dist").mkdir()
    (dist / "NOTES.md").write_text("## 0.2.0\n")
    monkeypatch.setattr("sys.argv", ["release_weights.py", str(parts.parent), str(dist)])
    assert script["main"]() == 0
    text = (dist / "NOTES.md").read_text()
    assert text.startswith("## 0.2.0\n")
    packed = dist / "weights" / "parts"
    for file in packed.iterdir():
        assert f"{script['digest'](file)}  weights/parts/{file.name}" in text
    assert read_net(packed).digest == read_net(whole).digest
    (empty := tmp_path / "empty").mkdir()
    monkeypatch.setattr("sys.argv", ["release_weights.py", str(empty), str(dist)])
    capsys.readouterr()
    assert script["main"]() == 2
    assert capsys.readouterr().err.count("\n") == 1
