"""Automata of other packages against what these packages say of the same words."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import aalpy.utils
import networkx
import numpy as np
import pandas
import pytest
from aalpy.automata import Dfa, DfaState, MealyMachine, MealyState, MooreMachine, MooreState
from automata.fa.dfa import DFA
from automata.fa.nfa import NFA
from pyformlang.finite_automaton import EpsilonNFA, State, Symbol

import krohn


def words(letters: str, longest: int = 6) -> Iterator[str]:
    for length in range(1, longest + 1):
        yield from map("".join, itertools.product(letters, repeat=length))


def accepts(automaton: krohn.Semiautomaton, word: Sequence[str]) -> bool:
    assert automaton.observe is not None
    return automaton.observe[automaton.run(list(word))[-1]] == 1


def test_automata_of_automata_lib() -> None:
    nfa = NFA.from_regex("(a|b)*abb|aab?")
    for theirs in (nfa, DFA.from_nfa(nfa), DFA.from_nfa(nfa, minify=False, retain_names=True)):
        ours = krohn.automaton(theirs)
        assert all(accepts(ours, word) == theirs.accepts_input(word) for word in words("ab"))
    assert krohn.compile(DFA.from_nfa(nfa), length=6, target="observation").accepts("abb")
    assert krohn.analyze(nfa).automaton.num_letters == 2


def test_an_epsilon_nfa_of_pyformlang() -> None:
    theirs, (p, q, r) = EpsilonNFA(), map(State, "pqr")
    theirs.add_start_state(p)
    theirs.add_final_state(r)
    from pyformlang.finite_automaton import Epsilon

    theirs.add_transitions([(p, Symbol("a"), p), (p, Epsilon(), q), (q, Symbol("b"), r), (r, Symbol("a"), q)])
    ours = krohn.automaton(theirs)
    assert all(accepts(ours, word) == theirs.accepts([Symbol(c) for c in word]) for word in words("ab"))


def machine(state: Callable[..., Any], machine: Callable[..., Any], shows: list[Any]) -> Any:
    states = [state(f"s{n}", *([shown] if shown is not None else [])) for n, shown in enumerate(shows)]
    for n, each in enumerate(states):
        each.transitions = {"a": states[(n + 1) % 3], "b": states[2 * n % 3]}
    return machine(states[0], states)


def test_machines_of_aalpy() -> None:
    dfa = machine(DfaState, Dfa, [True, False, True])
    moore = machine(MooreState, MooreMachine, ["low", "mid", "high"])
    mealy = machine(MealyState, MealyMachine, [None, None, None])
    for n, state in enumerate(mealy.states):
        state.output_fun = {"a": f"out{n}", "b": f"o k{n % 2}"}
    for theirs in (dfa, moore, mealy):
        ours = krohn.automaton(theirs)
        for word in words("ab", 5):
            said = theirs.execute_sequence(theirs.initial_state, list(word))
            expected = [str(int(x)) if isinstance(x, bool) else x.replace(" ", "_") for x in said]
            assert [ours.observed[q] for q in ours.run(list(word))] == expected
    assert aalpy.utils is not None


def test_a_table_of_pandas_and_a_graph_of_networkx() -> None:
    frame = pandas.DataFrame({"a": ["q", "q"], "b": ["p", None], "accept": [0, 1]}, index=["p", "q"])
    ours = krohn.automaton(frame)
    assert [accepts(ours, word) for word in ("a", "aa", "ba", "ab", "aba")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    graph = networkx.MultiDiGraph()
    graph.add_node("p", start=True)
    graph.add_node("q", accept=True)
    graph.add_edges_from([("p", "q", {"label": "a"}), ("q", "q", {"label": "a"}), ("p", "p", {"label": "b"})])
    assert krohn.equal(krohn.automaton(graph), ours)
    graph.add_edge("p", "q")
    with pytest.raises(krohn.KrohnError, match="label="):
        krohn.automaton(graph)


def test_other_objects_are_refused_by_their_type() -> None:
    with pytest.raises(krohn.KrohnError, match=r"object of automata-lib, AALpy, .*; got DfaState"):
        krohn.automaton(DfaState("x"))


@pytest.mark.parametrize("pattern", ["(a|b)*abb", "(ab)*", "[a-c]+d?"])
def test_objects_are_made_and_read_again(pattern: str) -> None:
    ours = krohn.from_regex(pattern)
    theirs = ours.to("automata-lib")
    assert isinstance(theirs, DFA)
    again = krohn.automaton(theirs)
    graph = krohn.automaton(ours.to("networkx"))
    learned = ours.to("aalpy")
    assert isinstance(learned, Dfa)
    assert krohn.equal(krohn.automaton(learned), again)
    for word in itertools.chain.from_iterable(
        itertools.product(ours.letter_names, repeat=length) for length in range(1, 5)
    ):
        assert theirs.accepts_input(word) == accepts(ours, word) == accepts(again, word)
        assert learned.execute_sequence(learned.initial_state, word)[-1] == accepts(ours, word)
        assert graph.observed[graph.run(list(word))[-1]] == ours.observed[ours.run(list(word))[-1]]


def test_what_shows_names_is_a_machine_of_moore() -> None:
    light = krohn.Semiautomaton(
        np.array([[1, 0], [0, 1]]), 1, letter_names=("push", "wait"), observe=("on", "off")
    )
    theirs = light.to("aalpy")
    assert isinstance(theirs, MooreMachine)
    assert theirs.execute_sequence(theirs.initial_state, ["wait", "push", "push"]) == ["off", "on", "off"]
    assert krohn.equal(krohn.automaton(theirs), light)
    with pytest.raises(krohn.KrohnError, match="accept or show"):
        krohn.zoo("C3").to("aalpy")


def test_what_is_no_package_and_what_is_no_dfa_is_one_line() -> None:
    with pytest.raises(krohn.KrohnError, match=r"made for automata-lib, aalpy, networkx; got 'xml'"):
        krohn.zoo("C3").to("xml")
    with pytest.raises(krohn.KrohnError, match="must observe 0 or 1"):
        krohn.zoo("C3").to("automata-lib")
