"""The checks of plan nodes, asked about parts that no search proposes."""

from types import SimpleNamespace
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.plan import Plan


def fault_of(kind: type[Plan], automaton: Semiautomaton, **fields: Any) -> str:
    """What the check of a node finds; parts are given by their automata alone, right or wrong."""

    def plan(given: Any) -> Any:
        return SimpleNamespace(automaton=given) if isinstance(given, Semiautomaton) else given

    parts = {
        name: [plan(part) for part in given] if name == "parts" else plan(given)
        for name, given in fields.items()
    }
    node = object.__new__(kind)  # unchecked: a node that is made as usual refuses what is wrong
    for name, given in (("automaton", automaton), *parts.items()):
        object.__setattr__(node, name, given)
    return node.fault()
