"""Threshold circuits of compiled networks: the same states on every short word, depth free of the length."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from every import every
from krohn.automata.zoo import parse_spec
from krohn.cli.app import run
from krohn.errors import LimitExceeded
from krohn.paper.gate_circuit import FALSE, TRUE, letters_as_bits
from krohn.paper.threshold_circuit import count_wires, threshold_circuit
from krohn.paper.threshold_gates import Gates
from unproved import compile

OPTIONS = [
    ("C2", {}),
    ("C5", {}),
    ("abab", {}),
    ("D8", {}),
    ("S4", {}),
    ("Grid4", {}),
    ("Dyck2,2", {}),
    ("FlipFlop", {}),
    ("Dyck4,2", {}),
    ("A5", {}),
    ("T3", {"method": "scan"}),
]


def every_word(letters: int, length: int) -> np.ndarray:
    return np.array([*itertools.product(range(letters), repeat=length)])


@every(("spec", "options"), OPTIONS)
def test_the_circuit_has_the_automatons_state_after_every_letter_of_every_short_word(spec, options) -> None:
    automaton = parse_spec(spec)
    length = max(n for n in range(1, 7) if automaton.num_letters**n <= 1_000)
    circuit = threshold_circuit(compile(automaton, length, effort=0.1, **options))
    words = every_word(automaton.num_letters, length)
    bits = circuit.evaluate(letters_as_bits(words, automaton.num_letters))
    wanted = np.array([automaton.run(word) for word in words])
    assert (bits.sum(axis=-1) == 1).all()
    assert (bits.argmax(axis=-1) == wanted).all()


def test_the_depth_does_not_depend_on_the_length_unless_the_group_is_not_solvable() -> None:
    depth = {
        spec: [threshold_circuit(compile(parse_spec(spec), length)).depth for length in (4, 6, 10)]
        for spec in ("C2", "D8", "Dyck2,2", "A5")
    }
    assert all(len(set(depth[spec])) == 1 for spec in ("C2", "D8", "Dyck2,2"))
    assert depth["A5"][0] < depth["A5"][1] < depth["A5"][2]


def test_parity_needs_a_gate_for_each_count() -> None:
    circuit = threshold_circuit(compile(parse_spec("C2"), 8))
    assert circuit.depth == 3
    assert circuit.largest_weight <= 8
    assert circuit.wires <= 8 * 8 * 8


def test_a_shorter_circuit_of_the_same_network() -> None:
    network = compile(parse_spec("C3"), 20)
    circuit = threshold_circuit(network, 4)
    words = every_word(3, 4)
    assert (circuit.evaluate(letters_as_bits(words, 3)).argmax(-1) == network.run(words)).all()


@every("weights", [(1, 1, 1), (2, -1, 1), (-1, -1, -1), (3, -2, 0)])
@every("bound", range(-4, 5))
def test_a_gate_is_its_inequality(weights, bound) -> None:
    gates = Gates(3)
    wire = gates.threshold(dict(zip((2, 3, 4), weights, strict=True)), bound)
    circuit = gates.finish([[wire]])
    words = every_word(2, 3) == 1
    wanted = words.astype(int) @ np.array(weights) >= bound
    assert (circuit.evaluate(words)[:, 0, 0] == wanted).all()


def test_constants_need_no_gate_and_equal_gates_are_built_once() -> None:
    gates = Gates(2)
    assert gates.threshold({2: 1, 3: 1}, 0) == TRUE
    assert gates.threshold({2: 1, 3: 1}, 3) == FALSE
    assert gates.threshold({2: 1, TRUE: 1}, 2) == 2
    assert gates.conjunction([2, 3]) == gates.threshold({3: 1, 2: 1}, 2)
    assert len(gates.rows) == 1


def test_a_circuit_that_is_too_large_is_refused(monkeypatch) -> None:
    monkeypatch.setattr("krohn.paper.threshold_gates.MAX_WIRES", 100)
    with pytest.raises(LimitExceeded, match=r"at most 100 wires.*choose shorter words"):
        threshold_circuit(compile(parse_spec("S4"), 8))


def test_a_circuit_for_long_words_is_refused_by_those_for_short_ones(monkeypatch) -> None:
    built = []

    def record(inputs: int) -> Gates:
        built.append(inputs)
        return Gates(inputs)

    monkeypatch.setattr("krohn.paper.threshold_circuit.Gates", record)
    with pytest.raises(LimitExceeded, match=r"at most 20,000,000 wires; one for words of 5,000 letters"):
        threshold_circuit(compile(parse_spec("S4"), 5_000))
    assert 0 < max(built) <= 128 * parse_spec("S4").num_letters


def test_the_command_counts_and_compares(capsys, tmp_path) -> None:
    assert run(["circuit", "S4", "--length", "8", "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["agrees"]
    assert payload["gates"] > 100
    assert run(["compile", "abab", "--length", "6", "--out", str(tmp_path / "net")]) == 0
    capsys.readouterr()
    assert run(["circuit", str(tmp_path / "net")]) == 0
    assert "the same states as the network on" in capsys.readouterr().out
    assert run(["circuit", "S4"]) == 2
    assert "choose it with --length" in capsys.readouterr().err


def test_a_wrong_circuit_is_shown_with_a_word(capsys, monkeypatch) -> None:
    def broken(network, length):
        circuit = threshold_circuit(network, length)
        return replace(circuit, thresholds=(circuit.thresholds[0] + 1, *circuit.thresholds[1:]))

    monkeypatch.setattr("krohn.functions.threshold_circuit", broken)
    assert run(["circuit", "C3", "--length", "5", "--json"]) == 1
    payload = json.loads(capsys.readouterr().out)
    assert not payload["agrees"]
    assert payload["counterexample"]


@every("case", OPTIONS)
def test_no_later_letter_takes_fewer_wires(case: tuple[str, dict[str, str]]) -> None:
    """By this the circuits for short words say which long words are too long."""
    program = compile(parse_spec(case[0]), 24, **case[1]).program
    counts = [count_wires(program, length) for length in range(4, 25, 4)]
    steps = [later - earlier for earlier, later in itertools.pairwise(counts)]
    assert steps == sorted(steps)
