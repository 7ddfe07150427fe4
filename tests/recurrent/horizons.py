"""The number in a horizon, for tests that compare lengths."""

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.recurrent.cells import Cell
from krohn.proving.recurrent import horizon_of


def certified_horizon(cell: Cell, automaton: Semiautomaton, dtype: str = "float32") -> int | None:
    """Length up to which every word is proved right; ``None`` if undecided."""
    result = horizon_of(cell, automaton, dtype)
    return None if result is None else result.length
