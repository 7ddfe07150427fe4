"""All words of a length in intervals: Theorem 3 with the heads of the paper."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from krohn.automata.zoo import parse_spec
from krohn.check.files.reader import Automaton, Network
from krohn.check.transformer.checker import check
from krohn.paper.theorem3 import build_grid
from krohn.proving.attempts import attempt
from krohn.proving.witness.search import checkable

WORDS = {"kind": "words"}
LENGTH = 3


def networks(variant: str) -> tuple[Any, Network, Automaton]:
    built = build_grid(parse_spec("Grid3"), LENGTH, variant)
    return built, *checkable(built.transformer, built.automaton)


@pytest.mark.parametrize("variant", ["log_depth", "constant_depth", "max_pool"])
def test_the_papers_variants_of_theorem_3_are_proved_on_short_words(variant: str) -> None:
    built, network, automaton = networks(variant)
    record, failure, margin = attempt(built.transformer, built.automaton, LENGTH, "float64")
    assert failure is None
    assert record.witness == WORDS
    verdict = check(network, automaton, "float64", LENGTH, WORDS)
    assert verdict.certified
    assert 0.49 < verdict.margin == margin < 0.5  # logits of neighbours are half a unit apart
    words = np.array(list(product(range(2), repeat=LENGTH)))
    paths = []
    for word in words:
        state, path = built.automaton.start, []
        for letter in word:
            state = int(built.automaton.table[state, letter])
            path.append(state)
        paths.append(path)
    assert (built.forward(words) == np.array(paths)).all()


def test_networks_that_lack_what_the_rule_asks_are_refused() -> None:
    _, network, automaton = networks("log_depth")
    assert not check(network, automaton, "float32", LENGTH, WORDS).certified, "its weights are too large"
    shifted = replace(network, readout_bias=network.readout_bias + np.array([0.6, 0.0, 0.0]))
    assert not check(shifted, automaton, "float64", LENGTH, WORDS).certified
    table = automaton.table.copy()
    table[2, 1] = 1  # differs on the one word that stays at the right wall
    wrong = check(network, replace(automaton, table=table), "float64", LENGTH, WORDS)
    assert "the right logit leads by" in wrong.reason
    last = network.layers[-1]
    one = replace(last.heads[0], value=last.heads[0].value * 1.5)
    broken = replace(network, layers=(*network.layers[:-1], replace(last, heads=(one, *last.heads[1:]))))
    assert not check(broken, automaton, "float64", LENGTH, WORDS).certified


def test_a_machine_of_a_cascade_may_be_judged_so_too_and_too_many_words_are_not_run() -> None:
    built = build_grid(parse_spec("Grid3"), 30, "mod")
    network, automaton = checkable(built.transformer, built.automaton)
    assert check(network, automaton, "float64", 4, WORDS).certified
    refused = check(network, automaton, "float64", 30, WORDS)
    assert not refused.certified
    assert "words, one after another" in refused.reason
