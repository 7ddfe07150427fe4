"""Observations that are names, from the file to the network, its exports and its proof."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import krohn
from krohn.automata.quotients import minimize
from krohn.cli.app import run
from krohn.errors import InvalidAutomaton

DOOR = {
    "krohn": 1,
    "letters": ["push", "lock"],
    "states": ["open", "shut", "locked", "jammed"],
    "start": "shut",
    "next": {
        "open": {"push": "shut", "lock": "open"},
        "shut": {"push": "open", "lock": "locked"},
        "locked": {"push": "locked", "lock": "jammed"},
        "jammed": {"push": "jammed", "lock": "locked"},
    },
    "observe": {"open": "free", "shut": "free", "locked": "stuck", "jammed": "stuck"},
}
WORD = "push push lock lock"


def test_names_are_numbered_as_they_come_and_come_back(tmp_path: Path) -> None:
    door = krohn.automaton(DOOR)
    assert door.observe == (0, 0, 1, 1)
    assert door.observed == ("free", "free", "stuck", "stuck")
    for automaton in (door, replace(door, observe=(1, 1, 0, 0), observation_names=("stuck", "free"))):
        krohn.dump_automaton(automaton, tmp_path / "door.json")
        again = krohn.load_automaton(tmp_path / "door.json")
        assert (again, again.observe, again.observation_names) == (
            automaton,
            automaton.observe,
            automaton.observation_names,
        )
    assert minimize(door).observed == ("free", "free", "stuck")


def test_numbers_have_the_digest_that_they_always_had() -> None:
    """Networks on disk are found by the digests of their automata."""
    assert krohn.zoo("abab@accept").digest.startswith("76df18d10073add53a4f")


def test_a_network_says_the_names_and_is_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "door.json").write_text(json.dumps(DOOR))
    net = tmp_path / "net"
    assert run(f"compile {tmp_path}/door.json -T 8 --target observation --out {net}".split()) == 0
    capsys.readouterr()
    assert run(["run", str(net), *WORD.split()]) == 0
    assert capsys.readouterr().out.split() == ["free", "free", "stuck", "stuck"]
    assert run(["simulate", str(tmp_path / "door.json"), *WORD.split(), "--observe"]) == 0
    assert capsys.readouterr().out.split() == ["free", "free", "stuck", "stuck"]
    assert krohn.load(net)(WORD) == ["free", "free", "stuck", "stuck"]
    # The same automaton with its observations in another order is the same; another one is not.
    turned = {**DOOR, "states": ["locked", "jammed", "open", "shut"]}
    assert krohn.verify(net, automaton=krohn.automaton(turned)).certified
    wrong = {**DOOR, "observe": {**DOOR["observe"], "shut": "stuck"}}  # type: ignore[dict-item]
    assert not krohn.verify(net, automaton=krohn.automaton(wrong)).certified
    krohn.export(krohn.load(net), "hf", tmp_path / "hf")
    tokens = json.loads((tmp_path / "hf" / "tokenizer.json").read_text())["model"]["vocab"]
    assert {"free", "stuck"} <= tokens.keys()
    assert krohn.load(tmp_path / "hf")(WORD) == ["free", "free", "stuck", "stuck"]


def test_two_names_accept_nothing_and_are_no_finals(tmp_path: Path) -> None:
    network = krohn.compile(krohn.automaton(DOOR), 4, target="observation")
    with pytest.raises(krohn.KrohnError, match="accepting states"):
        network.accepts("push")
    with pytest.raises(krohn.KrohnError, match="observations must be 0 or 1"):
        krohn.dump_automaton(krohn.automaton(DOOR), tmp_path / "door.jff")


@pytest.mark.parametrize("names", [("a",), ("a", "a"), ("", "b"), (1, 2)])
def test_names_that_do_not_fit_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(InvalidAutomaton, match="observation name"):
        krohn.Semiautomaton(np.array([[0], [1]]), observe=(0, 1), observation_names=names)


def test_a_list_of_names_in_a_file_needs_what_is_observed(tmp_path: Path) -> None:
    payload = {key: value for key, value in DOOR.items() if key != "observe"}
    with pytest.raises(InvalidAutomaton, match="that is missing"):
        krohn.automaton({**payload, "observations": ["x"]})
