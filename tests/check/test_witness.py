"""Malformed and foreign witnesses: every one is a refusal, none an exception."""

import copy
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.files.reader import Automaton, Network
from krohn.check.files.witness import MAX_NUMBER, witness_from
from krohn.check.ground import Refused
from krohn.check.transformer.checker import check
from krohn.network.compiled import CompiledNetwork
from krohn.proving.attempts import arithmetic, attempt
from krohn.proving.witness.search import checkable
from proving.built_networks import compiled

LENGTH = 8


def proved(spec: str, method: str = "cascade") -> tuple[Network, Automaton, dict[str, Any]]:
    return proof_of(compiled(spec, LENGTH, method))


def proof_of(network: CompiledNetwork) -> tuple[Network, Automaton, dict[str, Any]]:
    record, failure, _ = attempt(network.transformer, network.automaton, LENGTH, arithmetic("float32"))
    assert failure is None
    assert record.witness is not None
    return *checkable(network.transformer, network.automaton), json.loads(json.dumps(record.witness))


CASES = {"Parity": proved("Parity"), "abab": proved("abab"), "FlipFlop": proved("FlipFlop", "scan")}


@pytest.mark.parametrize("name", CASES)
def test_a_witness_that_went_through_a_file_is_accepted(name: str) -> None:
    network, automaton, witness = CASES[name]
    verdict = check(network, automaton, "float32", LENGTH, witness)
    assert verdict.certified, verdict.reason


