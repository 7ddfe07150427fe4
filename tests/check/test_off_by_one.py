"""Every integer of a witness, plus and minus one: nothing false is certified."""

import copy
import json
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from check.judge import hard_words, outputs, runs
from krohn.check.files.reader import Automaton, Network
from krohn.check.transformer.checker import check
from krohn.errors import InvalidFile
from krohn.network.transformer import Transformer
from krohn.proving.attempts import arithmetic, attempt
from krohn.proving.witness.search import checkable
from proving.built_networks import compiled

LENGTH = 5
MOST = 24
SUBJECTS = [
    ("Parity", "cascade"),
    ("C3", "cascade"),
    ("abab", "features"),
    ("FlipFlop", "scan"),
]


@cache
def subject(spec: str, method: str) -> tuple[Network, Automaton, str, tuple[Automaton, ...]]:
    """A network, its automaton, the witness as text, and automata that the network does not simulate."""
    net = compiled(spec, LENGTH, method)
    record, failure, _ = attempt(net.transformer, net.automaton, LENGTH, arithmetic("float32"))
    assert failure is None
    network, automaton = checkable(net.transformer, net.automaton)
    words = list(hard_words(net.automaton.num_letters, LENGTH, most=300))
    shown = [outputs(net.transformer, batch, "float32") for batch in words]
    wrong = []
    for state, letter in np.ndindex(automaton.table.shape):
        table = automaton.table.copy()
        table[state, letter] = (table[state, letter] + 1) % len(table)
        right = (runs(table, automaton.start, batch) == got for batch, got in zip(words, shown, strict=True))
        if not all(same.all() for same in right):
            wrong.append(Automaton(table, automaton.start, automaton.shows))
    return network, automaton, json.dumps(record.witness), tuple(wrong)


def whole_numbers(payload: Any, trail: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all whole numbers."""
    inside = payload.items() if isinstance(payload, dict) else enumerate(payload)
    for key, item in inside:
        if isinstance(item, (dict, list)):
            yield from whole_numbers(item, (*trail, key))
        elif type(item) is int:
            yield (*trail, key)


def moved(witness: Any, changes: dict[tuple[Any, ...], int]) -> Any:
    result = copy.deepcopy(witness)
    for trail, by in changes.items():
        target = result
        for key in trail[:-1]:
            target = target[key]
        target[trail[-1]] += by
    return result


def spread(places: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """All positions, or as many as time allows, spread over the witness."""
    return places[:: max(1, len(places) // MOST)]


@pytest.mark.parametrize("part", ["few", "rest"])
@pytest.mark.parametrize(("spec", "method"), SUBJECTS)
def test_one_number_that_is_off_by_one_proves_nothing_wrong(spec: str, method: str, part: str) -> None:
    network, automaton, text, wrong = subject(spec, method)
    witness, refused = json.loads(text), 0
    assert check(network, automaton, "float32", LENGTH, witness).certified
    places = list(enumerate(spread(list(whole_numbers(witness)))))
    for number, place in [(n, place) for n, place in places if (n % 4 in (0, 3)) == (part == "few")]:
        broken = moved(witness, {place: (-1, 1)[number % 2]})
        verdict = check(network, automaton, "float32", LENGTH, broken)
        refused += not verdict.certified
        assert verdict.certified or verdict.reason, place
        assert not check(network, wrong[number % len(wrong)], "float32", LENGTH, broken).certified, place
    assert refused


@pytest.mark.parametrize("part", ["few", "rest"])
@pytest.mark.parametrize(("spec", "method"), SUBJECTS)
def test_no_pair_of_numbers_off_by_one_proves_an_automaton_with_another_transition(
    spec: str, method: str, part: str
) -> None:
    network, _, text, wrong = subject(spec, method)
    witness = json.loads(text)
    places, dice = list(whole_numbers(witness)), np.random.default_rng(0)
    assert wrong
    for number in range(20):
        pair = [places[at] for at in dice.choice(len(places), size=2, replace=False)]
        broken = moved(witness, {place: int(dice.choice([-1, 1])) for place in pair})
        if (number % 2 == 0) != (part == "few"):
            continue
        other = wrong[number % len(wrong)]
        assert not check(network, other, "float32", LENGTH, broken).certified, pair


MATRICES = ("query", "key", "value", "output")


def broken_networks(spec: str, method: str, number: float) -> Iterator[Transformer]:
    """The network with the first entry of one matrix of one head replaced."""
    result = compiled(spec, LENGTH, method).transformer
    for layer, name in product(range(result.depth), MATRICES):
        broken = copy.deepcopy(result)
        matrix = getattr(broken.layers[layer].heads[0], name)
        for filled in np.argwhere(matrix)[:1]:
            matrix[tuple(filled)] = number
            yield broken


@pytest.mark.parametrize(("spec", "method"), SUBJECTS)
def test_a_weight_that_vanishes_is_certified_only_where_the_network_is_still_right(
    spec: str, method: str
) -> None:
    _, automaton, text, _ = subject(spec, method)
    meant = compiled(spec, LENGTH, method).automaton
    words, refused = list(hard_words(meant.num_letters, LENGTH, most=300)), 0
    for broken in broken_networks(spec, method, 0.0):
        network = checkable(broken, meant)[0]
        if check(network, automaton, "float32", LENGTH, json.loads(text)).certified:
            for batch in words:
                expected = runs(automaton.table, automaton.start, batch)
                assert (outputs(broken, batch, "float32") == expected).all()
        else:
            refused += 1
    assert refused


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_nan_weight_is_refused_before_anything_is_proved(number: float) -> None:
    meant = compiled("Parity", LENGTH, "cascade").automaton
    for broken in broken_networks("Parity", "cascade", number):
        with pytest.raises(InvalidFile, match="must be finite"):
            checkable(broken, meant)
