"""Automata of other packages, recognised by where their classes come from; nothing is imported."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from krohn.automata.reading.arrows import MAX_ARROWS, Arrows
from krohn.automata.reading.tables import read_rows
from krohn.errors import InvalidInput, KrohnError, LimitExceeded

PACKAGES = "automata-lib, AALpy, pyformlang, pandas, networkx"


def read_object(given: Any) -> Arrows | None:
    """The arrows of an object of one of the packages; ``None`` if it is of none of them.

    An object that is not as its package makes them is refused in one line, whatever it raises.
    """
    try:
        return _read_object(given)
    except KrohnError:
        raise
    except RecursionError as error:
        raise LimitExceeded(
            "names of states may be nested some hundred levels deep; here is a deeper one"
        ) from error
    except Exception as error:
        what = f"{type(error).__name__}: {str(error)[:80]}"
        kind = type(given).__name__
        raise InvalidInput(
            f"a {kind} must be as its package makes them; reading it failed: {what}"
        ) from error


def _read_object(given: Any) -> Arrows | None:
    kinds = {each.__name__: each.__module__.partition(".")[0] for each in type(given).__mro__}
    roots = set(kinds.values())
    if "automata" in roots and hasattr(given, "input_symbols") and hasattr(given, "final_states"):
        return _automata_lib(given, deterministic="DFA" in kinds)
    for kind in ("Dfa", "MooreMachine", "MealyMachine"):
        if kinds.get(kind) == "aalpy":
            return _aalpy(given, kind)
    if kinds.get("FiniteAutomaton") == "pyformlang":
        return _pyformlang(given)
    if kinds.get("DataFrame") == "pandas":
        return _pandas(given)
    if kinds.get("DiGraph") == "networkx":
        return _networkx(given)
    return None


def _text(value: Any) -> str:
    """A state's or letter's name; sets of states, as a subset construction makes them, have one order."""
    if isinstance(value, frozenset | set):
        return "{" + ",".join(sorted(map(_text, value))) + "}"
    return str(value)


def _listed(values: Iterable[Any]) -> list[Any]:
    """The values, of which there may be as many as a machine may have arrows."""
    result = list(islice(values, MAX_ARROWS + 1))
    if len(result) > MAX_ARROWS:
        raise LimitExceeded(f"an object may list at most {MAX_ARROWS:,} states or letters; this one has more")
    return result


def _sorted(values: Iterable[Any]) -> list[str]:
    return sorted(map(_text, _listed(values)))


def _automata_lib(given: Any, *, deterministic: bool) -> Arrows:
    """DFA and NFA; the empty letter reads nothing."""
    read = Arrows(starts=[_text(given.initial_state)], final=set(_sorted(given.final_states)))
    read.states, read.letters = _sorted(given.states), _sorted(given.input_symbols)
    for state in sorted(given.transitions, key=_text):
        for letter, targets in sorted(given.transitions[state].items()):
            if not isinstance(letter, str):
                raise InvalidInput(f"letters must be strings; got {letter!r:.40}")
            for target in (targets,) if deterministic else sorted(targets, key=_text):
                read.add(_text(state), letter or None, _text(target))
    return read


def _aalpy(given: Any, kind: str) -> Arrows:
    """Deterministic machines with outputs of states or of arrows, or accepting states."""
    read = Arrows(starts=[_text(given.initial_state.state_id)])
    states = _listed(given.states)
    read.states = [_text(state.state_id) for state in states]
    if kind == "Dfa":
        read.final = {_text(state.state_id) for state in states if state.is_accepting}
    if kind == "MooreMachine":
        read.shown = {_text(state.state_id): _text(state.output) for state in states}
    for state in states:
        outputs = state.output_fun if kind == "MealyMachine" else {}
        for letter, target in state.transitions.items():
            out = _text(outputs[letter]) if kind == "MealyMachine" else None
            read.add(_text(state.state_id), _text(letter), _text(target.state_id), out)
    return read


def _pyformlang(given: Any) -> Arrows:
    """ε-NFAs and their kinds, which list (state, symbol, state)."""
    read = Arrows(starts=_sorted(state.value for state in given.start_states))
    read.final = set(_sorted(state.value for state in given.final_states))
    read.states = _sorted(state.value for state in given.states)
    for source, letter, target in given:
        silent = type(letter).__name__ == "Epsilon"
        read.add(_text(source.value), None if silent else _text(letter.value), _text(target.value))
    return read


def _pandas(given: Any) -> Arrows:
    """A table with states as its index and letters as its columns."""
    rows = [["", *map(str, _listed(given.columns))]]
    for state, cells in zip(_listed(given.index), given.itertuples(index=False), strict=True):
        rows.append([str(state), *("" if cell != cell or cell is None else str(cell) for cell in cells)])
    return read_rows(rows)


def _networkx(given: Any) -> Arrows:
    """A directed graph whose edges have ``label``; nodes may have ``start``, ``accept`` or ``output``."""
    read, nodes = Arrows(), {_text(node): data for node, data in _listed(given.nodes(data=True))}
    read.states = list(nodes)
    read.starts = [node for node, data in nodes.items() if data.get("start") or data.get("is_start")]
    read.final = {
        node
        for node, data in nodes.items()
        if data.get("accept") or data.get("is_final") or str(data.get("peripheries")) == "2"
    }
    if nodes and all("output" in data for data in nodes.values()):
        read.final, read.shown = None, {node: _text(data["output"]) for node, data in nodes.items()}
    for source, target, data in given.edges(data=True):
        if "label" not in data:
            raise InvalidInput("edges of a graph must have label=, the letter that they read; one has none")
        read.add(_text(source), _text(data["label"]), _text(target))
    if not read.starts and nodes:
        read.starts = list(nodes)[:1]
        read.notes.append(f"no node has start=True: {read.starts[0]}, the first, is taken")
    return read
