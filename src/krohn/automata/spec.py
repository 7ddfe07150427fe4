"""How a user names an automaton in one string: a zoo name, ``regex:PATTERN``, or a file."""

import os

from krohn.automata.files import load_automaton
from krohn.automata.regular import from_regex
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo


def parse_spec(text: str) -> Semiautomaton:
    """The automaton that ``text`` stands for: ``S4``, ``regex:(ab)*``, ``path/to/file.json``."""
    if text.startswith("regex:"):
        return from_regex(text.removeprefix("regex:"))
    if text.endswith(".json") or os.sep in text:
        return load_automaton(text)
    return zoo(text)
