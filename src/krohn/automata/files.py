"""Automata in files: JSON, version 1, and formats of other programs; defects are named, writes are atomic."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from krohn.automata.quotients import difference_word, forget_observation
from krohn.automata.reading.arrows import Arrows, build, finish
from krohn.automata.reading.att import TABLES, read_att, read_att_lines, read_symbols
from krohn.automata.reading.dot import read_dot
from krohn.automata.reading.hoa import read_hoa
from krohn.automata.reading.jflap import jff_text, read_jff
from krohn.automata.reading.kiss2 import read_kiss2
from krohn.automata.reading.tables import read_table
from krohn.automata.reading.written import att_text, dot_text
from krohn.automata.semiautomaton import MAX_OBSERVATION, Semiautomaton, is_name
from krohn.automata.sizes import check_size
from krohn.base.files import read_bytes, read_json, short, shown, write_json, write_text
from krohn.errors import InvalidAutomaton, InvalidInput, LimitExceeded

VERSION = 1
MAX_BYTES, MAX_TEXT = 32_000_000, 16_000_000
READERS: dict[str, Callable[[str], Arrows]] = {
    **dict.fromkeys((".att", ".fst"), read_att),
    **dict.fromkeys((".dot", ".gv"), read_dot),
    **dict.fromkeys((".kiss2", ".kiss"), read_kiss2),
    ".hoa": read_hoa,
    **dict.fromkeys((".csv", ".tsv"), read_table),
}
"""Formats of text by their extensions."""
FILES = (".json", ".jff", *READERS, ".txt")
"""Extensions that mark a string as a file name."""
KNOWN = (
    "a machine must be a file of AT&T or OpenFst (.att .fst .txt), Graphviz (.dot), KISS2 (.kiss2), "
    "HOA (.hoa), a table (.csv .tsv), JFLAP (.jff) or JSON (.json)"
)
_REQUIRED = ("krohn", "letters", "states", "start", "next")
_OPTIONAL = ("observe", "observations", "characters")
"""What is observed of each state, a number or a name; all names, if they are not those in that order;
the codes of the characters that each letter stands for, first and last of each run."""


def load_automaton(path: str | Path, *, outputs: bool = True) -> Semiautomaton:
    """The automaton stored in the file, in the format of its extension, or if that says none of its content.

    Machines of other programs are made deterministic and complete, and lose states that no word reaches; what
    was changed is said. Without ``outputs`` a machine of Mealy keeps its states and shows nothing.
    """
    stem = Path(path).stem.encode(errors="surrogateescape").decode(errors="replace")  # any bytes, as text
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        held = read_json(path, max_bytes=MAX_BYTES)
        with _about(path):
            result = automaton_from_payload(held, name=stem)
        return result if outputs else forget_observation(result)
    data = read_bytes(path, MAX_TEXT)
    with _about(path):
        return finish(read_machine(data, suffix, Path(path)), stem, outputs=outputs)


@contextmanager
def _about(path: str | Path) -> Iterator[None]:
    """Errors name the file."""
    try:
        yield
    except (InvalidAutomaton, LimitExceeded) as error:
        raise type(error)(f"{short(path)}: {error}") from error


def read_machine(data: bytes, suffix: str = "", path: Path | None = None) -> Arrows:
    """The arrows in a file's bytes; tables of symbols are looked for beside its path."""
    if suffix == ".jff" or (suffix not in READERS and data.lstrip()[:1] == b"<"):
        return read_jff(data)
    if b"\0" in data:
        raise InvalidAutomaton("a machine must be text; this holds zero bytes: print OpenFst's by fstprint")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidAutomaton(f"a file must be UTF-8 text; byte {error.start + 1:,} is not") from error
    reader = READERS.get(suffix) or _by_content(text)
    if reader is not read_att:
        return reader(text)
    doubt = []
    if suffix not in READERS:
        _require_att(text)
        doubt = ["taken for AT&T's text, by its lines"]
    if path is None:
        return _doubted(read_att(text), doubt)
    tables = {}
    for ending in TABLES:
        place = path.with_suffix(ending)
        if place.exists():
            tables[ending] = read_symbols(read_bytes(place, MAX_TEXT).decode(errors="replace"))
    both = tables.get(".syms")
    return _doubted(read_att(text, tables.get(".isyms", both), tables.get(".osyms", both)), doubt)


