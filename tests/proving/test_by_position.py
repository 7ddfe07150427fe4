"""Accuracy by position against counting by hand; which length it calls worth a look."""

from pathlib import Path

import numpy as np
import pytest
from tests.proving.short_reach import LETTERS, short_reach

import krohn
from krohn.automata.zoo import parse_spec
from krohn.proving.by_position import ByPosition, measure


def forgetting(words: np.ndarray) -> np.ndarray:
    """Parity of the first eight letters, right up to there."""
    return words[:, :8].cumsum(1)[:, np.minimum(np.arange(words.shape[1]), 7)] % 2


def test_letters_are_counted_one_by_one() -> None:
    c2 = parse_spec("C2")
    drawn = []

    def draw(length: int) -> np.ndarray:
        drawn.append(np.random.default_rng(3).integers(2, size=(100, length)))
        return drawn[0]

    curve = measure(forgetting, c2, 20, draw)
    (words,) = drawn
    for place in range(20):
        right = sum(int(forgetting(word[None])[0, place] == sum(word[: place + 1]) % 2) for word in words)
        assert curve.right[place] == right
    assert (curve.words, curve.length, curve.reach(0.99)) == (100, 20, 8)
    assert curve.best() == (8, 0.99)
    assert curve.text().startswith("letters 1–8: 100.00%, 9–16: ")
    assert measure(forgetting, c2, None).length == 128


@pytest.mark.parametrize(
    ("right", "reach", "best"),
    [
        ((100,) * 5, 5, (5, 0.99)),
        ((100, 98, 100, 100, 50), 4, (4, 0.99)),  # one bad place among good ones ends nothing
        ((100, 100, 95, 95, 20), 2, (2, 0.99)),
        ((95, 95, 95, 20), 0, (3, 0.9)),
        ((99, 50, 50), 1, (3, None)),  # one letter is not worth a look
        ((50, 50, 50), 0, (3, None)),
    ],
)
def test_the_length_worth_a_look(right: tuple[int, ...], reach: int, best: tuple[int, float | None]) -> None:
    curve = ByPosition(right, 100)
    assert (curve.reach(0.99), curve.best(2)) == (reach, best)


def test_a_share_that_is_not_all_is_never_called_100() -> None:
    assert ByPosition((10**6 - 1,), 10**6).text() == "letters 1: 99.99%"


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return short_reach(tmp_path_factory.mktemp("short"))


def test_a_network_of_others_is_understood_where_it_is_right(theirs: tuple[Path, Path]) -> None:
    """It reads 32 letters and knows 8: the default says what --length 8 says."""
    folder, tokens = theirs
    report = krohn.understand(folder, automaton="Parity", tokens=tokens, effort=0.3)
    assert (report.length, report.accuracy.value) == (LETTERS, 1.0)
    found = report.to_json()
    assert (
        "in words of 8 letters, the longest with 99% right (letters 1–8: 100.00%, 9–16: " in found["verdict"]
    )
    assert "computes with " in found["verdict"]
    assert found["by_position"]["reach"] == LETTERS
    assert len(found["by_position"]["right"]) == 32
    given = krohn.understand(folder, automaton="Parity", tokens=tokens, effort=0.3, length=8)
    assert given.to_json()["variables"] == found["variables"]
    whole = krohn.understand(folder, automaton="Parity", tokens=tokens, effort=0.3, length=32)
    assert whole.accuracy.value < 0.8


def test_verify_says_where_a_wrong_network_is_right(theirs: tuple[Path, Path]) -> None:
    """What was asked stays asked: a shorter claim is not made in its place."""
    folder, tokens = theirs
    found = krohn.verify(folder, automaton="Parity", tokens=tokens)
    assert not found.certified
    assert found.length is not None
    assert found.length > LETTERS
    assert found.to_json()["by_position"]["reach"] == LETTERS
    assert "right by position, in 256 random words: letters 1–8: 100.00%, 9–16: " in found.text()
