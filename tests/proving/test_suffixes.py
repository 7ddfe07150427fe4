"""First layers that look back far: machines that leave open what their MLP does not ask for."""

import copy
from typing import Any

import numpy as np
import pytest

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.files.reader import UNKNOWN
from krohn.check.transformer.checker import check
from krohn.network.compiled import CompiledNetwork
from krohn.proving.attempts import attempt
from krohn.proving.witness.search import checkable

FACTOR, LETTERS, LENGTH = (0, 1, 2, 3, 4, 0), 7, 16


def without_factor() -> Semiautomaton:
    """States: how much of the factor the word ends with; the last one once it has come."""
    rows = []
    for met in range(len(FACTOR)):
        row = []
        for letter in range(LETTERS):
            word = (*FACTOR[:met], letter)
            row.append(max(k for k in range(len(word) + 1) if word[len(word) - k :] == FACTOR[:k]))
        rows.append(row)
    table = np.array([*rows, [len(FACTOR)] * LETTERS])
    states = tuple(f"q{state}" for state in range(len(table)))
    return Semiautomaton(table, 0, states, tuple("abcdefg"))


@pytest.fixture(scope="module")
def network() -> CompiledNetwork:
    return krohn.compile(without_factor(), LENGTH, method="features")


@pytest.fixture(scope="module")
def witness(network: CompiledNetwork) -> dict[str, Any]:
    record, failure, _ = attempt(network.transformer, network.automaton, LENGTH, "float32")
    assert failure is None
    assert record.witness is not None
    return record.witness


def looks(witness: dict[str, Any]) -> dict[str, Any]:
    """The step of the heads that look back."""
    return next(step for step in witness["steps"] if step["kind"] == "attention")


def test_states_know_the_suffixes_that_matter(network: CompiledNetwork, witness: dict[str, Any]) -> None:
    heads = [head for head in looks(witness)["heads"] if head["kind"] == "back"]
    assert max(head["distance"] for head in heads) == len(FACTOR) - 1
    assert any(UNKNOWN in line for head in heads for line in head["held"])
    assert len(looks(witness)["follow"]) < 100  # of 7⁵ words
    assert check(*checkable(network.transformer, network.automaton), "float32", LENGTH, witness).certified


def test_the_network_is_right_on_words(network: CompiledNetwork) -> None:
    """Words of the factor's letters, run one by one: their states by reading them letter by letter."""
    dice, automaton = np.random.default_rng(1), network.automaton
    for _ in range(60):
        word = [int(x) for x in dice.choice(5, LENGTH)]
        at = int(dice.integers(LENGTH - len(FACTOR)))
        if dice.random() < 0.7:
            word[at : at + len(FACTOR)] = FACTOR
        state, states = automaton.start, []
        for letter in word:
            state = automaton.step(state, letter)
            states.append(state)
        assert list(network.states(word)) == states


def test_what_the_mlp_asks_for_may_not_be_open(network: CompiledNetwork, witness: dict[str, Any]) -> None:
    checked = checkable(network.transformer, network.automaton)
    refused = 0
    for number, head in enumerate(looks(witness)["heads"]):
        if head["kind"] != "back":
            continue
        opened = copy.deepcopy(witness)
        held = looks(opened)["heads"][number]["held"]
        looks(opened)["heads"][number]["held"] = [[UNKNOWN] * len(line) for line in held]
        verdict = check(*checked, "float32", LENGTH, opened)
        assert not verdict.certified
        refused += 1
    assert refused == len(FACTOR) - 1


def test_an_open_value_stays_open(network: CompiledNetwork, witness: dict[str, Any]) -> None:
    """A value that was open may not be claimed again."""
    closed = copy.deepcopy(witness)
    for head in looks(closed)["heads"]:
        if head["kind"] == "back":
            head["held"] = [[0 if value == UNKNOWN else value for value in line] for line in head["held"]]
    verdict = check(*checkable(network.transformer, network.automaton), "float32", LENGTH, closed)
    assert not verdict.certified
    assert "delay line" in verdict.reason