def _require_att(text: str) -> None:
    """Refuses a text of no known ending that may be anything: three words on a line make no machine."""
    arrows, ends = read_att_lines(text)
    if all(source.isdigit() and target.isdigit() for source, target in arrows):
        return
    states = {state for arrow in arrows for state in arrow}
    if not ends or not states.issuperset(ends):
        raise InvalidAutomaton(
            f"{KNOWN}; this may be AT&T's text, but its states are no numbers and no line is a final state: "
            "if it is, call it .att"
        )


def _doubted(read: Arrows, notes: list[str]) -> Arrows:
    read.notes[:0] = notes
    return read


def _by_content(text: str) -> Callable[[str], Arrows]:
    """The reader of a text whose file has another extension."""
    start = text[:65_536].lstrip()
    signs = {r"HOA:": read_hoa, r"(strict\s+)?digraph\b": read_dot, r"(#[^\n]*\s+)*\.[iosp]\s+\d": read_kiss2}
    for sign, reader in signs.items():
        if re.match(sign, start):
            return reader
    first = start.split("\n", 1)[0]
    if re.fullmatch(r"\S+\s+\S+\s+\S+(\s+\S+)?(\s+[-+.\de]+)?\s*", first):
        return read_att
    if "," in first or "\t" in first or ";" in first:
        return read_table
    raise InvalidAutomaton(f"{KNOWN}; this one begins with {shown(first)}")


def dump_automaton(automaton: Semiautomaton, path: str | Path) -> None:
    """Writes the automaton to the file, whole or not at all; refuses what could not be read back.

    The name's ending selects the format: .att, .dot or .jff, any other JSON.
    """
    place = Path(path)
    if place.suffix == ".jff":
        write_text(place, jff_text(automaton))
        return
    payload = automaton_payload(automaton)
    for kind in ("state", "letter"):
        _names(kind, payload[f"{kind}s"])
    if place.suffix not in {".att", ".dot"}:
        write_json(place, payload)
        return
    symbols = ""
    if place.suffix == ".dot":
        text = dot_text(automaton)
        read = read_dot(text)
    else:
        text, symbols = att_text(automaton)
        read = read_att(text, read_symbols(symbols) if symbols else None)
    _require_same(automaton, read, place.suffix)
    write_text(place, text)
    if symbols:
        write_text(place.with_suffix(TABLES[0]), symbols)


def _require_same(automaton: Semiautomaton, read: Arrows, suffix: str) -> None:
    """Refuses a text that is read as another automaton: a letter named ``a,b`` is two in Graphviz."""
    again, _ = build(read)
    finals = bool(automaton.observation_names) or any(automaton.observe or ())
    named = [(one.observed if finals else one.state_names) for one in (automaton, again)]
    same = set(again.letter_names) == set(automaton.letter_names)
    same = same and (not finals or len(again.observed) > 0)
    if not same or difference_word(automaton, again, *named, empty=not finals) is not None:
        raise InvalidInput(
            f"a {suffix} file cannot hold these names of letters or outputs; write .json, which keeps all"
        )


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
    if automaton.characters:
        payload["characters"] = dict(zip(letters, map(list, automaton.characters), strict=True))
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
        characters=_characters(payload["characters"], letters) if "characters" in payload else (),
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


def _characters(values: Any, letters: dict[str, int]) -> tuple[tuple[int, ...], ...]:
    _check_keys("'characters'", values, "letter", letters)
    for letter in letters:
        codes = values[letter]
        if not isinstance(codes, list) or not all(type(code) is int for code in codes):
            raise InvalidAutomaton(
                f"'characters' of letter {shown(letter)} must be a list of codes; got {shown(codes)}"
            )
    return tuple(tuple(values[letter]) for letter in letters)


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
