"""How a user names an automaton (object, file, zoo name, ``regex:PATTERN``), and what it is asked for."""

import os
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

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
    """The automaton that ``text`` stands for: ``S4``, ``regex:(ab)*``, ``table:01.10``, ``to/file.json``."""
    if text.startswith("regex:"):
        return from_regex(text.removeprefix("regex:"))
    if text.startswith("table:"):
        return _from_table(text)
    if text.endswith(".json") or os.sep in text:
        return load_automaton(text)
    return zoo(text)


def _from_table(text: str) -> Semiautomaton:
    """A small automaton typed in place: a row for each state, in it a digit for each letter, its target."""
    rows = text.removeprefix("table:").split(".")
    targets = [[int(digit) if digit in "0123456789" else -1 for digit in row] for row in rows]
    widths = {len(row) for row in rows}
    named = all(0 <= q < len(rows) for row in targets for q in row)
    if len(rows) > 10 or len(widths) > 1 or 0 in widths or not named:
        raise InvalidInput(
            "table:ROWS must have a row for each of at most 10 states and in it a digit for each letter, the "
            f"state that it leads to (table:01.10 is parity); got {text[:60]!r} with {len(rows)} rows"
        )
    return Semiautomaton(np.array(targets), 0, name=text)


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


# An automaton that is asked for what it shows: acceptance of a regex, the walls of a grid.


Target = Literal["state", "observation"]


@dataclass(frozen=True, eq=False, repr=False)
class Observed(Semiautomaton):
    """The same automaton, of which a network outputs φ(q) instead of q; it must have an observation map."""

    @property
    def target(self) -> Target:
        """What a network of it outputs."""
        return "observation"

    @property
    def outputs(self) -> tuple[int, ...]:
        """φ(q) for every state."""
        assert self.observe is not None
        return self.observe

    @property
    def output_names(self) -> tuple[str, ...]:
        """Observations are numbers."""
        return tuple(map(str, range(self.num_observations)))


def asked(automaton: Semiautomaton, target: Target) -> Semiautomaton:
    """The automaton, asked for its states or for its observation."""
    if target == automaton.target:
        return automaton
    if automaton.observe is None:
        raise InvalidInput(
            "target observation needs an automaton that shows something: a regex, a name with @, a file with "
            "observe; or take target state"
        )
    kind = Observed if target == "observation" else Semiautomaton
    return kind(**{field.name: getattr(automaton, field.name) for field in fields(Semiautomaton)})
