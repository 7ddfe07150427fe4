"""How many layers: an upper bound by a plan that works for every length, a lower bound by a witness."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from krohn.algebra.varieties import varieties
from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.compiling import SOURCES, proposals
from krohn.construct.request import DEFAULT_EFFORT, MAX_LENGTH, Request
from krohn.depth.block_scheme import BlockScheme
from krohn.depth.block_search import find_block_scheme
from krohn.errors import LimitExceeded, Unsupported

LONG = MAX_LENGTH
"""A length at which a scan is never the shallowest."""
MOST_STATES = 200


@dataclass(frozen=True)
class DepthBounds:
    """``lower ≤ depth ≤ upper``; ``upper`` is ``None`` where no plan of constant depth is known."""

    upper: int | None
    lower: int
    witness: BlockScheme | None

    @property
    def optimal(self) -> bool:
        """Whether the bounds meet."""
        return self.upper == self.lower

    def __str__(self) -> str:
        if self.optimal:
            return f"{self.upper}, optimal"
        if self.upper is None:
            return f"no constant depth known, ≥ {self.lower}"
        return f"≤ {self.upper}, ≥ {self.lower}"

    def to_json(self, letter_names: tuple[str, ...]) -> dict[str, Any]:
        """The keys that analyze shows."""
        witness = None if self.witness is None else self.witness.to_json(letter_names)
        return {"upper": self.upper, "lower": self.lower, "optimal": self.optimal, "witness": witness}


def bounded(automaton: Semiautomaton, upper: int | None) -> DepthBounds:
    """The bounds around a depth that a network has: at least one layer, unless it is known to need none."""
    witness = None if upper in (0, 1) else find_block_scheme(automaton)
    return DepthBounds(upper, 0 if upper == 0 else 1 if witness is None else 2, witness)


def depth_bounds(
    automaton: Semiautomaton, effort: float = DEFAULT_EFFORT, *, solvable: bool = True
) -> DepthBounds:
    """The bounds of an automaton: the shallowest plan that does not depend on the length, and a witness.

    Where a group of the automaton is known not to be solvable, no such plan is looked for: there is none.
    """
    return bounded(automaton, _constant_depth(automaton, effort) if solvable else None)


def _constant_depth(automaton: Semiautomaton, effort: float) -> int | None:
    if automaton.num_states > MOST_STATES:
        return None
    request = Request(automaton, LONG, effort=effort)
    lasting = tuple(source for source in SOURCES if source.name != "scan")
    try:
        return min(plan.layers for plan in proposals(request, request.work(), lasting))
    except (Unsupported, LimitExceeded):
        return None


# The atlas: small automata with their classes and what is known of the layers they need.


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
