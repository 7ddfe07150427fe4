"""All words up to a length, run."""

from dataclasses import replace

import numpy as np
import pytest

from krohn.network.forward import run as run_in
from krohn.proving.attempts import arithmetic
from krohn.proving.verification import verify
from krohn.proving.word_search import all_words, exhaustive
from proving.built_networks import compiled


def test_wrong_words_are_counted_and_the_shortest_is_named() -> None:
    network = compiled("Parity", 10, "cascade")
    table = network.automaton.table.copy()
    table[1, 1] = 1  # the second 1 no longer leads back
    changed = replace(network.automaton, table=table)
    opinion, counts = exhaustive(network.transformer, changed, arithmetic("float64"), 10)
    words = all_words(2, 10)
    right = np.array([changed.run(word) for word in words])
    wrong = (run_in(network.transformer, words, arithmetic("float64")) != right).any(axis=1)
    assert (opinion.length, opinion.words, opinion.wrong) == (10, 1024, int(wrong.sum()))
    assert counts is not None
    assert counts.word == (1, 1)
    assert (counts.expected, counts.got) == (1, 0)


def test_it_says_what_stops_it() -> None:
    network = compiled("Parity", 24, "cascade")
    arith = arithmetic("float64")
    opinion, _ = exhaustive(network.transformer, network.automaton, arith, 24, max_work=1e6)
    assert 0 < opinion.length < 19
    assert opinion.limit.startswith("longer words would take too long")
    short, _ = exhaustive(network.transformer, network.automaton, arith, 5)
    assert (short.length, short.limit) == (5, "")


def test_all_words_that_fit_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^9 ≤ 1,000 < 2^10; several batches."""
    monkeypatch.setattr("krohn.proving.word_search.MAX_WORDS", 1_000)
    monkeypatch.setattr("krohn.proving.word_search.WORDS_AT_ONCE", 100)
    opinion = verify(compiled("Parity", 64, "cascade", "float32"), "float32").second_opinion
    assert opinion is not None
    assert (opinion.length, opinion.words, opinion.wrong) == (9, 2**9, 0)
    assert opinion.limit == "there are more than 1,000 words of length 10"