def entries(payload: Any, trail: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all numbers, texts and lists in a witness."""
    result = [trail] if trail else []
    if isinstance(payload, dict):
        result += [place for key, item in payload.items() for place in entries(item, (*trail, key))]
    if isinstance(payload, list):
        result += [place for at, item in enumerate(payload) for place in entries(item, (*trail, at))]
    return result


STRANGE: list[Any] = [
    None,
    True,
    -1,
    7,
    10**30,
    1.5,
    "x",
    [],
    {},
    [[[]]],
    float("nan"),
    {"shape": [0, 3]},
    [1, [2]],
]


@pytest.mark.parametrize("name", CASES)
def test_strange_entries_are_refusals_never_exceptions_and_never_wrong(name: str) -> None:
    """On a wrong automaton nothing may be accepted; on the right one a harmless change may."""
    network, automaton, witness = CASES[name]
    wrong = Automaton((automaton.table + 1) % len(automaton.table), automaton.start, automaton.shows)
    dice, places = np.random.default_rng(0), entries(witness)
    for number in range(5 * len(STRANGE)):
        broken = copy.deepcopy(witness)
        place = places[int(dice.integers(len(places)))]
        target = broken
        for step in place[:-1]:
            target = target[step]
        target[place[-1]] = STRANGE[number % len(STRANGE)]
        check(network, automaton, "float32", LENGTH, broken)
        assert not check(network, wrong, "float32", LENGTH, broken).certified


@pytest.mark.parametrize("number", [-1, MAX_NUMBER + 1])
def test_labels_outside_their_range_are_refused_before_anything_is_computed(number: int) -> None:
    """From the end of an array a negative number would pick another label, and no check would see it."""
    given = {"states": [0, number], "classes": [0], "turn": [[1]], "wide": [[1.0]]}
    with pytest.raises(Refused, match="witness: states must be whole numbers"):
        witness_from({"kind": "layered", "channels": [[0]], "steps": [{"kind": "merge", **given}]})


@pytest.mark.parametrize(
    "witness", [None, [], {}, 3, "scan", {"kind": "layered"}, {"kind": "layered", "steps": []}]
)
def test_something_else_is_no_witness(witness: object) -> None:
    network, automaton, _ = CASES["Parity"]
    verdict = check(network, automaton, "float32", LENGTH, witness)
    assert not verdict.certified
    assert verdict.reason


@pytest.mark.parametrize("clock", [None, 0, 1, "no", []])
def test_whether_there_is_a_clock_is_true_or_false(clock: object) -> None:
    network, automaton, witness = CASES["Parity"]
    assert check(network, automaton, "float32", LENGTH, {**witness, "clock": True}).certified
    verdict = check(network, automaton, "float32", LENGTH, {**witness, "clock": clock})
    assert not verdict.certified
    assert "clock" in verdict.reason


def test_a_proof_that_needs_its_clock_is_refused_without_it() -> None:
    network, automaton, witness = proved("abab", "features")
    assert not check(network, automaton, "float32", LENGTH, {**witness, "clock": False}).certified


def alike() -> CompiledNetwork:
    """Letters 0 and 2 act alike: both toggle."""
    toggles = Semiautomaton(np.array([[1, 0, 1], [0, 1, 0]]), 0, ("even", "odd"), ("a", "b", "c"))
    return krohn.compile(toggles, LENGTH)


def test_letters_that_act_alike_are_one_in_a_witness() -> None:
    network, automaton, witness = proof_of(alike())
    assert witness["alike"] is True
    first = witness["steps"][0]
    assert len(first["states"]) * 2 == len(first["classes"])
    assert check(network, automaton, "float32", LENGTH, witness).certified


@pytest.mark.parametrize("flag", [False, None, 0, 1, "no", []])
def test_whether_letters_are_joined_is_true_or_false(flag: object) -> None:
    network, automaton, witness = proof_of(alike())
    assert not check(network, automaton, "float32", LENGTH, {**witness, "alike": flag}).certified


def test_letters_of_one_embedding_that_act_differently_are_not_joined() -> None:
    """Each hypothesis alone is not enough; the run shows that the network is wrong on the third letter."""
    network, automaton, witness = proof_of(alike())
    other = replace(automaton, table=np.array([[1, 0, 0], [0, 1, 1]]))
    assert not check(network, other, "float32", LENGTH, witness).certified
    moved = replace(network, embedding=network.embedding[[0, 1, 1]])
    assert not check(moved, automaton, "float32", LENGTH, witness).certified
    assert alike().states(["c"])[-1] != other.table[0, 2]


def test_a_witness_of_another_network_is_refused() -> None:
    for name, (network, automaton, _) in CASES.items():
        for other, (_, _, witness) in CASES.items():
            if name != other:
                assert not check(network, automaton, "float32", LENGTH, witness).certified


def test_steps_left_out_or_doubled_are_refused() -> None:
    network, automaton, witness = CASES["abab"]
    for number, step in enumerate(witness["steps"]):
        if step["kind"] in ("attention", "mlp"):
            less, more = copy.deepcopy(witness), copy.deepcopy(witness)
            del less["steps"][number]
            more["steps"].insert(number, step)
            assert not check(network, automaton, "float32", LENGTH, less).certified
            assert not check(network, automaton, "float32", LENGTH, more).certified


@pytest.mark.parametrize("length", [0, LENGTH + 1, 8.0, True, "8"])
def test_invalid_lengths_are_refused(length: Any) -> None:
    network, automaton, witness = CASES["Parity"]
    assert not check(network, automaton, "float32", length, witness).certified


def test_a_budget_that_is_spent_is_a_refusal_that_says_so() -> None:
    network, automaton, witness = CASES["abab"]
    verdict = check(network, automaton, "float32", LENGTH, witness, work=1000)
    assert "more work than it is given" in verdict.reason


def test_no_other_automaton_is_certified_with_any_single_transition_changed() -> None:
    network, automaton, witness = CASES["abab"]
    for state in range(len(automaton.table)):
        for letter in range(automaton.table.shape[1]):
            table = automaton.table.copy()
            table[state, letter] = (table[state, letter] + 1) % len(table)
            reached = Semiautomaton(table=automaton.table.astype(np.int32), start=automaton.start)
            if state in set(np.asarray(reached.table).reshape(-1)) | {automaton.start}:
                other = Automaton(table, automaton.start, automaton.shows)
                assert not check(network, other, "float32", LENGTH, witness).certified
