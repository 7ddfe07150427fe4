"""``krohn export`` from outside: keys, files, exit status, refusals."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import krohn
from krohn.cli.app import run
from krohn.errors import InvalidInput
from krohn.exporting.lowering import LEAD


@pytest.fixture
def network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert run(["compile", "C3", "--length", "9", "--out", str(tmp_path / "c3")]) == 0
    capsys.readouterr()
    return tmp_path / "c3"


@pytest.mark.parametrize(("to", "file"), [("hf", "config.json"), ("onnx", "model.onnx")])
def test_it_writes_the_files_it_names(
    network: Path, to: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["export", str(network), "--to", to, "--out", str(out), "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert sorted(payload["files"]) == sorted(path.name for path in out.iterdir())
    assert file in payload["files"]
    assert (payload["checked"]["wrong"], payload["counterexample"], payload["written"]) == (0, None, True)
    assert (payload["format"], payload["length"], payload["vocabulary"]) == (to, 9, 6)


def test_it_says_before_the_proof_what_may_take_long(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for options, notice in (([], True), (["--no-proof"], False)):
        assert run(["export", str(network), "--to", "hf", "--out", str(tmp_path / "out"), *options]) == 0
        assert ("proving the files for every word" in capsys.readouterr().err) == notice


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
        (["--to", "hf,gguf"], "'gguf' is not one of hf, onnx (TransformerLens opens the folder of hf)"),
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
    assert "must be a directory with a compiled network or a training run" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_network_of_our_own_is_never_overwritten(network: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_bytes() for path in network.iterdir()}
    assert run(["export", str(network), "--to", "hf", "--out", str(network)]) == 2
    assert "must not hold a compiled network" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in network.iterdir()} == before


@pytest.mark.parametrize("name", ["README.md", "config.json", "model.safetensors"])
def test_files_that_no_export_wrote_are_never_overwritten(
    network: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / name).write_text("mine")
    assert run(["export", str(network), "--to", "hf", "--out", str(tmp_path / "project")]) == 2
    assert f"must hold no {name} but that of an export" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "project").iterdir()] == [name]
    assert (tmp_path / "project" / name).read_text() == "mine"


@pytest.mark.parametrize("name", ["krohn.json", "state.safetensors", "weights.safetensors"])
def test_no_file_of_a_network_or_a_run_is_hidden_among_those_of_an_export(
    network: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("")
    assert run(["export", str(network), "--to", "onnx", "--out", str(tmp_path / "run")]) == 2
    assert f"it has {name}" in capsys.readouterr().err


def test_another_export_replaces_the_whole_of_the_first_and_leaves_other_files(
    network: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    common = {"README.md", "automaton.json", "export.json", "meaning.json", "notes.txt"}
    tokenizer = {"tokenizer.json", "tokenizer_config.json", "certificate.json"}
    for to, written in (
        ("hf", {"config.json", "generation_config.json", "model.safetensors"} | tokenizer),
        ("onnx", {"names.json", "model.onnx"}),
    ):
        assert run(["export", str(network), "--to", to, "--out", str(out)]) == 0
        (out / "notes.txt").write_text("mine")
        assert {path.name for path in out.iterdir()} == common | written


def test_a_file_in_place_of_a_directory_is_refused(network: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InvalidInput, match=r"out must be a directory; it is a file"):
        krohn.export(network, "hf", tmp_path / "out")


def test_writing_that_breaks_off_leaves_the_former_export(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    krohn.export(network, "hf", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert "config.json" in before

    def full(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        krohn.export(network, "hf", out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_the_lead_that_is_printed_is_never_more_than_what_was_found(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["export", str(network), "--to", "hf", "--out", str(tmp_path / "out")]
    assert run([*arguments, "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert run(arguments) == 0
    text = capsys.readouterr().out
    printed = [
        float(lead) for lead in re.findall(r"0 wrong; the right state leads by ([\d.]+) or more", text)
    ]
    result = [payload[check]["least_lead"] for check in ("checked", "rounding")]
    assert printed == result
    assert all(18 < lead < LEAD for lead in result)


def test_several_formats_go_to_folders_and_share_what_is_run(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from krohn.exporting import network_files as module

    checked = []
    check = module.check
    monkeypatch.setattr(module, "check", lambda *given: checked.append(1) or check(*given))
    arguments = ["export", str(network), "--to", "onnx,hf", "--json"]
    assert run([*arguments, "--out", str(tmp_path / "out")]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert len(checked) == 2  # with LayerNorm and without
    assert [one["format"] for one in payload["exports"]] == ["onnx", "hf"]
    for one in payload["exports"]:
        folder = tmp_path / "out" / one["format"]
        assert (one["directory"], one["written"]) == (str(folder), True)
        assert sorted(path.name for path in folder.iterdir()) == sorted(one["files"])
        report = json.loads((folder / "export.json").read_text())
        graph = one["format"] == "onnx"  # which the checker does not read
        assert one["certificate"]["covers"] == ("numbers" if graph else "files")
        proved = "proved in float32"
        if graph:
            proved = "numbers proved in float32; their use in this format is run, not proved"
        proved = proved if one["certificate"]["certified"] else "tested, not proved"
        found = (report["format"], report["checked"], report["proof"])
        assert found == (one["format"], one["checked"], proved)
        readable = one["certificate"]["certified"] and not graph
        assert ("certificate.json" in one["files"]) == readable


def test_a_network_that_is_wrong_is_not_written_unchecked_either(network: Path, tmp_path: Path) -> None:
    file = network / "model.safetensors"
    tensors = load_file(file)
    tensors["readout"] = np.roll(tensors["readout"], 1, axis=1)
    save_file(tensors, file)
    assert run(["export", str(network), "--to", "hf", "--out", str(tmp_path / "out"), "--unchecked"]) == 1
    assert not (tmp_path / "out").exists()
