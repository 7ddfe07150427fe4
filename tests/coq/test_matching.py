"""Certificates of Transformers whose heads match a key: nothing that lacks a hypothesis is accepted."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.coq.stored_transformers import answers_of, bits, changed, is_right_in_torch, stored

import krohn
from krohn.coq.counters import counting
from krohn.coq.counting_hints import CountHint, Counting, MatchHint
from krohn.coq.heads import NoCounters
from krohn.coq.stored import StoredTransformer
from krohn.errors import KrohnError

HEAD, LENGTH = "layers.1.heads.0.", 5
CLASS, LETTER, FIRST, ONE, PLACE = 1, 0, 2, 3, 4
"""Channels of Grid4: a side of the circle, steps and places, flag of position 0, constant, positions."""


def entry(row: int, column: int, columns: int) -> int:
    return row * columns + column


def spoiled(network: StoredTransformer) -> dict[str, StoredTransformer]:
    """Networks without one hypothesis each."""
    return {
        "what queries find": changed(network, HEAD + "W_Q", entry(CLASS, 1, 3), bits(89.0)),
        "queries that know their class": changed(network, HEAD + "W_Q", entry(CLASS, 1, 3), bits(0.0)),
        "keys of all classes": changed(network, HEAD + "W_K", entry(CLASS, 0, 3), bits(-89.0)),
        "scores that rise": changed(network, HEAD + "W_K", entry(PLACE, 2, 3), bits(-30.0)),
        "scores that rise far enough": changed(network, HEAD + "W_K", entry(PLACE, 2, 3), bits(0.5)),
        "scores above all that do not match": changed(network, HEAD + "W_K", entry(PLACE, 2, 3), bits(3e3)),
        "position 0 below what matches": changed(network, HEAD + "W_K", entry(FIRST, 2, 3), bits(200.0)),
        "the value that is copied": changed(network, HEAD + "W_V", entry(LETTER, 0, 1), bits(0.9)),
        "what it adds": changed(network, HEAD + "W_C", entry(0, 1, 6), bits(1.2)),
        "the padding before each word": changed(network, "padding", entry(3, LETTER, 6), bits(0.0)),
        "the last of the padding": changed(network, "padding", entry(5, LETTER, 6), bits(1.0)),
        "a place of the padding": changed(network, "positions", entry(4, PLACE, 6), bits(0.4)),
        "the MLP": changed(network, "layers.1.mlp.0.b", 4, bits(-12.0)),
        "a number that is none": changed(network, HEAD + "W_Q", 0, 0x7FF8000000000000),
    }


def wrong_hints(good: Counting) -> dict[str, Counting]:
    """Hints with one mistake each."""
    *before, layer = good.layers
    head, *others = layer.heads
    assert isinstance(head, MatchHint)
    first, *rest = head.asks
    channel = first.channels[0]

    def other(**changes: object) -> Counting:
        return replace(good, layers=(*before, replace(layer, **changes)))  # type: ignore[arg-type]

    def ask(**changes: object) -> Counting:
        return other(heads=(MatchHint((replace(first, **changes), *rest)), *others))  # type: ignore[arg-type]

    register, *registers = layer.groups
    marks = tuple(None if mark is None else mark + 1 for mark in layer.sets[0])
    following = tuple({r: (k + 1) % layer.classes for r, k in row.items()} for row in layer.following)
    return {
        "which keys a query finds": ask(writers=first.writers[::-1]),
        "a key for each query": ask(writers=(False,) * len(first.writers)),
        "a writer for each key": ask(writers=first.writers[:-1]),
        "which register is read": ask(channels=(replace(channel, counter=(channel.counter + 1) % 4),)),
        "the unit of a mark": ask(channels=(replace(channel, unit=2 * channel.unit),)),
        "the marks": other(sets=(marks, *layer.sets[1:])),
        "no steps": other(steps=((1,) * len(layer.keys), *layer.steps[1:])),
        "classes of keys": other(keys=layer.keys[::-1]),
        "one key in each class": other(keys=(0,) * len(layer.keys)),
        "classes of queries": other(asks=layer.asks[::-1]),
        "one query in each class": other(asks=(0,) * len(layer.asks)),
        "a hint for each class of queries": other(heads=(MatchHint((first, *rest[:-1])), *others)),
        "a hint for each head": other(heads=layer.heads[:-1]),
        "that heads match": other(heads=(CountHint((True,), first.channels), *others)),
        "registers that are told apart": other(groups=(replace(register, modulus=2), *registers)),
        "registers by themselves": other(groups=(replace(register, weights=(1, 1)), *registers)),
        "a register for each group": other(groups=layer.groups[:-1]),
        "registers that do not stop": other(groups=(replace(register, stops=True), *registers)),
        "the class after the layer": other(following=following),
        "the state of a class": replace(good, states=tuple((s + 1) % 4 for s in good.states)),
        "all that words reach": replace(good, known=good.known[:-1]),
        "where words begin": replace(good, known=good.known[1:]),
    }


def test_without_one_hypothesis_no_match_is_accepted(program: Path, tmp_path: Path) -> None:
    network = stored(tmp_path, "Grid4", LENGTH)
    good = counting(network.weights, network.automaton)
    assert (len(network.weights.padding), good.right) == (6, True)
    networks = spoiled(network)
    cases = {"nothing": (network, good)} | {name: (other, good) for name, other in networks.items()}
    cases |= {name: (network, hints) for name, hints in wrong_hints(good).items()}
    answers = dict(zip(cases, answers_of(cases.values(), longer=LENGTH + 1), strict=False))
    assert answers == {name: name == "nothing" for name in cases}
    assert is_right_in_torch(network)
    assert sum(not is_right_in_torch(other) for other in networks.values()) >= 8


def test_a_match_is_accepted_and_some_spoiled_ones_are_not(program: Path, tmp_path: Path) -> None:
    """The shortest of the test above: it runs with every change."""
    network = stored(tmp_path, "Grid4", LENGTH)
    good = counting(network.weights, network.automaton)
    networks, hints = spoiled(network), wrong_hints(good)
    cases = [(network, good)]
    cases += [(networks[name], good) for name in ("scores that rise", "the last of the padding")]
    cases += [(network, hints[name]) for name in ("which register is read", "where words begin")]
    assert answers_of(cases) == [True, False, False, False, False]


@pytest.mark.parametrize(("name", "length", "changes"), [("Grid4", LENGTH, 40), ("Dyck4,2", 8, 12)])
def test_what_is_accepted_after_a_change_is_right(
    program: Path, tmp_path: Path, name: str, length: int, changes: int
) -> None:
    """Hints are read off the changed network itself."""
    network, rng = stored(tmp_path / "net", name, length), np.random.default_rng(44)
    numbers = [(t, place) for t in network.tensors for place in np.flatnonzero(t.words).tolist()]
    cases = [(network, counting(network.weights, network.automaton))]
    for _ in range(changes):
        tensor, place = numbers[rng.integers(len(numbers))]
        word = int(tensor.words[place]) ^ (1 << int(rng.integers(40, 64)))
        other = changed(network, tensor.name, place, word)
        try:
            cases.append((other, counting(other.weights, other.automaton)))
        except (NoCounters, KrohnError):
            continue
    answers = answers_of(cases)
    assert answers[0]
    for (other, _), answer in zip(cases, answers, strict=True):
        assert not answer or is_right_in_torch(other)
    assert 3 <= sum(answers) < len(cases)


def test_grid4_is_certified_by_the_whole_path(coq: Path) -> None:
    verdict = krohn.verify(krohn.compile("Grid4", length=100, dtype="float32"), kernel=True)
    assert verdict.certified, verdict.reason
    assert verdict.length == 100
