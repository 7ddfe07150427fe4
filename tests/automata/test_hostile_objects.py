"""Objects that call themselves automata of a package and are none: one line, in bounded time and memory."""

import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import krohn
from every import every

HERE = Path(__file__).parent


def made(module: str, kind: str, **fields: Any) -> Any:
    """An object whose class says that it is of the package."""
    result = type(kind, (), {"__module__": module})()
    for name, value in fields.items():
        setattr(result, name, value)
    return result


def dfa(**fields: Any) -> Any:
    whole: dict[str, Any] = {"states": {"p"}, "input_symbols": {"a"}, "transitions": {"p": {"a": "p"}}}
    return made("automata.fa.dfa", "DFA", **whole | {"initial_state": "p", "final_states": {"p"}} | fields)


def aalpy(**fields: Any) -> Any:
    state = SimpleNamespace(state_id="p", is_accepting=True, transitions={})
    state.transitions["a"] = state
    return made("aalpy.automata", "Dfa", **{"states": [state], "initial_state": state} | fields)


def nested(depth: int) -> frozenset[Any]:
    result: frozenset[Any] = frozenset()
    for _ in range(depth):
        result = frozenset({result})
    return result


class Screams:
    def __str__(self) -> str:
        raise ValueError("no name")


def endless(value: Any) -> Any:
    return itertools.repeat(value)


HOSTILE: dict[str, Callable[[], Any]] = {
    "no transitions": lambda: dfa(transitions=None),
    "a row that is no row": lambda: dfa(transitions={"p": 7}),
    "letters that are numbers": lambda: dfa(transitions={"p": {0: "p"}}),
    "no start": lambda: made("automata.fa.dfa", "DFA", input_symbols={"a"}, final_states=set()),
    "endless letters": lambda: dfa(input_symbols=endless("a")),
    "endless states": lambda: aalpy(states=endless(aalpy().initial_state)),
    "no states": lambda: aalpy(states=None),
    "an endless list of arrows": lambda: made(
        "pyformlang.finite_automaton", "FiniteAutomaton", start_states=[], final_states=[], states=endless(0)
    ),
    "a frame without an index": lambda: made("pandas", "DataFrame", columns=["a"]),
    "a frame of endless columns": lambda: made("pandas", "DataFrame", columns=endless("a"), index=[]),
    "a graph that is none": lambda: made("networkx", "DiGraph", nodes=lambda data: [1], edges=None),
    "a name that fails": lambda: dfa(initial_state=Screams()),
}


@every("name", list(HOSTILE))
def test_a_hostile_object_is_one_line(name: str) -> None:
    with pytest.raises(krohn.KrohnError) as refused:
        krohn.analyze(HOSTILE[name]()).to_json()
    assert "\n" not in str(refused.value)


def test_names_with_zero_bytes_are_spelled() -> None:
    automaton = krohn.automaton(dfa(transitions={"p": {"\0": "p"}}, input_symbols={"\0"}))
    assert automaton.letter_names == (r"\x00",)


def test_names_nested_deep_are_one_line() -> None:
    with pytest.raises(krohn.KrohnError, match="nested"):
        krohn.automaton(dfa(initial_state=nested(100_000)))


def test_endless_objects_end_within_a_gigabyte() -> None:
    """In a process that may not have more."""
    script = f"""
import resource, sys
sys.path[:0] = {[str(HERE), str(HERE.parent)]!r}
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
import krohn, test_hostile_objects as hostile
for name in ("endless letters", "endless states", "a frame of endless columns"):
    try:
        krohn.automaton(hostile.HOSTILE[name]())
    except krohn.KrohnError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.count("at most 1,000,000") == 3, done
