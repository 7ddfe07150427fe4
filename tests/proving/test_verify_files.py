"""Damaged and forged directories: exit status 1 or 2, never certified."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from krohn.cli.app import run
from krohn.network.compiled import save
from proving.built_networks import compiled

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    save(compiled("D6", 7, "cascade"), tmp_path)
    return tmp_path


def change_tensors(directory: Path, change: Change) -> None:
    tensors = {name: matrix.copy() for name, matrix in load_file(directory / "model.safetensors").items()}
    change(tensors)
    save_file(tensors, directory / "model.safetensors")


def change_meaning(directory: Path, change: Change) -> None:
    payload = json.loads((directory / "krohn.json").read_text())
    change(payload)
    (directory / "krohn.json").write_text(json.dumps(payload))


def test_an_intact_directory_is_certified(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(directory), "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["certified"] is True
    assert payload["length"] == 7
    assert payload["dtype"] == "float64"
    assert payload["margin"] > 0
    assert payload["counterexample"] is None
    assert all(check["passed"] for check in payload["checks"])


def poison(value: float) -> Change:
    def change(tensors: dict[str, Any]) -> None:
        tensors["layers.0.heads.0.W_Q"][0, 0] = value

    return change


BROKEN_TENSORS: dict[str, Change] = {
    "a NaN": poison(float("nan")),
    "an infinity": poison(float("inf")),
    "a missing tensor": lambda tensors: tensors.pop("readout"),
    "an extra tensor": lambda tensors: tensors.update(secret=np.zeros(3)),
    "a wrong shape": lambda tensors: tensors.update(readout=np.zeros((2, 2))),
    "a wrong dtype": lambda tensors: tensors.update(readout=tensors["readout"].astype(np.float32)),
    "fewer positions": lambda tensors: tensors.update(positions=tensors["positions"][:-1]),
}


@pytest.mark.parametrize("name", BROKEN_TENSORS)
def test_broken_tensors_are_bad_files(name: str, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change_tensors(directory, BROKEN_TENSORS[name])
    assert run(["verify", str(directory)]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def first_table(payload: dict[str, Any]) -> dict[str, Any]:
    maps = [change for layer in payload["program"]["layers"] for change in layer["maps"]]
    return next(change for change in maps if change["operation"] == "Table")


def forge_row(payload: dict[str, Any]) -> None:
    row = first_table(payload)["rows"][0]
    row[1][0] += 1


def forge_channel(payload: dict[str, Any]) -> None:
    moments = payload["layout"]["moments"]
    named = [(m, n) for m, moment in enumerate(moments) for n, c in enumerate(moment) if c[0]]
    moment, number = named[-1]
    moments[moment][number][2] = 7.0


def swap_channels(payload: dict[str, Any]) -> None:
    moment = payload["layout"]["moments"][-1]
    moment[0], moment[1] = moment[1], moment[0]


def forge_head(payload: dict[str, Any]) -> None:
    payload["layout"]["heads"][0][0][1] = [99]


FORGED: dict[str, Change] = {
    "a table row": forge_row,
    "a channel's scale": forge_channel,
    "swapped channels": swap_channels,
    "a head's operation": forge_head,
    "the digest": lambda payload: payload.update(digest="0" * 64),
    "the automaton": lambda payload: payload["automaton"]["next"].update(
        {
            name: dict(row)
            for name, row in zip(
                payload["automaton"]["next"],
                [*payload["automaton"]["next"].values()][1:] + [*payload["automaton"]["next"].values()][:1],
                strict=True,
            )
        }
    ),
    "the length": lambda payload: payload.update(length=100),
    "the mask": lambda payload: payload.update(mask="strict"),
    "no program": lambda payload: payload.update(program={}),
    "the shape": lambda payload: payload.update(shape=[[1, 1]]),
}


def all_heads(payload: dict[str, Any]) -> list[list[Any]]:
    return [head for layer in payload["layout"]["heads"] for head in layer]


def named_channel(payload: dict[str, Any], moment: int) -> list[Any]:
    channels: list[list[Any]] = payload["layout"]["moments"][moment]
    return next(channel for channel in channels if channel[0])


def swap_claims(payload: dict[str, Any]) -> None:
    heads = payload["layout"]["heads"][1]
    heads[0][1], heads[1][1] = heads[1][1], heads[0][1]
    heads[0][0], heads[1][0] = heads[1][0], heads[0][0]


def attention_of(payload: dict[str, Any], layer: int) -> dict[str, Any]:
    first: dict[str, Any] = payload["program"]["layers"][layer]["attention"][0]
    return first


def swap_codes(payload: dict[str, Any]) -> None:
    codes = payload["program"]["readout"]["codes"]
    codes[0], codes[1] = codes[1], codes[0]


def rename(payload: dict[str, Any]) -> None:
    """A channel is said to hold another register of the program."""
    names = [register["name"] for register in payload["program"]["registers"]]
    channel = named_channel(payload, 2)
    channel[0] = next(name for name in names if name != channel[0])


def forge_position(payload: dict[str, Any]) -> None:
    channels = payload["layout"]["moments"][0]
    coded = [channel for channel in channels if channel[1]]
    coded[0][1], coded[1][1] = coded[1][1], coded[0][1]
    later = [channel for channel in payload["layout"]["moments"][1] if channel[1]]
    later[0][1] = "nowhere"


GRID_FORGERIES: dict[str, Change] = {
    "claims of two heads swapped": swap_claims,
    "a head's text": lambda payload: all_heads(payload)[1].__setitem__(0, "copies from 5 back"),
    "a head that sums said to look back": lambda payload: attention_of(payload, 0).update(
        operation="LookBack"
    ),
    "another shift of a match": lambda payload: attention_of(payload, 1).update(shift=2),
    "a source's letter": lambda payload: payload["program"]["sources"][0]["letters"].__setitem__(0, 0),
    "codes of two states": swap_codes,
    "a register's range": lambda payload: payload["program"]["registers"][0].update(low=0, high=0),
    "a register's kind": lambda payload: payload["program"]["registers"][0].update(kind="circle"),
    "a register that is not there": lambda payload: named_channel(payload, 2).__setitem__(0, "ghost"),
    "a channel's register": rename,
    "a channel's part": lambda payload: named_channel(payload, 2).__setitem__(3, "sin"),
    "a channel's sign": lambda payload: named_channel(payload, 1).__setitem__(2, -1.0),
    "a scale that is not a number": lambda payload: named_channel(payload, 1).__setitem__(2, float("nan")),
    "a position code": forge_position,
    "a mask of the program": lambda payload: payload["program"].update(mask="causal"),
    "a layer less": lambda payload: payload["program"]["layers"].pop(),
    "a moment less": lambda payload: payload["layout"]["moments"].pop(),
    "an unknown key": lambda payload: payload.update(certified=True),
    "another version": lambda payload: payload.update(krohn=2),
    "the method": lambda payload: payload.update(method="magic"),
    "the start state": lambda payload: payload["automaton"].update(start="2"),
    "a boolean for a length": lambda payload: payload.update(length=True),
    "a text for a table": lambda payload: payload["program"].update(layers="none"),
}


@pytest.mark.parametrize("name", GRID_FORGERIES)
def test_a_forged_grid_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(compiled("Grid4", 7, "cascade"), tmp_path)
    change_meaning(tmp_path, GRID_FORGERIES[name])
    assert run(["verify", str(tmp_path)]) in (1, 2)
    out = capsys.readouterr()
    assert "certified:" not in out.out.replace("not certified:", "")
    assert out.out or out.err.startswith("error: ")
    assert "Traceback" not in out.err


BROKEN_FILES: dict[str, Callable[[Path], object]] = {
    "no matrices": lambda folder: (folder / "model.safetensors").unlink(),
    "no meaning": lambda folder: (folder / "krohn.json").unlink(),
    "half the matrices": lambda folder: (folder / "model.safetensors").write_bytes(
        (folder / "model.safetensors").read_bytes()[:-100]
    ),
    "half the meaning": lambda folder: (folder / "krohn.json").write_text(
        (folder / "krohn.json").read_text()[:-100]
    ),
    "a list": lambda folder: (folder / "krohn.json").write_text("[]"),
    "a header that lies": lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 64),
    "matrices of another network": lambda folder: save_file(
        load_file(other_network(folder) / "model.safetensors"), folder / "model.safetensors"
    ),
}


def other_network(folder: Path) -> Path:
    save(compiled("Parity", 7, "cascade"), folder / "other")
    return folder / "other"


@pytest.mark.parametrize("name", BROKEN_FILES)
def test_broken_files_are_bad_input(name: str, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    BROKEN_FILES[name](directory)
    assert run(["verify", str(directory)]) == 2
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.parametrize("name", FORGED)
def test_forged_descriptions_are_refused(
    name: str, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_meaning(directory, FORGED[name])
    assert run(["verify", str(directory)]) in (1, 2)
    out = capsys.readouterr()
    assert "certified:" not in out.out.replace("not certified:", "")


def test_a_wrong_network_gets_a_counterexample(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def flip(tensors: dict[str, Any]) -> None:
        tensors["readout"] *= -1

    change_tensors(directory, flip)
    assert run(["verify", str(directory), "--json"]) == 1
    payload = json.loads(capsys.readouterr().out)
    result = payload["counterexample"]
    network = compiled("D6", 7, "cascade")
    states = network.automaton.run(result["word"])
    assert network.automaton.state_names[states[-1]] == result["expected"] != result["got"]


def test_a_missing_directory_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(tmp_path / "nowhere")]) == 2
    assert "must exist" in capsys.readouterr().err
