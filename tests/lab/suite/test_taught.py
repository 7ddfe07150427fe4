"""Taught networks: what the scan predicts, against a naive run; the folder; what was established."""

import json
from pathlib import Path

import numpy as np
import pytest

import krohn
from krohn.automata.zoo import zoo
from krohn.lab.suite.building import build
from krohn.lab.suite.catalogue import entries
from krohn.lab.suite.scoring import Known
from krohn.lab.suite.taught import LENGTH, draw, load, predict, products
from krohn.lab.suite.truth import unfaithful, word_pairs

NAME = "s4-taught-0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("taught")
    build(out, [NAME])
    return out / NAME


def test_there_are_eight_automata_with_two_seeds_each() -> None:
    taught = [entry for entry in entries() if entry.tier == "taught"]
    specs = [entry.automaton for entry in taught]
    assert len(set(specs)) == 8
    assert sorted(specs) == sorted([*set(specs)] * 2)
    assert all(load(entry)[0].length == LENGTH for entry in (taught[0], taught[-1]))


@pytest.mark.parametrize("window", [2, 4, 16])
def test_predictions_are_those_of_a_scan_that_is_run(window: int) -> None:
    """A scan of windows 1, 2, 4, … on maps of states, with one map exchanged, position by position."""
    automaton, rng = zoo("S4"), np.random.default_rng(0)
    base, source = draw(automaton, 12, 1), draw(automaton, 12, 2)
    letter = rng.integers(LENGTH, size=12)
    held = products(automaton, source, window)
    for row, at in enumerate(letter.tolist()):
        maps = [automaton.table[:, one] for one in base[row]]
        size = 1
        while size <= LENGTH:
            if size == window:
                maps[at] = held[row, at]
            maps = [maps[t] if t < size else maps[t][maps[t - size]] for t in range(LENGTH)]
            size *= 2
        states = [int(one[automaton.start]) for one in maps]
        if window < LENGTH:
            assert states == predict(automaton, base, source, letter, window)[row].tolist()


def test_the_network_behaves_as_its_variables_say(folder: Path) -> None:
    rows = json.loads((folder / "truth.json").read_text())["interventions"]
    assert [row["name"] for row in rows] == [f"product of {2**block} letters" for block in range(1, 5)]
    for row in rows:
        assert row["position"]["value"] > 0.95
        assert row["classes"]["value"] > 0.95
        assert row["random"]["value"] < 0.5


def test_the_circuit_is_faithful_on_most_other_pairs_and_can_be_scored(folder: Path) -> None:
    known = Known(folder)
    said = json.loads((folder / "truth.json").read_text())
    share = said["faithful"]
    pairs = word_pairs(known.automaton, LENGTH, 64, 12345)
    wrong = unfaithful(known.model, known.truth.kept, pairs)
    assert share["value"] > 0.8
    assert 1 - len(wrong) / 64 > share["value"] - 0.15
    assert len(unfaithful(known.model, np.zeros_like(known.truth.kept), pairs)) > 32
    assert krohn.suite.score(folder, circuit=folder / "circuit.json").auroc == 1.0


def test_heads_look_where_a_scan_looks(folder: Path) -> None:
    said = json.loads((folder / "truth.json").read_text())
    heads = said["attention"]
    assert all(max(block) > 0.95 for block in heads[1:])
    assert all(min(block) < 0.5 for block in heads)
