"""The semiautomaton refuses what it cannot be, and is a value."""

import numpy as np
import pytest

from krohn.automata.regular import from_regex
from krohn.automata.semiautomaton import Semiautomaton, Word
from krohn.errors import InvalidAutomaton, InvalidInput

TABLE = np.array([[1, 0], [0, 1]])


def test_words_read_left_to_right_and_labels_come_after_each_letter() -> None:
    automaton = Semiautomaton(TABLE)
    assert automaton.run([0, 1, 0, 0]) == [1, 1, 0, 1]
    assert automaton.run([0], start=1) == [0]
    assert automaton.run([]) == []


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"table": np.zeros((0, 2), int)}, "at least one of each"),
        ({"table": np.zeros((2, 0), int)}, "at least one of each"),
        ({"table": np.zeros(3, int)}, "states × letters"),
        ({"table": np.zeros((2, 2))}, "must hold integers"),
        ({"table": np.array([[0, 2], [0, 0]])}, "state 0, letter 1 goes to 2"),
        ({"table": np.array([[0, 1], [-1, 0]])}, "state 1, letter 0 goes to -1"),
        ({"table": TABLE, "start": 2}, "start state must lie"),
        ({"table": TABLE, "state_names": ("p",)}, "one state name per state"),
        ({"table": TABLE, "state_names": ("p", "p")}, "'p' appears twice"),
        ({"table": TABLE, "letter_names": ("a", "")}, "non-empty string"),
        ({"table": TABLE, "observe": (0,)}, "one observation per state"),
        ({"table": TABLE, "observe": (0, -1)}, "integers ≥ 0"),
    ],
)
def test_a_malformed_automaton_is_refused(fields: dict[str, object], complaint: str) -> None:
    with pytest.raises(InvalidAutomaton, match=complaint):
        Semiautomaton(**fields)  # type: ignore[arg-type]


def test_equality_and_hash_are_structural_and_ignore_the_name() -> None:
    left, right = Semiautomaton(TABLE, name="one"), Semiautomaton(TABLE.copy(), name="two")
    assert left == right
    assert hash(left) == hash(right)
    assert left != Semiautomaton(TABLE, start=1)
    assert left != Semiautomaton(TABLE, observe=(0, 1))
    assert left != Semiautomaton(TABLE, letter_names=("a", "b"))
    assert left != "automaton"


def test_the_table_cannot_be_written() -> None:
    automaton = Semiautomaton(TABLE)
    with pytest.raises(ValueError, match="read-only"):
        automaton.table[0, 0] = 0


def test_letters_are_transformations_of_the_states() -> None:
    automaton = Semiautomaton.from_letters([(1, 2, 0), (0, 0, 0)])
    assert automaton.letters == ((1, 2, 0), (0, 0, 0))
    assert automaton.step(1, 0) == 2
    with pytest.raises(InvalidAutomaton, match="same states"):
        Semiautomaton.from_letters([(0, 1), (0,)])


def test_the_text_form_says_name_and_sizes() -> None:
    assert repr(Semiautomaton(TABLE, name="X")) == "<Semiautomaton X: 2 states, 2 letters, start 0>"


@pytest.mark.parametrize("word", ["abba", "a b b a", ["a", "b", "b", "a"], [0, 1, 1, 0], (0, "b", 1, "a")])
def test_words_are_numbers_or_names(word: Word) -> None:
    automaton = from_regex("(ab)*")
    assert automaton.run(word) == [1, 0, 2, 2]


def test_long_letter_names_are_separated_by_blanks() -> None:
    automaton = Semiautomaton.from_letters([(1, 0), (0, 0)], letter_names=("flip", "reset"))
    assert automaton.run("flip flip reset flip") == [1, 0, 0, 1]
    assert automaton.run("") == []


@pytest.mark.parametrize("word", ["abc", ["a", "c"], [0, 2], [-1]])
def test_letters_that_are_none_are_named(word: Word) -> None:
    with pytest.raises(InvalidInput, match="every letter must be one of a b, or a number below 2; letter "):
        from_regex("(ab)*").run(word)
