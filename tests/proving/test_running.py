"""Half-precision runs against a direct emulation of single operations, and the search for wrong words."""

import itertools

import numpy as np
import pytest

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.forward import run as run_in
from krohn.proving import word_search
from krohn.proving.attempts import arithmetic
from krohn.proving.word_search import all_words, exhaustive, search
from proving.built_networks import compiled


def test_short_words_run_right_in_half_precision() -> None:
    network = compiled("FlipFlop", 16, "cascade")
    words = all_words(3, 5)
    for name in ("float64", "float32", "float16", "bfloat16"):
        states = run_in(network.transformer, words, arithmetic(name))
        assert (states == [network.automaton.run(word) for word in words]).all(), name


def test_a_scan_certified_in_float16_runs_right_there() -> None:
    network = compiled("Grid4", 8, "scan")
    words = all_words(2, 8)
    states = run_in(network.transformer, words, arithmetic("float16"))
    assert (states == [network.automaton.run(word) for word in words]).all()


def test_the_exhaustive_run_finds_what_is_wrong() -> None:
    network = compiled("Parity", 16)
    swapped = Semiautomaton.from_letters([(1, 0), (0, 1)])
    opinion, counts = exhaustive(network.transformer, swapped, arithmetic("float64"), 16)
    assert opinion.wrong == opinion.words
    assert counts is not None
    assert len(counts.word) == 1


def test_the_search_finds_an_error_that_only_a_long_word_shows() -> None:
    """A counter to 41 looks like the network of the saturated one until the 41st letter."""
    network = compiled("Counter5", 64, "cascade")
    table = np.array([[(state + 1) % 5] for state in range(5)], dtype=np.int32)
    assert search(network.transformer, Semiautomaton(table=table), arithmetic("float64"), 64, None) is None
    table[4] = 4
    result = search(network.transformer, Semiautomaton(table=table), arithmetic("float64"), 64, None)
    assert result is not None
    assert (len(result.word), result.expected, result.got) == (5, 4, 0)


def test_words_over_one_letter_may_be_longer_than_arrays_have_dimensions() -> None:
    assert (all_words(1, 100) == np.zeros((1, 100))).all()
    assert all_words(2, 3).tolist() == [list(word) for word in itertools.product(range(2), repeat=3)]
    assert all_words(3, 0).shape == (1, 0)
    network = krohn.compile(krohn.zoo("Counter5"), 100)
    assert krohn.verify(network, second_opinion=False).certified


def test_the_search_for_a_wrong_word_stays_within_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a refusal: of 4,000 letters hundreds of words were run before, with 16 million scores each."""
    network = krohn.compile("C2", 4_000, unproved=True)
    runs: list[tuple[int, ...]] = []

    def counted(_: object, __: object, words: np.ndarray) -> tuple[None, int]:
        runs.append(words.shape)
        return None, 0

    monkeypatch.setattr(word_search, "first_wrong", counted)
    assert search(network.transformer, network.automaton, "float32", 4_000, (1, 0, 1)) is None
    kinds = {shape[1] for shape in runs}
    scores = sum(count * length**2 for count, length in runs)
    assert len(runs) > 5
    assert kinds <= {3, 1_000, 2_000, 4_000}
    assert scores * word_search.PER_SCORE <= 2 * word_search.SEARCH_WORK
