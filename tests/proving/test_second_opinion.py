"""All words at once, as a tree, against the plain forward pass."""

from dataclasses import replace

import numpy as np
import pytest

from krohn.network.forward import run as run_in
from krohn.proving import word_search as search
from krohn.proving.compiled import arithmetic
from krohn.proving.verification import verify
from krohn.proving.word_search import all_words, exhaustive
from proving.built_networks import compiled

CASES = [
    ("Parity", "cascade", 7, "float64"),
    ("abab", "cascade", 7, "float32"),
    ("Grid4", "grid", 6, "float64"),
    ("C3", "scan", 5, "float32"),
    ("D6", "paper", 6, "float64"),
    ("FlipFlop", "cascade", 5, "float16"),
    ("Parity", "cascade", 6, "bfloat16"),
    ("Counter5", "cascade", 7, "float64"),
]


@pytest.mark.parametrize("leaves", [4, 1 << 13])
@pytest.mark.parametrize(("spec", "method", "length", "dtype"), CASES)
def test_the_tree_does_what_the_plain_pass_does(
    spec: str, method: str, length: int, dtype: str, leaves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "LEAVES", leaves)
    network, arith = compiled(spec, 7, method).transformer, arithmetic(dtype)
    letters = len(network.embedding)
    wanted = run_in(network, all_words(letters, length), arith).reshape(*(letters,) * length, length)
    for prefix, below in search.prefixes(letters, length):
        run = search.outputs_below(network, prefix, below, arith)
        for depth in range(length):
            first = wanted[..., depth][(..., *(0,) * (length - 1 - depth))]
            if depth < len(prefix):
                assert run.along[depth] == first[prefix[: depth + 1]]
            else:
                assert (run.states[depth - len(prefix)] == first[prefix].reshape(-1)).all()


def test_a_strict_mask_is_run_as_the_plain_pass_does() -> None:
    network = replace(compiled("abab", 7, "cascade").transformer, mask="strict")
    arith = arithmetic("float64")
    run = search.outputs_below(network, (), 6, arith)
    assert (run.states[-1] == run_in(network, all_words(2, 6), arith)[:, -1]).all()


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


def test_all_words_that_fit_are_run() -> None:
    """2^19 ≤ 10^6 < 2^20: a small network is run on all of them."""
    opinion = verify(compiled("Parity", 64, "cascade", "float32"), "float32").second_opinion
    assert opinion is not None
    assert (opinion.length, opinion.words, opinion.wrong) == (19, 2**19, 0)
    assert opinion.limit == "there are more than 1,000,000 words of length 20"
