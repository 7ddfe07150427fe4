"""The command: its list, building again, and folders of other people."""

import json
from pathlib import Path

import pytest

import krohn
from krohn.cli.app import run
from krohn.lab.suite.catalogue import entries
from krohn.lab.suite.disguise import DISGUISES


def test_there_are_at_least_forty_networks_of_ten_automata(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "list", "--json"]) == 0
    every = json.loads(capsys.readouterr().out)["networks"]
    assert {network["tier"] for network in every} == {"compiled", "taught", "lock"}
    networks = [network for network in every if network["tier"] == "compiled"]
    assert len({network["name"] for network in networks}) == len(networks) >= 40
    assert len({network["automaton"] for network in networks}) >= 10
    assert {network["disguise"] for network in networks} == set(DISGUISES)
    assert list(krohn.suite.list()) == every
    assert [entry.name for entry in entries()] == [one["name"] for one in every if one["tier"] != "lock"]


def test_every_algorithm_compiles_to_another_network() -> None:
    plain = [entry for entry in entries() if entry.disguise == "plain" and entry.automaton in ("Grid4", "C2")]
    sizes = {}
    for entry in plain:
        network = krohn.compile(entry.automaton, length=entry.length, **entry.options)
        sizes.setdefault(entry.automaton, set()).add(tuple(network.sizes().values()))
    assert all(len(kinds) == sum(e.automaton == name for e in plain) for name, kinds in sizes.items())


def test_finished_networks_are_kept(suite_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = suite_folder / "c2-cascade-plain" / "model.safetensors"
    before = weights.stat().st_mtime_ns
    assert run(["suite", "build", "--out", str(suite_folder), "--only", "c2-cascade-plain", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["networks"]
    assert [one["new"] for one in facts] == [False]
    assert weights.stat().st_mtime_ns == before


def test_the_plain_network_carries_a_certificate(suite_folder: Path) -> None:
    facts = json.loads((suite_folder / "c2-cascade-plain" / "suite.json").read_text())
    assert facts["proof"].startswith("proved")
    assert (suite_folder / "c2-cascade-plain" / "certificate.json").exists()
    hidden = json.loads((suite_folder / "c2-cascade-rotated" / "suite.json").read_text())
    assert hidden["proof"].startswith("tested, not proved")


@pytest.mark.parametrize("name", ["c2-cascade-plane", "x"])
def test_an_unknown_name_gets_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "build", "--out", str(tmp_path / "s"), "--only", name]) == 2
    assert "error: " in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_files_of_others_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "c2-cascade-plain"
    folder.mkdir()
    (folder / "config.json").write_text("mine")
    assert run(["suite", "build", "--out", str(tmp_path), "--only", "c2-cascade-plain"]) == 2
    assert (folder / "config.json").read_text() == "mine"
    assert run(["suite", "score", str(folder), "--circuit", "x.json"]) == 2
    assert "suite" in capsys.readouterr().err


def test_a_ranking_without_a_circuit_is_called_so(
    suite_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, mine = suite_folder / "c2-cascade-rotated", tmp_path / "mine.json"
    edge = {"input->a0.h0<v>": {"score": 2.0}}
    mine.write_text(json.dumps({"edges": edge}))
    assert run(["suite", "score", str(folder), "--circuit", str(mine)]) == 0
    assert "a ranking without a circuit" in capsys.readouterr().out
    edge["input->a0.h0<v>"]["in_graph"] = True
    mine.write_text(json.dumps({"edges": edge}))
    assert run(["suite", "score", str(folder), "--circuit", str(mine)]) == 0
    assert "of the circuit's edges 100% are true, of the true ones 14% are in it" in capsys.readouterr().out
