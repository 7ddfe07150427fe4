"""Batch simulation and word tables against one step at a time."""

import itertools

import numpy as np
import pytest

from krohn.automata.simulation import simulate
from krohn.automata.words import all_words, letter_type, random_words
from krohn.automata.zoo import zoo
from krohn.errors import InvalidInput, KrohnError


@pytest.mark.parametrize("name", ["Parity", "S5", "Dyck4,8", "abab", "Grid3x4", "PermReset5", "C2xC2xC2"])
def test_a_batch_runs_like_its_words(name: str) -> None:
    automaton = zoo(name)
    words = random_words(automaton.num_letters, 37, 50, seed=1)
    states = simulate(automaton, words)
    assert states.tolist() == [automaton.run(word) for word in words.tolist()]


def test_a_batch_longer_than_one_group_is_whole() -> None:
    words = random_words(2, 5, 20_000, seed=2)
    assert np.array_equal(simulate(zoo("Parity"), words), words.cumsum(axis=1) % 2)


def test_runs_can_start_anywhere() -> None:
    assert simulate(zoo("C5"), [[1, 1]], start=4).tolist() == [[0, 1]]
    with pytest.raises(InvalidInput, match="start state"):
        simulate(zoo("C5"), [[1]], start=5)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_empty_batches_have_empty_answers(shape: tuple[int, int]) -> None:
    assert simulate(zoo("C5"), np.zeros(shape, dtype=int)).shape == shape


def test_foreign_letters_are_named() -> None:
    with pytest.raises(InvalidInput, match="word 1, position 2 is 5"):
        simulate(zoo("C5"), [[0, 0, 0], [0, 0, 5]])
    with pytest.raises(InvalidInput, match="word 0, position 0 is -1"):
        simulate(zoo("C5"), [[-1]])
    with pytest.raises(InvalidInput, match="integer array"):
        simulate(zoo("C5"), [[0.5]])
    with pytest.raises(InvalidInput, match="integer array"):
        simulate(zoo("C5"), [0, 1])


@pytest.mark.parametrize(("letters", "length"), [(1, 4), (2, 0), (2, 1), (3, 4), (300, 1)])
def test_all_words_are_the_product_of_the_letters(letters: int, length: int) -> None:
    expected = list(itertools.product(range(letters), repeat=length))
    assert [tuple(word) for word in all_words(letters, length).tolist()] == expected


def test_random_words_are_uniform_and_repeatable() -> None:
    words = random_words(3, 100, 300, seed=5)
    assert np.array_equal(words, random_words(3, 100, 300, seed=5))
    assert not np.array_equal(words, random_words(3, 100, 300, seed=6))
    counts = np.bincount(words.ravel(), minlength=3)
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(10_000 * 2 / 3)


def test_tables_of_words_beyond_the_limit_are_refused() -> None:
    with pytest.raises(KrohnError, match="at most"):
        all_words(2, 60)
    with pytest.raises(KrohnError, match="at least one letter"):
        all_words(0, 3)
    with pytest.raises(KrohnError, match="0 to"):
        random_words(2, 10**6, 10**6, seed=0)


def test_numbers_are_stored_in_the_smallest_type() -> None:
    assert [letter_type(n) for n in (256, 257, 65536, 65537)] == [np.uint8, np.uint16, np.uint16, np.uint32]
