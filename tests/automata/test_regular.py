"""Regular expressions against Python's own engine and automata-lib."""

import contextlib
import itertools
import re
import subprocess
import sys

import numpy as np
import pytest
from automata.fa.dfa import DFA
from automata.fa.nfa import NFA
from hypothesis import given, settings
from hypothesis import strategies as st

from every import every
from krohn.automata.quotients import minimize, reachable_states
from krohn.automata.regular import from_regex
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo
from krohn.errors import KrohnError, LimitExceeded


def patterns() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["a", "b", "ab", ".", "[ab]", "[^a]"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}"])).map(
                lambda pair: f"({pair[0]}){pair[1]}"
            ),
        ),
        max_leaves=5,
    )


@given(patterns())
def test_acceptance_is_that_of_pythons_engine(pattern: str) -> None:
    automaton = from_regex(pattern, alphabet="ab")
    engine = re.compile(pattern)
    assert automaton.observe is not None
    assert automaton.letter_names == ("a", "b")
    for length in range(6):
        for word in itertools.product((0, 1), repeat=length):
            states = [automaton.start, *automaton.run(word)]
            text = "".join("ab"[letter] for letter in word)
            assert bool(automaton.observe[states[-1]]) == bool(engine.fullmatch(text))


def wild_patterns() -> st.SearchStrategy[str]:
    """With repetitions that Python does not have; the library gets ``{0}`` wrong."""
    leaves = st.sampled_from(["a", "b", ".", "[^a]", "()", r"\*", "[a-c]", "ab", "(a|b)*"])
    repeats = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "{,3}", "{2,3}"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.just("|"), inner).map("".join),
            st.tuples(inner, st.just("|"), inner).map(lambda parts: f"({''.join(parts)})"),
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, repeats).map(lambda pair: f"({pair[0]}){pair[1]}"),
        ),
        max_leaves=5,
    )


def numbered(automaton: Semiautomaton) -> tuple[list[list[int]], list[int]]:
    """Table and observations in breadth-first order: equal for isomorphic automata."""
    order = reachable_states(automaton)
    assert automaton.observe is not None
    table = [[order.index(target) for target in automaton.table[state].tolist()] for state in order]
    return table, [automaton.observe[state] for state in order]


def by_the_library(pattern: str, alphabet: str) -> Semiautomaton:
    dfa = DFA.from_nfa(NFA.from_regex(pattern, input_symbols=set(alphabet))).to_complete()
    letters, states = sorted(dfa.input_symbols), list(dfa.states)
    table = [[states.index(dfa.transitions[state][letter]) for letter in letters] for state in states]
    accepts = tuple(int(state in dfa.final_states) for state in states)
    first = states.index(dfa.initial_state)
    return minimize(Semiautomaton(np.array(table), first, letter_names=tuple(letters), observe=accepts))


@given(wild_patterns())
@settings(deadline=None)
def test_the_automaton_is_that_of_the_library(pattern: str) -> None:
    ours, theirs = from_regex(pattern, alphabet="ab"), by_the_library(pattern, "ab")
    assert ours.letter_names == theirs.letter_names
    assert numbered(ours) == numbered(theirs)


@pytest.mark.parametrize("pattern", ["a{0}", "a{0,0}", "a{,0}", "(ab){0}"])
def test_no_repetition_at_all_is_the_empty_word(pattern: str) -> None:
    automaton = from_regex(pattern, alphabet="ab")
    assert automaton.observe == (1, 0)


def test_expressions_need_no_library() -> None:
    check = "import sys; sys.modules['automata'] = None; import krohn; krohn.from_regex('(a|b)*[ab]*')"
    subprocess.run([sys.executable, "-c", check], check=True)


@given(patterns())
def test_the_automaton_of_a_pattern_is_minimal_and_starts_at_0(pattern: str) -> None:
    automaton = from_regex(pattern, alphabet="ab")
    assert automaton.start == 0
    assert minimize(automaton) == automaton


def test_the_pattern_of_abab_is_the_automaton_of_the_zoo() -> None:
    automaton, named = from_regex("(abab)*"), zoo("abab@accept")
    assert automaton.num_states == named.num_states == 5
    assert automaton.observe is not None
    assert named.observe is not None
    for word in itertools.product((0, 1), repeat=8):
        seen = [automaton.observe[q] for q in automaton.run(word)]
        assert seen == [named.observe[q] for q in named.run(word)]


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        ("a{2,3}", ("a",)),  # the digits of a repetition are not letters
        (r"\*a", ("*", "a")),
        ("(é|b)*b", ("b", "é")),
        ("(a|b)*abb", ("a", "b")),
        ("(abab)*", ("a", "b")),
    ],
)
def test_letters_are_the_characters_a_pattern_can_read(pattern: str, letters: tuple[str, ...]) -> None:
    assert from_regex(pattern).letter_names == letters


def test_an_alphabet_adds_letters() -> None:
    automaton = from_regex("a*", alphabet="abc")
    assert automaton.letter_names == ("a", "b", "c")
    assert automaton.num_states == 2


@every("pattern", ["(a", "a)", "*a", "[a", "[]", "a{2,1}", "", "()", "a**", "a\\", r"(a)\1", "(?>a|ab)c"])
def test_a_pattern_that_does_not_parse_is_refused_in_one_line(pattern: str) -> None:
    with pytest.raises(KrohnError, match="a pattern must") as caught:
        from_regex(pattern)
    assert "\n" not in str(caught.value)


@every(
    "pattern",
    [
        "a" * 20_001,
        "a{99999}",
        "((a{99}){99}){99}",
        "(a|b)*a(a|b){17}",
        "(?=(a|b)*a(a|b){12})(?=(a|b)*b(a|b){13}a).*",
        "(" * 5_000 + ")" * 5_000,
    ],
)
def test_a_pattern_that_would_explode_is_refused_by_a_limit(pattern: str) -> None:
    with pytest.raises(LimitExceeded, match="may"):
        from_regex(pattern)


def test_repetitions_side_by_side_add_and_do_not_multiply() -> None:
    assert from_regex("(a|b){40}c{40}d{40}").num_states == 122


@given(st.text(alphabet="ab|*+?.&^$(){}[],-=!<:\\0123456789 \té", max_size=12))
def test_no_pattern_raises_anything_but_our_error(pattern: str) -> None:
    with contextlib.suppress(KrohnError):
        assert set(from_regex(pattern).observe or ()) <= {0, 1}
