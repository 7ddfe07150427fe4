"""Validation of numbers, names and words, and round trips."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import krohn
from every import every
from krohn.automata.datasets import write_dataset
from krohn.automata.families import dyck
from krohn.automata.files import dump_automaton, load_automaton
from krohn.automata.sampling import Sampler
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidAutomaton, InvalidInput

NAN = float("nan")
PARITY = np.array([[0, 1], [1, 0]])


@every(
    ("options", "complaint"),
    [
        ({"length": 2.5}, "length must lie in 1–1,000,000; got 2.5"),
        ({"length": "2"}, "length must lie in 1–1,000,000; got 2"),
        ({"length": NAN}, "length must lie in 1–1,000,000; got nan"),
        ({"count": 3.0}, "count must be an integer ≥ 0; got 3.0"),
        ({"count": NAN}, "count must be an integer ≥ 0; got nan"),
        ({"count": -1}, "count must be an integer ≥ 0; got -1"),
        ({"seed": 1.5}, "seed must be an integer ≥ 0; got 1.5"),
        ({"seed": None}, "seed must be an integer ≥ 0; got None"),
    ],
)
def test_a_sample_is_counted_in_whole_numbers(options: dict[str, Any], complaint: str) -> None:
    given: dict[str, Any] = {"length": 2, "count": 3, **options}
    with pytest.raises(InvalidInput, match=complaint):
        krohn.sample("Parity", **given)


@pytest.mark.parametrize("count", [2.5, NAN, 0, "3"])
def test_a_data_set_of_no_whole_number_of_words_leaves_no_file(count: Any, tmp_path: Path) -> None:
    for suffix in ("npz", "jsonl"):
        with pytest.raises(InvalidInput, match="must be at least 1"):
            write_dataset(Sampler(krohn.zoo("Parity"), 3), count, tmp_path / f"words.{suffix}")
    assert list(tmp_path.iterdir()) == []


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


@pytest.mark.parametrize("value", [2**31, 2**40, -1, 0.5, NAN, "1", None])
def test_an_observation_is_a_number_that_a_file_and_a_data_set_can_hold(value: Any) -> None:
    with pytest.raises(InvalidAutomaton, match=r"must be integers in \[0, 2147483647\]; got"):
        Semiautomaton(PARITY, observe=(0, value))


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
