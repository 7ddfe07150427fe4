"""How a user names an automaton in one string: a zoo name, ``regex:PATTERN``, or a file."""

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo


def parse_spec(text: str) -> Semiautomaton:
    """The automaton that ``text`` stands for."""
    return zoo(text)
