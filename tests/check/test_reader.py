"""The checker's own reader: misfit files give a one-line error, in bounded time and memory."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.files.folders import names_of, read_json, read_tensors
from krohn.check.files.reader import Automaton, Network
from krohn.check.rules import read_net, transformer_of
from krohn.errors import InvalidFile, KrohnError
from krohn.network.compiled import save
from krohn.network.transformer import Transformer
from krohn.proving.witness.search import checkable
from proving.built_networks import compiled


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    save(compiled("D6", 7, "cascade"), tmp_path)
    return tmp_path


def subject() -> tuple[Transformer, Semiautomaton]:
    network = compiled("D6", 7, "cascade")
    return network.transformer, network.automaton


def read_network(directory: Path) -> tuple[Network, Automaton]:
    net = read_net(directory)
    return transformer_of(net, checkable(*subject())[1])


def test_it_reads_what_was_written(directory: Path) -> None:
    network, _ = read_network(directory)
    other, _ = checkable(*subject())
    assert (network.positions == other.positions).all()
    for mine, theirs in zip(network.layers, other.layers, strict=True):
        assert all((a == b).all() for a, b in zip(mine.weights, theirs.weights, strict=True))
        assert len(mine.heads) == len(theirs.heads)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "a length that is no whole number": lambda p: p.update(length=7.0),
    "a version that is true": lambda p: p.update(krohn=True),
    "a huge shape": lambda p: p.update(shape=[[10**9, 10**9]]),
    "a shape of texts": lambda p: p.update(shape=["x"]),
    "no shape": lambda p: p.pop("shape"),
    "another mask": lambda p: p.update(mask="none"),
    "an automaton that is a list": lambda p: p.update(automaton=[]),
    "no states": lambda p: p["automaton"].update(states=[]),
    "a state named twice": lambda p: p["automaton"].update(states=["a", "a"]),
    "a letter that is a number": lambda p: p["automaton"].update(letters=[0]),
    "another target": lambda p: p.update(target="output"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_description_that_does_not_fit_is_refused(name: str, directory: Path) -> None:
    payload = json.loads((directory / "krohn.json").read_text())
    CHANGES[name](payload)
    (directory / "krohn.json").write_text(json.dumps(payload))
    with pytest.raises(InvalidFile):
        read_network(directory)


def header(directory: Path, change: Callable[[dict[str, Any]], object]) -> None:
    data = (directory / "model.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    payload = json.loads(data[8 : 8 + size])
    change(payload)
    text = json.dumps(payload).encode()
    (directory / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])


HEADERS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a huge tensor": lambda h: h["readout"].update(shape=[10**9, 10**9]),
    "bytes of another": lambda h: h["readout"].update(data_offsets=h["padding"]["data_offsets"]),
    "bytes outside": lambda h: h["readout"].update(data_offsets=[0, 10**9]),
    "another type": lambda h: h["readout"].update(dtype="F32"),
    "three axes": lambda h: h["readout"].update(shape=[1, 2, 3]),
    "a shape that is true": lambda h: h["readout"].update(shape=[True, 2]),
    "a missing tensor": lambda h: h.pop("readout"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_does_not_fit_is_refused(name: str, directory: Path) -> None:
    header(directory, HEADERS[name])
    with pytest.raises(InvalidFile):
        read_network(directory)


def test_duplicate_keys_deep_nesting_and_nan_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for text in ('{"a": 1, "a": 2}', "[" * 100_000, '{"a": NaN}', "{", "\xff"):
        path.write_text(text, encoding="latin-1")
        with pytest.raises(InvalidFile):
            read_json(path)
    path.write_text(" " * 100)
    with pytest.raises(KrohnError, match="at most"):
        read_json(path, max_bytes=10)
    with pytest.raises(InvalidFile):
        read_tensors(tmp_path / "missing")
    with pytest.raises(InvalidFile):
        names_of({"states": ["a", "a"], "letters": ["x"]})


def test_nan_weights_are_refused(directory: Path) -> None:
    data = bytearray((directory / "model.safetensors").read_bytes())
    data[-8:] = np.array([np.nan]).tobytes()
    (directory / "model.safetensors").write_bytes(bytes(data))
    with pytest.raises(InvalidFile):
        read_network(directory)
