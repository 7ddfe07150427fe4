"""Words of one length that form a group: decided from image sets, found again by listing words' maps."""

import random
from collections.abc import Iterator, Sequence
from itertools import product

import pytest

import krohn
from krohn.algebra.image_orbit import ImageOrbit
from krohn.algebra.one_length import group_of_one_length
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import sample_automata, small_automata

Map = tuple[int, ...]
Letters = Sequence[Map]


def then(f: Map, g: Map) -> Map:
    return tuple(g[q] for q in f)


def maps_by_length(letters: Letters) -> Iterator[frozenset[Map]]:
    """The maps of all words of 1, 2, … letters, until a set comes back."""
    now, seen = frozenset(letters), set[frozenset[Map]]()
    while now not in seen:
        seen.add(now)
        yield now
        now = frozenset(then(f, g) for f in now for g in letters)


def holds_a_group(maps: frozenset[Map]) -> bool:
    """Whether the powers of some element come back to it through others and all lie in the set."""
    for f in maps:
        powers = [f]
        while (after := then(powers[-1], f)) not in powers:
            powers.append(after)
        if after == f and len(powers) > 1 and maps.issuperset(powers):
            return True
    return False


def quasi_aperiodic(letters: Letters) -> bool:
    return not any(map(holds_a_group, maps_by_length(letters)))


SMALL = [*small_automata(2, 1), *small_automata(2, 2), *small_automata(3, 1), *small_automata(3, 2)]
SMALL += [*small_automata(2, 3), *sample_automata(4, 2, 60, seed=5), *sample_automata(3, 3, 40, seed=6)]


def assert_decided(automaton: Semiautomaton) -> None:
    letters = automaton.letters
    result = group_of_one_length(ImageOrbit(letters))
    assert (result is None) == quasi_aperiodic(letters), letters
    if result is None:
        return
    assert len({len(word) for word in result.words}) == 1 < len(result.words)
    maps = [tuple(automaton.run(word, q)[-1] for q in range(automaton.num_states)) for word in result.words]
    assert len(set(maps)) == len(maps)
    number = len(maps)
    assert all(then(maps[i], maps[j]) == maps[(i + j) % number] for i in range(number) for j in range(number))
    assert {maps[0][q] for q in range(automaton.num_states)} == set(result.states)


def test_the_decision_is_that_of_listing_all_maps_for_every_small_automaton() -> None:
    for automaton in SMALL:
        assert_decided(automaton)


def test_the_same_for_random_letters_with_states_that_are_not_reached() -> None:
    rng = random.Random(7)
    for _ in range(150):
        size, count = rng.randint(2, 4), rng.randint(1, 3)
        rows = [[rng.randrange(size) for _ in range(count)] for _ in range(size)]
        assert_decided(Semiautomaton(rows, 0))


def test_51_of_the_96_automata_of_the_atlas_with_a_group_are_in_ac0() -> None:
    every = [*small_automata(2, 2), *small_automata(3, 2)]
    reports = [krohn.analyze(automaton) for automaton in every]
    grouped = [report for report in reports if not report.is_aperiodic]
    assert len(every) == 121
    assert len(grouped) == 96
    assert sum(report.is_quasi_aperiodic for report in grouped) == 51
    assert all((report.complexity == "AC0") == report.is_quasi_aperiodic for report in reports)


def test_loops_whose_lengths_meet_only_late_have_words_all_the_same() -> None:
    """From state 0 letter a goes round in 2 steps and swaps two copies, b in 3 and does not."""
    ways = {0: {"a": 1, "b": 2}, 1: {"a": 0, "b": 0}, 2: {"a": 3, "b": 3}, 3: {"a": 0, "b": 0}}
    rows = [
        [4 * (copy ^ (q == 1)) + ways[q][letter] for letter in "ab"]
        for copy, q in product(range(2), range(4))
    ]
    automaton = Semiautomaton(rows, 0)
    assert_decided(automaton)
    analysis = krohn.analyze(automaton)
    assert (analysis.complexity, analysis.is_aperiodic) == ("ACC0", False)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [("abab", "AC0"), ("regex:(aa)*", "AC0"), ("Parity", "ACC0"), ("S4", "ACC0"), ("S5", "NC1-complete")],
)
def test_the_class_follows(spec: str, expected: str) -> None:
    report = krohn.analyze(spec)
    assert report.complexity == expected
    assert expected in report.reason
    assert report.is_quasi_aperiodic == (expected == "AC0")


def test_states_that_no_word_reaches_count_in_the_semigroup_but_not_in_the_class() -> None:
    """A counter modulo 2 that cannot be entered, beside a memory that is always the last letter."""
    report = krohn.analyze(Semiautomaton([[0, 1], [0, 1], [3, 2], [2, 3]], 0))
    assert (report.is_aperiodic, report.num_states) == (False, 4)
    assert (report.complexity, report.is_quasi_aperiodic) == ("AC0", True)
    assert "aperiodic" in report.reason
    assert any("2 states that no word reaches" in text for text in report.notes)


def test_a_verdict_from_the_permuting_letters_alone_has_its_words_too() -> None:
    automaton = krohn.zoo("T6")
    report = krohn.analyze(automaton, effort=2e-6)
    assert report.is_partial
    assert report.complexity == "NC1-complete"
    assert report.one_length is not None
    maps = {tuple(automaton.run(word, q)[-1] for q in range(6)) for word in report.one_length.words}
    assert len(maps) == len(report.one_length.words) > 1
