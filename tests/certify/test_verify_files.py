"""Damaged and forged directories: exit status 1 or 2, never certified."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from certify.built_networks import compiled
from krohn.cli.app import run
from krohn.network.storage import save

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
    found = payload["counterexample"]
    network = compiled("D6", 7, "cascade")
    states = network.automaton.run(found["word"])
    assert network.automaton.state_names[states[-1]] == found["expected"] != found["got"]


def test_a_missing_directory_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(tmp_path / "nowhere")]) == 2
    assert "must exist" in capsys.readouterr().err
