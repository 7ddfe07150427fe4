"""Validation of numbers, names and words, and round trips."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import krohn
from every import every
from krohn.automata.brackets import dyck
from krohn.automata.files import dump_automaton, load_automaton
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidAutomaton, InvalidInput

NAN = float("nan")
PARITY = np.array([[0, 1], [1, 0]])


def test_numbers_of_numpy_are_numbers() -> None:
    plain = krohn.sample("S3", 5, 7, seed=3)
    same = krohn.sample("S3", np.int64(5), np.uint8(7), seed=np.int16(3))  # type: ignore[arg-type]
    assert (same.letters == plain.letters).all()
    assert (same.states == plain.states).all()


@pytest.mark.parametrize(
    ("words", "shape"),
    [([], (0,)), ([[]], (1, 0)), ([[], ()], (2, 0)), ([""], (1, 0)), (["", ""], (2, 0)), ((), (0,))],
)
def test_words_without_letters_are_words_however_they_are_written(words: Any, shape: tuple[int, ...]) -> None:
    assert krohn.simulate("Parity", words).shape == shape
    assert krohn.decompose("Parity").simulate(words).shape == shape


@every("words", [5, None, 2.5, [None], [[], [1]], [[0.5]], [["1", 0.5]], [[[1]]]])
def test_an_invalid_list_of_words_is_refused(words: Any) -> None:
    with pytest.raises(InvalidInput):
        krohn.simulate("Parity", words)


def test_the_largest_observation_is_kept_by_files_and_samples(tmp_path: Path) -> None:
    largest = 2**31 - 1
    automaton = Semiautomaton(PARITY, observe=(0, largest))
    dump_automaton(automaton, tmp_path / "a.json")
    assert load_automaton(tmp_path / "a.json") == automaton
    data = krohn.sample(automaton, 6, 20)
    assert data.observations is not None
    assert (data.observations == np.where(data.states == 1, largest, 0)).all()


@pytest.mark.parametrize("field", ["state_names", "letter_names"])
@pytest.mark.parametrize("name", ["two words", "tab\there", "line\nbreak", "\x1b[2J", "no-break\u00a0space"])
def test_a_name_that_could_not_be_read_back_is_not_written(field: str, name: str, tmp_path: Path) -> None:
    automaton = Semiautomaton(PARITY, **{field: ("fine", name)})  # type: ignore[arg-type]
    with pytest.raises(InvalidAutomaton, match="printable string without spaces"):
        dump_automaton(automaton, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_stacks_are_named_by_their_brackets_while_names_are_short() -> None:
    assert dyck(3, 1).state_names == ("empty", "(", "((", "(((", "sink")
    deep = dyck(20_000, 1)
    assert deep.state_names[:3] == ("0", "1", "2")  # 200 million brackets otherwise
    assert deep.run([0, 0, 1, 1, 1]) == [1, 2, 1, 0, 20_001]
    assert sum(map(len, dyck(4_000, 1).state_names)) == 4_000 * 4_001 // 2 + len("empty" + "sink")


def test_one_long_word_takes_no_longer_than_a_few_loops_over_it() -> None:
    automaton = krohn.zoo("S4")
    word = np.random.default_rng(0).integers(8, size=100_000)
    begin = time.process_time()
    states = automaton.run(word.tolist())
    middle = time.process_time()
    assert krohn.simulate(automaton, word).tolist() == states
    assert time.process_time() - middle < 4 * (middle - begin)
