"""Converts from and to DFA objects of automata-lib; only ``to_dfa`` needs the library (extra ``dfa``)."""

from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton, is_name, whole
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.extras import to_install
from krohn.errors import InvalidInput, MissingDependency

if TYPE_CHECKING:
    from automata.fa.dfa import DFA


def from_dfa(dfa: "DFA") -> Semiautomaton:
    """A DFA of automata-lib, unchanged; missing transitions lead to a new sink, observation 1 accepts.

    Example:
        >>> dfa = krohn.to_dfa(krohn.from_regex("(ab)*"))
        >>> krohn.from_dfa(dfa).run("abb")
        [1, 0, 2]
    """
    _refuse_what_is_no_dfa(dfa)
    if not all(map(is_name, dfa.input_symbols)):
        raise InvalidInput(
            "the letters of a DFA must be printable strings without spaces; give them such names"
        )
    letters = sorted(dfa.input_symbols)
    states = _breadth_first(dfa, letters)
    rows = [[dfa.transitions.get(state, {}).get(letter) for letter in letters] for state in states]
    partial = any(target is None for row in rows for target in row)
    place: dict[Hashable, int] = {state: index for index, state in enumerate(states)}
    sink = len(states)
    table = [[sink if target is None else place[target] for target in row] for row in rows]
    names = ["".join(str(state).split()) for state in states]  # (0, 1) is called (0,1)
    accept = [int(state in dfa.final_states) for state in states]
    if partial:
        table.append([sink] * len(letters))
        names.append("sink")
        accept.append(0)
    return Semiautomaton(
        np.array(table, dtype=np.int32).reshape(len(table), len(letters)),
        start=place[dfa.initial_state],
        state_names=tuple(names) if len(set(names)) == len(names) and all(map(is_name, names)) else (),
        letter_names=tuple(letters),
        observe=tuple(accept),
    )


def _refuse_what_is_no_dfa(given: Any) -> None:
    parts = ("states", "input_symbols", "transitions", "initial_state", "final_states")
    if not all(hasattr(given, part) for part in parts):
        raise InvalidInput(f"from_dfa takes a DFA of automata-lib; got {type(given).__name__}")
    if any(target not in given.states for row in given.transitions.values() for target in row.values()):
        raise InvalidInput(
            f"a DFA must have one next state for each state and letter; this {type(given).__name__} does "
            "not; convert it first (an NFA with DFA.from_nfa)"
        )


def _breadth_first(dfa: "DFA", letters: list[str]) -> list[Any]:
    """All states: those reached from the start first, the others by their names."""
    order = {dfa.initial_state: None}
    waiting = [dfa.initial_state]
    for state in waiting:  # grows while it is read
        for letter in letters:
            target = dfa.transitions.get(state, {}).get(letter)
            if target is not None and target not in order:
                order[target] = None
                waiting.append(target)
    return [*order, *sorted((state for state in dfa.states if state not in order), key=repr)]


def to_dfa(automaton: AutomatonLike, accept: Collection[int] | None = None) -> "DFA":
    """A DFA of automata-lib over the names; it accepts in ``accept``, by default where the observation is 1.

    Example:
        >>> krohn.to_dfa("C3", accept=[0]).accepts_input("111")
        True
    """
    try:
        from automata.fa.dfa import DFA
    except ImportError as error:
        raise MissingDependency(f"to_dfa needs automata-lib: {to_install('dfa')}") from error
    automaton = as_automaton(automaton)
    if accept is None:
        if automaton.observe is None or not set(automaton.observe) <= {0, 1}:
            raise InvalidInput(
                "a DFA must know its accepting states; give accept= or an observation map to {0, 1}"
            )
        accept = [state for state, seen in enumerate(automaton.observe) if seen]
    outside = [state for state in accept if not 0 <= whole(state) < automaton.num_states]
    if outside:
        raise InvalidInput(f"accepting states must lie in [0, {automaton.num_states}); got {outside[0]}")
    states, letters = automaton.state_names, automaton.letter_names
    return DFA(
        states=set(states),
        input_symbols=set(letters),
        transitions={
            states[state]: {letter: states[target] for letter, target in zip(letters, row, strict=True)}
            for state, row in enumerate(automaton.table.tolist())
        },
        initial_state=states[automaton.start],
        final_states={states[state] for state in accept},
    )
