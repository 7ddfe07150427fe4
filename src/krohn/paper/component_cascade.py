"""The holonomy cascade in the paper's form: permutation-reset components and dependency functions.

One component per class of image sets. Its state is the tile number while its class is on the chain, else 0;
leaving the chain is a reset to 0, which keeps the wiring tables small. The dependency function of a
component reads the states of the components above *before* the letter, and the letter (Definition "cascade
product"). Erratum 35: the group of a component acts on tiles, so it is a quotient of a subgroup of T(A),
not a subgroup.
"""

from dataclasses import dataclass

from krohn.algebra.permgroup import PermutationGroup
from krohn.automata.graph import explore
from krohn.cascade.holonomy import Cascade, Coordinates, Update

Tuple = tuple[int, ...]
MAX_TUPLES = 50_000


@dataclass(frozen=True)
class PermutationReset:
    """Level from 0, number of tiles, actions that occur: permutations (tuples) and resets (integers)."""

    level: int
    states: int
    initial: int
    actions: frozenset[Update]

    @property
    def permutations(self) -> tuple[Tuple, ...]:
        """The permutations but the identity."""
        one = tuple(range(self.states))
        return tuple(sorted(a for a in self.actions if isinstance(a, tuple) and a != one))

    @property
    def group(self) -> PermutationGroup:
        """The group that the permutations generate on the tiles."""
        return PermutationGroup(self.permutations or (tuple(range(self.states)),), self.states)

    @property
    def has_resets(self) -> bool:
        """Whether a reset occurs."""
        return any(isinstance(a, int) for a in self.actions)


@dataclass(frozen=True)
class ComponentCascade:
    """Components in order of level; ``moves[(states before, letter)]`` = one action per component.

    ``state[states]`` is the state of the automaton (the paper's 𝒲). Only what can be reached is listed.
    """

    components: tuple[PermutationReset, ...]
    initial: Tuple
    moves: dict[tuple[Tuple, int], tuple[Update, ...]]
    state: dict[Tuple, int]

    @property
    def num_levels(self) -> int:
        """Levels that occur."""
        return max((part.level for part in self.components), default=-1) + 1


def component_cascade(cascade: Cascade, max_tuples: int = MAX_TUPLES) -> ComponentCascade:
    """All reachable tuples of component states by breadth-first search from the start state."""
    explorer = _Explorer(cascade)
    letters = range(cascade.automaton.num_letters)
    places, rows = explore(
        explorer.tidy(cascade.initial),
        lambda place: [explorer.tidy(cascade.step(place, letter)) for letter in letters],
        max_tuples,
        f"method paper lists the reachable tuples of component states, at most {max_tuples}; "
        "there are more; use method cascade or scan",
    )
    values = [explorer.values(place) for place in places]
    # Components whose state never changes are dropped, and levels left empty.
    used = [i for i, column in enumerate(zip(*values, strict=True)) if len(set(column)) > 1]
    values = [tuple(value[i] for i in used) for value in values]
    moves: dict[tuple[Tuple, int], tuple[Update, ...]] = {}
    for before, place, row in zip(values, places, rows, strict=True):
        for letter in letters:
            actions = explorer.actions(place, letter, places[row[letter]])
            moves[before, letter] = tuple(actions[i] for i in used)
    parts = [cascade.components[i] for i in used]
    levels = sorted({part.level for part in parts})
    components = tuple(
        PermutationReset(levels.index(part.level), len(part.tiles), first, frozenset(column))
        for part, first, column in zip(parts, values[0], zip(*moves.values(), strict=True), strict=True)
    )
    state = dict(zip(values, map(cascade.state, places), strict=True))
    return ComponentCascade(components, values[0], moves, state)


class _Explorer:
    """Translates level coordinates of the holonomy cascade into states of its classes."""

    def __init__(self, cascade: Cascade) -> None:
        self.cascade, self.frame = cascade, cascade.skeleton

    def active(self, place: Coordinates) -> list[int]:
        """Per level the class on the chain, −1 if the level is jumped over."""
        stages = self.cascade.stages(place)
        return [self.frame.class_of[s] if self.frame.depth[s] == d else -1 for d, s in enumerate(stages)]

    def tidy(self, place: Coordinates) -> Coordinates:
        """The same chain with 0 at the levels it jumps over."""
        return tuple(v if c >= 0 else 0 for v, c in zip(place, self.active(place), strict=True))

    def values(self, place: Coordinates) -> Tuple:
        """One state per class."""
        active = self.active(place)
        return tuple(
            place[part.level] if active[part.level] == part.number else 0 for part in self.cascade.components
        )

    def actions(self, place: Coordinates, letter: int, after: Coordinates) -> tuple[Update, ...]:
        """What the letter does to every class: a permutation or a reset."""
        changes, active = self.cascade.changes(place, letter), self.active(after)
        held = ((changes[part.level], active[part.level] == part.number) for part in self.cascade.components)
        return tuple(change if is_on and change is not None else 0 for change, is_on in held)
