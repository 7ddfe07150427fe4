"""Automata as objects of other packages; a package is imported where an object of it is asked for."""

from typing import Any

from krohn.errors import InvalidInput, MissingDependency, UnknownName


def make_object(automaton: Any, package: str) -> Any:
    """The automaton as an object of the package, which reads as this automaton again."""
    if package not in MAKERS:
        raise UnknownName(f"objects are made for {', '.join(MAKERS)}; got {package!r:.40}")
    try:
        return MAKERS[package](automaton)
    except ModuleNotFoundError as error:
        raise MissingDependency(f"the package must be installed: pip install {package}") from error


def _make_automata_lib(automaton: Any) -> Any:
    from automata.fa.dfa import DFA

    shown = set(automaton.observe or ())
    if not shown or not shown <= {0, 1}:
        raise InvalidInput("a DFA accepts or not: the automaton must observe 0 or 1 of each state")
    states, letters = automaton.state_names, automaton.letter_names
    return DFA(
        states={*states},
        input_symbols={*letters},
        transitions={
            states[source]: {letter: states[target] for letter, target in zip(letters, row, strict=True)}
            for source, row in enumerate(automaton.table.tolist())
        },
        initial_state=states[automaton.start],
        final_states={states[at] for at, value in enumerate(automaton.observe or ()) if value},
    )


def _make_aalpy(automaton: Any) -> Any:
    from aalpy.automata import Dfa, MooreMachine

    if automaton.observe is None:
        raise InvalidInput("machines of AALpy accept or show: the automaton must observe something")
    accepts = {*automaton.observe} <= {0, 1} and not automaton.observation_names
    states, rows = automaton.state_names, automaton.table.tolist()
    setup = {
        states[at]: (
            bool(automaton.observe[at]) if accepts else automaton.observed[at],
            {letter: states[to] for letter, to in zip(automaton.letter_names, rows[at], strict=True)},
        )
        for at in sorted(range(len(rows)), key=lambda at: at != automaton.start)  # the first is the start
    }
    return (Dfa if accepts else MooreMachine).from_state_setup(setup)


def _make_networkx(automaton: Any) -> Any:
    from networkx import MultiDiGraph

    graph, states = MultiDiGraph(), automaton.state_names
    for at, name in enumerate(states):
        shows = {"output": automaton.observed[at]} if automaton.observed else {}
        graph.add_node(name, **shows, **({"start": True} if at == automaton.start else {}))
    for source, row in enumerate(automaton.table.tolist()):
        for letter, target in zip(automaton.letter_names, row, strict=True):
            graph.add_edge(states[source], states[target], label=letter)
    return graph


MAKERS = {"automata-lib": _make_automata_lib, "aalpy": _make_aalpy, "networkx": _make_networkx}
"""Packages by the names under which they are installed."""
