"""How a user names an automaton: the object, a file, or a string (zoo name, ``regex:PATTERN``, path)."""

import os

from krohn.automata.files import load_automaton
from krohn.automata.regular import from_regex
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo
from krohn.errors import InvalidInput, KrohnError

AutomatonLike = Semiautomaton | str | os.PathLike[str]
"""What every public function accepts where it needs an automaton."""


def as_automaton(given: AutomatonLike) -> Semiautomaton:
    """The automaton itself, from an object, a name or a file."""
    if isinstance(given, Semiautomaton):
        return given
    if isinstance(given, str):
        return parse_spec(given)
    if isinstance(given, os.PathLike):
        return load_automaton(os.fspath(given))
    raise InvalidInput(f"an automaton must be a Semiautomaton, a name or a file; got {type(given).__name__}")


def parse_spec(text: str) -> Semiautomaton:
    """The automaton that ``text`` stands for: ``S4``, ``regex:(ab)*``, ``path/to/file.json``."""
    if text.startswith("regex:"):
        return from_regex(text.removeprefix("regex:"))
    if text.endswith(".json") or os.sep in text:
        return load_automaton(text)
    return zoo(text)


def true_name(automaton: Semiautomaton) -> str:
    """The automaton's name if it is a zoo name or a pattern that gives this very automaton; empty if not."""
    name = automaton.name
    if not name or name.endswith(".json") or os.sep in name.partition("regex:")[0]:
        return ""
    try:
        named = parse_spec(name)
    except KrohnError:
        return ""
    same = named.table.shape == automaton.table.shape and named.digest == automaton.digest
    return name if same else ""
