"""Heads that look back far, on letters or on a tier: machines leave open what their MLP does not ask for."""

import copy
from typing import Any

import numpy as np
import pytest

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.files.witness import UNKNOWN
from krohn.check.ground import Integers
from krohn.check.transformer.checker import check
from krohn.network.compiled import CompiledNetwork
from krohn.proving.attempts import attempt
from krohn.proving.witness.search import checkable
from krohn.proving.witness.suffixes import Suffixes

FACTOR, LETTERS, LENGTH = (0, 1, 2, 3, 4, 0), 7, 16


def without_factor(*, tier: bool) -> Semiautomaton:
    """States: how much of the factor the word ends with; the last one once it has come.

    On a tier the last letter is skipped.
    """
    rows = []
    for met in range(len(FACTOR)):
        row = []
        for letter in range(LETTERS):
            word = (*FACTOR[:met], letter)
            longest = max(k for k in range(len(word) + 1) if word[len(word) - k :] == FACTOR[:k])
            row.append(met if tier and letter == LETTERS - 1 else longest)
        rows.append(row)
    table = np.array([*rows, [len(FACTOR)] * LETTERS])
    states = tuple(f"q{state}" for state in range(len(table)))
    return Semiautomaton(table, 0, states, tuple("abcdefg"))


@pytest.fixture(scope="module", params=["letters", "tier"])
def network(request: pytest.FixtureRequest) -> CompiledNetwork:
    return krohn.compile(without_factor(tier=request.param == "tier"), LENGTH, method="features")


@pytest.fixture(scope="module")
def witness(network: CompiledNetwork) -> dict[str, Any]:
    record, failure, _ = attempt(network.transformer, network.automaton, LENGTH, "float32")
    assert failure is None
    assert record.witness is not None
    return record.witness


def looks(witness: dict[str, Any]) -> dict[str, Any]:
    """The step of the heads that look back: most hold values there."""
    steps = [step for step in witness["steps"] if step["kind"] == "attention"]
    return max(steps, key=lambda step: len(lines(step)))


def lines(step: dict[str, Any]) -> list[dict[str, Any]]:
    """Its heads that hold values."""
    return [head for head in step["heads"] if head["kind"] in ("back", "cells")]


def test_states_know_the_suffixes_that_matter(network: CompiledNetwork, witness: dict[str, Any]) -> None:
    assert len(lines(looks(witness))) == len(FACTOR) - 1
    assert any(UNKNOWN in line for head in lines(looks(witness)) for line in head["held"])
    assert len(looks(witness)["follow"]) < 600  # of 7⁵ words; on a tier beside a count modulo 6
    assert check(*checkable(network.transformer, network.automaton), "float32", LENGTH, witness).certified


def test_the_network_is_right_on_words(network: CompiledNetwork) -> None:
    """Words of the factor's letters, run one by one: their states by reading them letter by letter."""
    dice, automaton = np.random.default_rng(1), network.automaton
    for _ in range(60):
        word = [int(x) for x in dice.choice(LETTERS, LENGTH)]
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
    for number in range(len(lines(looks(witness)))):
        opened = copy.deepcopy(witness)
        head = lines(looks(opened))[number]
        head["held"] = [[UNKNOWN] * len(line) for line in head["held"]]
        verdict = check(*checked, "float32", LENGTH, opened)
        assert not verdict.certified
        refused += 1
    assert refused == len(FACTOR) - 1


def test_an_open_value_stays_open(network: CompiledNetwork, witness: dict[str, Any]) -> None:
    """A value that was open may not be claimed again."""
    closed = copy.deepcopy(witness)
    for head in lines(looks(closed)):
        head["held"] = [[0 if value == UNKNOWN else value for value in line] for line in head["held"]]
    verdict = check(*checkable(network.transformer, network.automaton), "float32", LENGTH, closed)
    assert not verdict.certified
    assert "delay line" in verdict.reason or "do not hold what was read" in verdict.reason


def test_a_letter_alone_is_read_as_it_is_among_all(
    network: CompiledNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, alone = Suffixes.read, []

    def compared(self: Suffixes, rows: Integers, letters: Integers) -> tuple[Integers, Integers]:
        found, every = read(self, rows, letters), read(self, rows, self.every)
        which = np.broadcast_to(letters, (len(rows), letters.shape[1]))[..., None]
        for part, whole in zip(found, every, strict=True):
            alone.append(bool((part == np.take_along_axis(whole, which, axis=1)).all()))
        return found

    monkeypatch.setattr(Suffixes, "read", compared)
    assert attempt(network.transformer, network.automaton, LENGTH, "float32")[1] is None
    assert len(alone) > 2
    assert all(alone)
