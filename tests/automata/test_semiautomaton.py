"""Validation of the semiautomaton, equality and hash."""

from math import factorial

import numpy as np
import pytest

from every import every
from krohn.automata.observed import Observed, with_target
from krohn.automata.regular import from_regex
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.sizes import capped_factorial, capped_power
from krohn.automata.words import Word, letter_type
from krohn.errors import InvalidAutomaton

TABLE = np.array([[1, 0], [0, 1]])


def test_words_read_left_to_right_and_labels_come_after_each_letter() -> None:
    automaton = Semiautomaton(TABLE)
    assert automaton.run([0, 1, 0, 0]) == [1, 1, 0, 1]
    assert automaton.run([0], start=1) == [0]
    assert automaton.run([]) == []


@every(
    ("fields", "complaint"),
    [
        ({"table": np.zeros((0, 2), int)}, "at least one of each"),
        ({"table": np.zeros((2, 0), int)}, "at least one of each"),
        ({"table": np.zeros(3, int)}, "states × letters"),
        ({"table": [[0, 1], [0]]}, "rows of one length, one for each state"),
        ({"table": np.zeros((2, 2))}, "must hold integers"),
        ({"table": np.array([[0, 2], [0, 0]])}, "state 0, letter 1 goes to 2"),
        ({"table": np.array([[0, 1], [-1, 0]])}, "state 1, letter 0 goes to -1"),
        ({"table": TABLE, "start": 2}, "start state must lie"),
        ({"table": TABLE, "state_names": ("p",)}, "one state name per state"),
        ({"table": TABLE, "state_names": ("p", "p")}, "'p' appears twice"),
        ({"table": TABLE, "letter_names": ("a", "")}, "non-empty string"),
        ({"table": TABLE, "observe": (0,)}, "one observation per state"),
        ({"table": TABLE, "observe": (0, -1)}, r"integers in \[0, 2147483647\]; got -1"),
        ({"table": TABLE, "observe": (0.5, 1)}, r"integers in \[0, 2147483647\]; got 0.5"),
        ({"table": TABLE, "start": 0.5}, "start state must lie in .0, 2.; got 0.5"),
        ({"table": TABLE, "start": "1"}, "start state must lie"),
        ({"table": TABLE, "start": -1}, "start state must lie"),
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


def test_counts_are_exact_up_to_a_trillion_and_then_beyond_every_limit() -> None:
    for n in range(40):
        exact = factorial(n)
        assert capped_factorial(n) == exact if exact <= 10**12 else capped_factorial(n) > 10**12
        for base in range(5):
            power = base**n
            assert capped_power(base, n) == power if power <= 10**12 else capped_power(base, n) > 10**12
    assert capped_power(2, 10**9) > 10**12  # at once


@pytest.mark.parametrize(("count", "bits"), [(1, 8), (256, 8), (257, 16), (65_536, 16), (65_537, 32)])
def test_numbers_are_held_in_the_smallest_type_that_holds_them(count: int, bits: int) -> None:
    assert np.dtype(letter_type(count)).itemsize * 8 == bits


def test_an_automaton_is_asked_for_its_states_or_for_what_it_shows() -> None:
    plain = Semiautomaton(TABLE, observe=(3, 0), state_names=("p", "q"), name="two")
    assert with_target(plain, "state") is plain
    shown = with_target(plain, "observation")
    assert isinstance(shown, Observed)
    assert (shown.outputs, shown.output_names) == ((3, 0), ("0", "1", "2", "3"))
    assert (plain.outputs, plain.output_names) == ((0, 1), ("p", "q"))
    assert (shown.name, with_target(shown, "state").target) == ("two", "state")
