"""The atlas: small automata with their classes and what is known of the layers they need."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from krohn.algebra.varieties import varieties
from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.depth_bounds import DepthBounds, depth_bounds


@dataclass(frozen=True)
class AtlasEntry:
    """One small automaton with its class and the bounds on its depth."""

    automaton: Semiautomaton
    classes: tuple[str, ...]
    depth: DepthBounds

    def to_json(self) -> dict[str, Any]:
        """``depth`` is the upper bound; states are rows of the table, state 0 is the start."""
        bounds = self.depth.to_json(self.automaton.letter_names)
        return {
            "table": self.automaton.table.tolist(),
            "classes": list(self.classes),
            "depth": bounds["upper"],
            "lower": bounds["lower"],
            "optimal": bounds["optimal"],
            "witness": bounds["witness"],
        }


def atlas(automata: Iterable[Semiautomaton], effort: float) -> Iterator[AtlasEntry]:
    """Entries in the order of the automata."""
    for automaton in automata:
        yield AtlasEntry(automaton, varieties(automaton), depth_bounds(automaton, effort))
