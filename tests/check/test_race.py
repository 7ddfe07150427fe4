"""Two heads whose positions are compared: a certified network, and lies about who is ahead or who stays."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from krohn import compile, verify
from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.proof import checkable
from krohn.check.checker import check
from krohn.check.reader import Automaton
from krohn.network.compiled import CompiledNetwork

LENGTH = 9
BA = np.array([[0, 1], [2, 1], [2, 2]])
"""Whether an a came after some b: the latest a against the earliest b."""


@cache
def proved() -> tuple[CompiledNetwork, dict[str, Any]]:
    network = compile(Semiautomaton(BA, 0), LENGTH, method="features")
    certificate = verify(network, second_opinion=False)
    assert certificate.certified
    assert certificate.witness is not None
    return network, certificate.witness


def verdict(witness: dict[str, Any], table: np.ndarray) -> bool:
    network, _ = proved()
    held, _ = checkable(network.transformer, network.automaton)
    return check(held, Automaton(table, 0, np.arange(3)), "float64", LENGTH, witness).certified


def races(witness: dict[str, Any]) -> dict[str, Any]:
    return next(step for step in witness["steps"] if step["kind"] == "attention")


def ahead(change: Callable[[int], int]) -> Callable[[dict[str, Any]], None]:
    def lie(witness: dict[str, Any]) -> None:
        race = races(witness)["races"][0]
        race["ahead"] = [change(value) for value in race["ahead"]]

    return lie


def no_race(witness: dict[str, Any]) -> None:
    del races(witness)["races"]


def against_itself(witness: dict[str, Any]) -> None:
    races(witness)["races"][0]["second"] = races(witness)["races"][0]["first"]


def another_head(witness: dict[str, Any]) -> None:
    step = races(witness)
    named = {step["races"][0]["first"], step["races"][0]["second"]}
    step["races"][0]["second"] = next(n for n in range(len(step["heads"])) if n not in named)


def twice(witness: dict[str, Any]) -> None:
    races(witness)["races"] *= 2


def other_end(witness: dict[str, Any]) -> None:
    for head in races(witness)["heads"]:
        if head["kind"] == "cells":
            head["earliest"] = not head["earliest"]


LIES = {
    "nobody is ahead": ahead(lambda value: 0),
    "the first is ahead": ahead(lambda value: min(value, 1)),
    "the other is ahead": ahead(lambda value: {1: 2, 2: 1}.get(value, value)),
    "both at one place": ahead(lambda value: 3 if value else 0),
    "a race at the start": ahead(lambda value: value or 1),
    "no race": no_race,
    "against itself": against_itself,
    "a head that adds up": another_head,
    "twice": twice,
    "earliest for latest": other_end,
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_about_a_race_is_refused(name: str) -> None:
    _, witness = proved()
    assert verdict(witness, BA)
    changed = copy.deepcopy(witness)
    LIES[name](changed)
    assert changed != witness
    assert not verdict(changed, BA)


def test_no_automaton_with_another_transition_is_certified_by_a_race() -> None:
    _, witness = proved()
    for row in range(3):
        for letter in range(2):
            other = BA.copy()
            other[row, letter] = (BA[row, letter] + 1) % 3
            assert not verdict(witness, other)


def test_a_network_that_compares_the_wrong_way_round_is_refused() -> None:
    network, _ = proved()
    layer = network.transformer.layers[0]
    for number, head in enumerate(layer.heads):
        for name in ("key", "output"):
            turned = copy.copy(head)
            object.__setattr__(turned, name, -getattr(head, name))
            heads = tuple(turned if n == number else h for n, h in enumerate(layer.heads))
            changed = copy.copy(layer)
            object.__setattr__(changed, "heads", heads)
            transformer = copy.copy(network.transformer)
            object.__setattr__(transformer, "layers", (changed,))
            held, _ = checkable(transformer, network.automaton)
            right = Automaton(BA, 0, np.arange(3))
            assert not check(held, right, "float64", LENGTH, proved()[1]).certified
            made = replace(network, transformer=transformer)
            assert not verify(made, second_opinion=False).certified
