"""Input distributions: exact probabilities by enumerating dice, against the paper's words."""

import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest

from every import every
from krohn.automata.distributions import LetterSource, default_distribution, parse_distribution, source
from krohn.automata.sampling import Sampler
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo
from krohn.errors import LimitExceeded, Unsupported


def exact(origin: LetterSource, length: int) -> dict[tuple[int, ...], Fraction]:
    """Probability of every word, by throwing the die in all possible ways."""
    second, faces = origin.second, origin.num_outcomes
    die = [Fraction(1, faces)] * faces if second is None else [1 - second, second]
    likely: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for start, weight in zip(origin.starts, origin.start_weights, strict=True):
        for throws in itertools.product(range(origin.num_outcomes), repeat=length):
            state, word, chance = start, [], Fraction(weight)
            for throw in throws:
                word.append(int(origin.letter[state, throw]))
                chance *= Fraction(die[throw])
                state = int(origin.next[state, throw])
            likely[tuple(word)] += chance
    return {word: chance for word, chance in likely.items() if chance}


def follows(origin: LetterSource, automaton: Semiautomaton) -> None:
    """Hidden states move as the automaton does under the letters written."""
    visible = np.arange(origin.num_states) if origin.visible is None else origin.visible
    for state, throw in np.ndindex(origin.next.shape):
        moved = automaton.step(int(visible[state]), int(origin.letter[state, throw]))
        assert moved == visible[origin.next[state, throw]]
    assert {int(visible[start]) for start in origin.starts} == {automaton.start}


@every(
    ("name", "distribution"),
    [
        ("Parity", "uniform"),
        ("Parity", "bernoulli:0.25"),
        ("S4", "uniform"),
        ("Dyck2,2", "feasible"),
        ("Dyck4,8", "feasible"),
        ("abab", "feasible"),
        ("abab", "abab:0.5"),
        ("Grid4", "abab:1"),
    ],
)
def test_a_source_follows_its_automaton(name: str, distribution: str) -> None:
    follows(source(zoo(name), distribution), zoo(name))


def test_uniform_words_are_equally_likely() -> None:
    likely = exact(source(zoo("C3"), "uniform"), 3)
    assert len(likely) == 27
    assert set(likely.values()) == {Fraction(1, 27)}


def test_bernoulli_words_have_their_probabilities() -> None:
    for word, chance in exact(source(zoo("Parity"), "bernoulli:0.25"), 4).items():
        assert chance == Fraction(1, 4) ** sum(word) * Fraction(3, 4) ** (4 - sum(word))


def dyck_words(depth: int, kinds: int, length: int) -> dict[tuple[int, ...], Fraction]:
    """The paper's rule with a real stack: empty, only opens; full, only the match; else both."""
    likely = {((), ()): Fraction(1)}
    for _ in range(length):
        longer: dict[tuple[tuple[int, ...], tuple[int, ...]], Fraction] = defaultdict(Fraction)
        for (word, stack), chance in likely.items():
            opens = [] if len(stack) == depth else list(range(kinds))
            closes = [kinds + stack[-1]] if stack else []
            for letter in opens + closes:
                grown = (*stack, letter) if letter < kinds else stack[:-1]
                longer[(*word, letter), grown] += chance / len(opens + closes)
        likely = dict(longer)
    return {word: chance for (word, _), chance in likely.items()}


@pytest.mark.parametrize(("depth", "kinds", "length"), [(1, 1, 6), (2, 2, 5), (3, 2, 5), (1, 3, 4)])
def test_dyck_words_are_uniform_over_feasible_letters(depth: int, kinds: int, length: int) -> None:
    assert exact(source(zoo(f"Dyck{depth},{kinds}")), length) == dyck_words(depth, kinds, length)


def test_the_first_abab_distribution_never_fails_and_the_second_half_the_time() -> None:
    straight = (0, 1) * 3
    assert exact(source(zoo("abab"), "abab:1"), 6) == {straight: 1}
    assert exact(source(zoo("abab"), "feasible"), 6) == {straight: 1}
    mixed = exact(source(zoo("abab")), 6)
    assert mixed.pop(straight) == Fraction(1, 2) + Fraction(1, 2) * Fraction(1, 64)
    assert Counter(mixed.values()) == {Fraction(1, 128): 63}


def test_states_without_feasible_letters_use_all_letters() -> None:
    trapped = Semiautomaton(np.array([[1, 1], [1, 1]]))  # every letter leads to the absorbing state
    assert set(exact(source(trapped, "feasible"), 2).values()) == {Fraction(1, 4)}


@every(
    ("name", "distribution", "word"),
    [
        ("abab", "periodic:01:0.25", (0, 1)),
        ("C3", "periodic:110:0.25", (1, 1, 0)),
        ("C2", "periodic:1:1", (1,)),
    ],
)
def test_a_word_repeats_with_its_probability(name: str, distribution: str, word: tuple[int, ...]) -> None:
    chance = Fraction(distribution.rpartition(":")[2])
    origin = source(zoo(name), distribution)
    follows(origin, zoo(name))
    likely, letters = exact(origin, 4), zoo(name).num_letters
    repeated = tuple((word * 4)[:4])
    assert likely.pop(repeated) == chance + (1 - chance) / letters**4
    assert set(likely.values()) <= {(1 - chance) / letters**4}
    assert len(likely) == (letters**4 - 1 if chance < 1 else 0)


def test_a_word_may_be_too_long_for_its_table() -> None:
    with pytest.raises(LimitExceeded, match="give a shorter word"):
        source(zoo("Dyck4,8"), "periodic:" + "01" * 500 + ":0.5")


def test_a_fixed_count_of_ones_is_not_drawn_letter_by_letter() -> None:
    with pytest.raises(Unsupported, match="training and evaluation only"):
        source(zoo("Parity"), "ones:3")


def test_defaults_are_the_papers() -> None:
    names = ("Parity", "S5", "Dyck4,2", "Dyck4,8@top", "abab", "abab@accept", "Dyck1,1xC2", "Grid9")
    defaults = {name: default_distribution(zoo(name)) for name in names}
    assert defaults.pop("Dyck4,2") == defaults.pop("Dyck4,8@top") == "feasible"
    assert defaults.pop("abab") == defaults.pop("abab@accept") == "abab:0.5"
    assert set(defaults.values()) == {"uniform"}


@every("name", ["abab", "abab@accept", "Dyck2,2xC2", "Dyck4,2", "C2"])
def test_auto_is_the_default(name: str) -> None:
    automaton = zoo(name)
    default = parse_distribution(default_distribution(automaton), automaton)
    assert parse_distribution("auto", automaton) == parse_distribution(None, automaton) == default
    sampler = Sampler(automaton, 5, "auto")
    assert sampler.distribution_name == default_distribution(automaton)
    assert (sampler.chunk(0).letters == Sampler(automaton, 5).chunk(0).letters).all()
