"""The automaton that comes out is the one the network computes: right, broken, or hardly trained."""

import json
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import krohn
from krohn.automata.files import load_automaton
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.cli.app import run
from krohn.errors import InvalidInput
from krohn.functions import simulate
from krohn.lab.interpret.extraction import answers_of, extract
from krohn.network.compiled import load, save

ROOT = Path(__file__).parents[3]


def extracted(
    folder: Path, length: int, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[int, dict, Path]:
    out = folder.parent / "learned.json"
    status = run(["extract", str(folder), "--length", str(length), "--out", str(out), "--json", *more])
    return status, json.loads(capsys.readouterr().out), out


def same(one: Semiautomaton, other: Semiautomaton, length: int = 7) -> bool:
    """Whether two automata give states of the same names on all words."""
    words = np.array(list(product(range(one.num_letters), repeat=length)))
    return bool(
        (
            np.array(one.state_names)[simulate(one, words)]
            == np.array(other.state_names)[simulate(other, words)]
        ).all()
    )


@pytest.mark.parametrize("spec", ["S3", "Grid4", "abab"])
def test_a_compiled_network_gives_its_automaton_back(
    spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    automaton = parse_spec(spec)
    krohn.save(krohn.compile(automaton, length=12), tmp_path / "net")
    status, payload, out = extracted(tmp_path / "net", 5, capsys)
    assert (status, payload["equivalent"], payload["counterexample"]) == (0, True, None)
    assert payload["states"] == automaton.num_states
    assert payload["task"]["equivalent"] is True
    learned = load_automaton(out)
    assert same(learned, automaton, 5)
    assert run(["analyze", str(out), "--json"]) == 0


def test_a_network_that_accepts_or_rejects_gives_the_least_automaton(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Judged by Python's ``re``; the empty word is accepted, though the start has the number 0."""
    krohn.save(krohn.compile("regex:(ab)*c?", length=12, target="observation"), tmp_path / "net")
    status, payload, out = extracted(tmp_path / "net", 6, capsys)
    assert (status, payload["states"], payload["task"]["equivalent"]) == (0, 4, True)
    learned = load_automaton(out)
    assert learned.observe[learned.start] == 1
    for word in map("".join, product("abc", repeat=6)):
        accepted = [int(bool(re.fullmatch("(ab)*c?", word[:end]))) for end in range(1, 7)]
        assert [learned.observe[state] for state in learned.run(word)] == accepted


def test_the_wrong_automaton_of_a_broken_network_comes_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network = krohn.compile("Grid4", length=14, unproved=True)
    readout, bias = network.transformer.readout.copy(), network.transformer.readout_bias.copy()
    readout[:, [0, 3]], bias[[0, 3]] = readout[:, [3, 0]], bias[[3, 0]]  # it confuses the two ends
    broken = replace(network, transformer=replace(network.transformer, readout=readout, readout_bias=bias))
    save(broken, tmp_path / "net")
    status, payload, out = extracted(tmp_path / "net", 6, capsys)
    assert (status, payload["equivalent"]) == (0, True)
    mistake = payload["task"]["counterexample"]["word"]
    learned, swap = load_automaton(out), {0: 3, 3: 0, 1: 1, 2: 2}
    for word in product(range(2), repeat=6):
        true = network.automaton.run(word)
        got = [learned.observe[state] for state in learned.run(word)]
        assert got == [swap[state] for state in true]
    assert len(mistake) == 1
    assert swap[network.automaton.run(mistake)[-1]] != network.automaton.run(mistake)[-1]
    assert load(tmp_path / "net").length == 14


@pytest.mark.parametrize("kind", ["gpt", "scratchpad", "lstm", "observing"])
def test_a_trained_network_is_followed_on_every_word(kind: str, runs: dict[str, Path]) -> None:
    answers, length = answers_of(krohn.load(runs[kind])), 4
    machine = extract(answers, length, max_states=200)
    assert machine.difference is None
    words = np.array(list(product(range(answers.automaton.num_letters), repeat=length)))
    outputs = np.array(machine.automaton.observe)[np.asarray(simulate(machine.automaton, words))]
    assert (outputs == answers.of(words)).all()


def test_a_machine_that_would_be_too_large_is_reported(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    status, payload, _ = extracted(runs["gpt"], 6, capsys, "--max-states", "2")
    if payload["equivalent"]:
        pytest.fail("a hardly trained network must not be an automaton of two states")
    assert status == 1
    assert len(payload["counterexample"]["word"]) == payload["agrees_to"] + 1


def test_bad_requests_are_one_line(
    tmp_path: Path, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    krohn.save(krohn.compile("C2", length=4, unproved=True), tmp_path / "net")
    for arguments, says in (
        ([str(tmp_path / "none"), "--length", "3"], "must be the directory of a network"),
        ([str(tmp_path / "net"), "--length", "5"], "--length must be at most 4"),
        ([str(runs["lstm"]), "--length", "0"], "--length"),
    ):
        assert run(["extract", *arguments]) == 2
        assert says in capsys.readouterr().err


def test_the_example_of_a_wrong_automaton(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands of the page, run as they stand: eight states, and a group that Grid4 has not."""
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "trained-proof.md").read_text()
    lines = re.findall(r"^```sh\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)[0].splitlines()
    messages = []
    for line in lines:
        typed = line.replace("learned.json", str(tmp_path / "learned.json")).split()[1:]
        assert run([*typed, "--json"]) == 0
        messages.append(json.loads(capsys.readouterr().out))
    assert messages[0]["states"] == 8
    assert messages[0]["equivalent"] is True
    assert messages[0]["task"]["counterexample"]["letters"] == list("RRRLRLRR")
    assert messages[1]["is_aperiodic"] is False


def parity(words: np.ndarray, *, other: bool = False) -> np.ndarray:
    """Logits of the parity of the ones so far, or of the opposite."""
    return np.eye(2)[(words.cumsum(1) + other) % 2]


CAUSAL = {
    "parity": parity,
    "the opposite": lambda words: parity(words, other=True),
}
NOT_CAUSAL = {
    "right on words of six letters alone": lambda words: parity(words, other=words.shape[1] != 6),
    "wrong before a 1": lambda words: parity(np.roll(words, -1, 1)) if words.shape[1] == 6 else parity(words),
    "wrong before the last letter": lambda words: np.concatenate(
        [parity(words, other=True)[:, :-1], parity(words)[:, -1:]], 1
    ),
}


@pytest.mark.parametrize("name", [*CAUSAL, *NOT_CAUSAL])
def test_a_callable_must_answer_a_prefix_as_the_word_itself(name: str) -> None:
    """All words of six letters hold the answers to shorter ones only if later letters change nothing."""
    if name in NOT_CAUSAL:
        with pytest.raises(InvalidInput, match="must be causal"):
            krohn.extract(NOT_CAUSAL[name], 6, automaton="C2")
        return
    result = krohn.extract(CAUSAL[name], 6, automaton="C2")
    assert result.equivalent
    assert (result.mistake is None) == (name == "parity")
