"""Sizes of the recurrence, of chunks and of memorising, against tables that are written out."""

from itertools import product

import pytest

from krohn.automata.zoo import parse_spec
from krohn.paper.shortcuts import chunk_of, chunked, memorising, recurrence

SPECS = ("Parity", "Grid4", "S3")


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_units_are_the_rows_of_tables_that_run_words(spec: str, length: int) -> None:
    automaton = parse_spec(spec)
    letters, chunk = range(automaton.num_letters), chunk_of(length)
    chunks = {
        (state, word): automaton.run(word, state)[-1]
        for state in range(automaton.num_states)
        for word in product(letters, repeat=chunk)
    }
    words = {word: automaton.run(word)[-1] for word in product(letters, repeat=length)}
    assert chunked(automaton, length).width == len(chunks)
    assert memorising(automaton, length).width == len(words)
    for word, last in words.items():  # padded at the front: the chunks' tables chained are the automaton
        if length % chunk == 0:
            state = automaton.start
            for first in range(0, length, chunk):
                state = chunks[state, word[first : first + chunk]]
            assert state == last
    assert chunked(automaton, length).depth * chunk >= length
    assert (chunked(automaton, length).depth - 1) * chunk < length


def test_what_grows_and_what_does_not() -> None:
    automaton = parse_spec("S4")
    assert [chunk_of(length) for length in (1, 4, 5, 9, 10, 100)] == [1, 2, 3, 3, 4, 10]
    assert [chunked(automaton, length).depth for length in (4, 16, 64, 100)] == [2, 4, 8, 10]
    assert {memorising(automaton, length).depth for length in (1, 10, 1000)} == {1}
    assert recurrence(automaton, 10).parameters == recurrence(automaton, 1000).parameters
    assert memorising(automaton, 1000).width == automaton.num_letters**1000
