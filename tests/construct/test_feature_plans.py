"""Notes, wrong letters and merged letters of feature plans, each against all short words."""

from collections.abc import Iterator
from itertools import product
from random import Random

import numpy as np
import pytest

from construct.small_automata import letters, shown_after
from every import every
from krohn.automata.graph import sink_states
from krohn.automata.regular import from_regex
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import sample_automata
from krohn.automata.zoo import zoo
from krohn.base.portable import Budget
from krohn.construct.features.feature import Count, Feature, Latest, Place, annotate
from krohn.construct.features.plans import (
    first_layers,
    letters_by_place,
    merged_letters,
    one_layer_plan,
    plan_without_search,
    wrong_letters,
)
from krohn.network.program import interpret

DEAD_ENDS = {
    "date": from_regex("[0-2][0-2]-[0-2]"),
    "abab": zoo("abab"),
    "one word": from_regex("abba"),
    "two sinks": Semiautomaton(np.array([[1, 2, 1], [1, 1, 1], [3, 2, 3], [3, 3, 3]])),
}


def words(automaton: Semiautomaton, longest: int) -> Iterator[tuple[int, ...]]:
    for length in range(1, longest + 1):
        yield from product(range(automaton.num_letters), repeat=length)


def live_before(automaton: Semiautomaton, place: int) -> set[int]:
    """The states but sinks that some word of ``place − 1`` letters reaches."""
    result = {automaton.start}
    for _ in range(place - 1):
        result = {automaton.step(q, x) for q in result for x in range(automaton.num_letters)}
    return result - set(sink_states(automaton.table))


@pytest.mark.parametrize("name", DEAD_ENDS)
def test_a_letter_is_wrong_where_it_kills_every_living_state(name: str) -> None:
    automaton = DEAD_ENDS[name]
    feature = wrong_letters(automaton)
    assert feature is not None
    sinks = sink_states(automaton.table)
    for word in words(automaton, 5 if automaton.num_letters < 4 else 4):
        wrong = False
        for place, letter in enumerate(word, 1):
            live = live_before(automaton, place)
            wrong |= bool(live) and all(automaton.step(q, letter) in sinks for q in live)
        assert shown_after(feature, word) == (int(wrong),)
        if wrong:
            assert automaton.run(word)[-1] in sinks


def test_without_sinks_no_letter_is_wrong() -> None:
    assert sink_states(zoo("S3").table) == []
    assert wrong_letters(zoo("S3")) is None
    assert sink_states(zoo("abab").table) == [4]


@pytest.mark.parametrize("name", ["date", "one word"])
def test_letters_by_place_say_which_kind_of_letter_stood_there(name: str) -> None:
    automaton = DEAD_ENDS[name]
    result = list(letters_by_place(automaton))
    assert result
    for feature in result:
        place = feature.label.number
        assert place is not None
        kind = feature.members[place]
        alike = {tuple(automaton.step(q, x) for q in sorted(live_before(automaton, place))) for x in kind}
        assert len(alike) == 1  # letters of one kind do the same there
        for word in words(automaton, 4):
            stood = len(word) >= place and word[place - 1] in kind
            assert shown_after(feature, word) == (int(stood),)


@every("seed", range(20))
def test_letters_that_do_the_same_from_the_start_on_are_merged(seed: int) -> None:
    rng = Random(seed)
    base = sample_automata(3, 2, 1, seed)[0]
    order = [rng.randrange(2) for _ in range(3)] + [0, 1]
    table = np.concatenate(
        [base.table[:, order], [[rng.randrange(4) for _ in order]]]
    )  # a state nobody reaches
    automaton = Semiautomaton(table)
    smaller, classes = merged_letters(automaton)
    assert smaller.num_letters == len(set(order))
    for x, y in product(range(5), repeat=2):
        assert (classes[x] == classes[y]) == (order[x] == order[y])
    for word in words(automaton, 3):
        assert smaller.run([classes[x] for x in word]) == automaton.run(word)


NOTES: list[tuple[Feature, ...]] = [
    (Count(frozenset([0]), 2, False, letters("a")),),
    (Latest(((0, 0), (1, 1)), letters("ab")), Place(1, 2)),
    (Count(frozenset([1]), 2, True, letters("b")), Count(frozenset([0]), 3, False, letters("a"))),
]


@pytest.mark.parametrize("notes", NOTES, ids=lambda notes: " ".join(note.meaning.name for note in notes))
def test_noted_letters_are_those_that_occur_with_the_moves_they_go_with(
    notes: tuple[Feature, ...],
) -> None:
    for automaton in sample_automata(3, 2, 4, 1):
        noted = annotate(automaton, notes)
        seen: dict[tuple[int, ...], set[tuple[int, int]]] = {}
        for word in words(automaton, 8):
            shown = (x for note in notes for x in shown_after(note, word))
            states = [automaton.start, *automaton.run(word)]
            seen.setdefault((word[-1], *shown), set()).add((states[-2], states[-1]))
            assert noted.rows[noted.symbols_of(word)[-1]] in seen
        assert set(noted.rows) == set(seen)
        assert [set(moves) for moves in noted.moves] == [seen[row] for row in noted.rows]


def test_first_layers_come_simplest_first_and_none_twice() -> None:
    plain = annotate(zoo("abab"), ())
    sizes = [len(notes) for notes in first_layers(plain)]
    assert sizes == sorted(sizes)
    assert set(sizes) == {1, 2}
    names = [tuple(note.meaning.name for note in notes) for notes in first_layers(plain)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_definite_automaton_needs_no_search(width: int) -> None:
    """The state is the last letters read, for every width of the window."""
    windows = list(product(range(2), repeat=width))
    table = [[windows.index((*window[1:], x)) for x in range(2)] for window in windows]
    automaton = Semiautomaton(np.array(table))
    plan = plan_without_search(automaton, range(len(windows)))
    assert plan is not None
    assert plan.layers == 1
    tested = np.array(list(product(range(2), repeat=6)))
    result = interpret(plan.program(len(windows), automaton.letter_names), tested)
    assert result.tolist() == [automaton.run(word) for word in tested.tolist()]
    assert plan_without_search(zoo("D6"), range(6)) is None


def test_a_plan_for_an_observation_shows_the_observation_alone() -> None:
    automaton = from_regex("(a|b)*a(a|b)*a(a|b)*")
    assert automaton.observe is not None
    plan = one_layer_plan(automaton, automaton.observe, Budget(2e6))
    assert plan is not None
    tested = np.array(list(product(range(2), repeat=7)))
    result = interpret(plan.program(2, automaton.letter_names), tested)
    assert result.tolist() == [
        [automaton.observe[q] for q in automaton.run(word)] for word in tested.tolist()
    ]
