"""Automata in files: JSON, version 1, or JFLAP's .jff; every defect is named, writes are atomic."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from krohn.automata.jflap import MAX_JFF_BYTES, jff_text, parse_jff
from krohn.automata.semiautomaton import MAX_OBSERVATION, Semiautomaton, is_name
from krohn.automata.sizes import check_size
from krohn.base.files import read_bytes, read_json, short, shown, write_json, write_text
from krohn.errors import InvalidAutomaton, LimitExceeded

VERSION = 1
MAX_BYTES = 32_000_000
_REQUIRED = ("krohn", "letters", "states", "start", "next")
_OPTIONAL = ("observe", "observations")
"""What is observed of each state, a number or a name; all names, if they are not those in that order."""


def load_automaton(path: str | Path) -> Semiautomaton:
    """The automaton stored in the file: JSON, or JFLAP's format if the name ends in .jff."""
    stem = Path(path).stem.encode(errors="surrogateescape").decode(errors="replace")  # any bytes, as text
    jff = Path(path).suffix == ".jff"
    held: Any = read_bytes(path, MAX_JFF_BYTES) if jff else read_json(path, max_bytes=MAX_BYTES)
    try:
        return (parse_jff if jff else automaton_from_payload)(held, name=stem)
    except (InvalidAutomaton, LimitExceeded) as error:
        raise type(error)(f"{short(path)}: {error}") from error


def dump_automaton(automaton: Semiautomaton, path: str | Path) -> None:
    """Writes the automaton to the file, whole or not at all; refuses what could not be read back.

    A name ending in .jff selects JFLAP's format, any other JSON.
    """
    if Path(path).suffix == ".jff":
        write_text(Path(path), jff_text(automaton))
        return
    payload = automaton_payload(automaton)
    for kind in ("state", "letter"):
        _names(kind, payload[f"{kind}s"])
    write_json(Path(path), payload)


def automaton_payload(automaton: Semiautomaton) -> dict[str, Any]:
    """The automaton as JSON data, version 1."""
    states, letters = automaton.state_names, automaton.letter_names
    payload: dict[str, Any] = {
        "krohn": VERSION,
        "letters": list(letters),
        "states": list(states),
        "start": states[automaton.start],
        "next": {
            states[state]: {letter: states[target] for letter, target in zip(letters, row, strict=True)}
            for state, row in enumerate(automaton.table.tolist())
        },
    }
    if automaton.observe is not None:
        named = automaton.observation_names
        shown = automaton.observed if named else automaton.observe
        payload["observe"] = dict(zip(states, shown, strict=True))
        if named and named != tuple(dict.fromkeys(shown)):
            payload["observations"] = list(named)
    return payload


def automaton_from_payload(payload: Any, name: str = "") -> Semiautomaton:
    """Reads JSON data of version 1; every error says what is wrong and where."""
    if not isinstance(payload, dict):
        raise InvalidAutomaton(f"an automaton must be a JSON object; got {_kind(payload)}")
    missing = [key for key in _REQUIRED if key not in payload]
    unknown = [key for key in payload if key not in (*_REQUIRED, *_OPTIONAL)]
    if missing or unknown:
        wrong = f"{missing[0]!r} is missing" if missing else f"{unknown[0]!r} is not one of them"
        raise InvalidAutomaton(f"the keys must be {', '.join(_REQUIRED)} and, if wanted, observe; {wrong}")
    if "observations" in payload and "observe" not in payload:
        raise InvalidAutomaton("'observations' lists the names of what 'observe' gives; that is missing")
    if payload["krohn"] != VERSION or isinstance(payload["krohn"], bool):
        raise InvalidAutomaton(f"the version 'krohn' must be {VERSION}; got {shown(payload['krohn'])}")
    states = _names("state", payload["states"])
    letters = _names("letter", payload["letters"])
    check_size("the file's automaton", len(states), len(letters))
    if not isinstance(payload["start"], str) or payload["start"] not in states:
        raise InvalidAutomaton(f"'start' must be one of the states; got {shown(payload['start'])}")
    return Semiautomaton(
        _table(payload["next"], states, letters),
        start=states[payload["start"]],
        state_names=tuple(states),
        letter_names=tuple(letters),
        observe=_observations(payload["observe"], states) if "observe" in payload else None,
        observation_names=tuple(_names("observation", payload["observations"]))
        if "observations" in payload
        else (),
        name=name,
    )


def _names(kind: str, names: Any) -> dict[str, int]:
    if not isinstance(names, list) or not names:
        raise InvalidAutomaton(f"'{kind}s' must be a list of at least one name; got {shown(names)}")
    place: dict[str, int] = {}
    for index, name in enumerate(names):
        if not is_name(name):
            raise InvalidAutomaton(
                f"a {kind} name must be a printable string without spaces; got {shown(name)}"
            )
        if name in place:
            raise InvalidAutomaton(f"{kind} names must be distinct; {shown(name)} appears twice")
        place[name] = index
    return place


def _table(rows: Any, states: dict[str, int], letters: dict[str, int]) -> np.ndarray:
    _check_keys("'next'", rows, "state", states)
    table = np.zeros((len(states), len(letters)), dtype=np.int32)
    for state, index in states.items():
        row = rows[state]
        _check_keys(f"'next' of state {shown(state)}", row, "letter", letters)
        for letter, column in letters.items():
            target = row[letter]
            if not isinstance(target, str) or target not in states:
                raise InvalidAutomaton(
                    f"state {shown(state)}, letter {shown(letter)} must lead to one of the states; "
                    f"got {shown(target)}"
                )
            table[index, column] = states[target]
    return table


def _observations(values: Any, states: dict[str, int]) -> tuple[Any, ...]:
    _check_keys("'observe'", values, "state", states)
    for state in states:
        value = values[state]
        number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_OBSERVATION
        if not number and not is_name(value):
            raise InvalidAutomaton(
                f"the observation of state {shown(state)} must be an integer in [0, {MAX_OBSERVATION}] or a "
                f"name, a printable string without spaces; got {shown(value)}"
            )
    return tuple(values[state] for state in states)


def _check_keys(where: str, mapping: Any, kind: str, names: Iterable[str]) -> None:
    if not isinstance(mapping, dict):
        raise InvalidAutomaton(f"{where} must be an object with one entry per {kind}; got {_kind(mapping)}")
    for name in names:
        if name not in mapping:
            raise InvalidAutomaton(f"{where} must have an entry for {kind} {shown(name)}; it is missing")
    known = set(names)
    for key in mapping:
        if key not in known:
            raise InvalidAutomaton(f"{where} names {kind} {shown(key)}, which is not in the list '{kind}s'")


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return kinds.get(type(value), "a number")
