"""Batch simulation and word tables against one step at a time."""

import numpy as np
import pytest

from krohn.automata.words import letter_type
from krohn.automata.zoo import zoo
from krohn.functions import simulate


@pytest.mark.parametrize("name", ["Parity", "S5", "Dyck4,8", "abab", "Grid3x4", "PermReset5", "C2xC2xC2"])
def test_a_batch_runs_like_its_words(name: str) -> None:
    automaton = zoo(name)
    words = np.random.default_rng(1).integers(automaton.num_letters, size=(50, 37))
    states = simulate(automaton, words)
    assert states.tolist() == [automaton.run(word) for word in words.tolist()]


def test_a_batch_longer_than_one_group_is_whole() -> None:
    words = np.random.default_rng(2).integers(2, size=(20_000, 5))
    assert np.array_equal(simulate(zoo("Parity"), words), words.cumsum(axis=1) % 2)


def test_runs_can_start_anywhere() -> None:
    assert simulate(zoo("C5"), [[1, 1]], start=4).tolist() == [[0, 1]]


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_empty_batches_have_empty_answers(shape: tuple[int, int]) -> None:
    assert simulate(zoo("C5"), np.zeros(shape, dtype=int)).shape == shape


def test_numbers_are_stored_in_the_smallest_type() -> None:
    assert [letter_type(n) for n in (256, 257, 65536, 65537)] == [np.uint8, np.uint16, np.uint16, np.uint32]
