"""The holonomy cascade in the paper's form: permutation-reset components and dependency functions.

One component per class of image sets. Its state is the tile number while its class is on the chain, else 0;
leaving the chain is a reset to 0, which keeps the wiring tables small. The dependency function of a
component reads the states of the components above *before* the letter, and the letter (Definition "cascade
product"). Erratum 35: the group of a component acts on tiles, so it is a quotient of a subgroup of T(A), not
a subgroup.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from krohn.algebra.permgroup import PermutationGroup
from krohn.cascade.holonomy import Cascade, Coordinates, Update
from krohn.errors import LimitExceeded

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
    num_letters: int

    @property
    def num_levels(self) -> int:
        """Levels that occur."""
        return max((part.level for part in self.components), default=-1) + 1

    def apply(self, values: Tuple, letter: int) -> Tuple:
        """One step: the definition of the cascade product."""
        actions = self.moves[values, letter]
        return tuple(a if isinstance(a, int) else a[v] for a, v in zip(actions, values, strict=True))

    def run(self, word: Iterable[int]) -> list[int]:
        """States after each letter: the naive meaning of the cascade."""
        values, states = self.initial, []
        for letter in word:
            values = self.apply(values, letter)
            states.append(self.state[values])
        return states


def component_cascade(cascade: Cascade, max_tuples: int = MAX_TUPLES) -> ComponentCascade:
    """All reachable tuples of component states by breadth-first search from the start state."""
    explorer = _Explorer(cascade)
    start = explorer.tidy(cascade.initial)
    seen, queue = {start}, [start]
    moves: dict[tuple[Tuple, int], tuple[Update, ...]] = {}
    for place in queue:
        for letter in range(cascade.automaton.num_letters):
            after = explorer.tidy(cascade.step(place, letter))
            moves[explorer.values(place), letter] = explorer.actions(place, letter, after)
            if after not in seen:
                seen.add(after)
                queue.append(after)
        if len(seen) > max_tuples:
            raise LimitExceeded(
                f"method paper lists the reachable tuples of component states, at most {max_tuples}; "
                "there are more; use method cascade or scan"
            )
    initial = explorer.values(start)
    state = {explorer.values(place): cascade.state(place) for place in seen}
    components = _components(cascade, initial, moves)
    return _without_idle(ComponentCascade(components, initial, moves, state, cascade.automaton.num_letters))


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
        before, target, active = self.cascade.stages(place), self.cascade.stages(after), self.active(after)
        found: list[Update] = []
        for part in self.cascade.components:
            level = part.level
            if active[level] == part.number:
                found.append(self.cascade.update(before[level], letter, target[level]))
            else:
                found.append(0)
        return tuple(found)


def _components(
    cascade: Cascade, initial: Tuple, moves: dict[tuple[Tuple, int], tuple[Update, ...]]
) -> tuple[PermutationReset, ...]:
    return tuple(
        PermutationReset(part.level, len(part.tiles), initial[i], frozenset(row[i] for row in moves.values()))
        for i, part in enumerate(cascade.components)
    )


def _without_idle(whole: ComponentCascade) -> ComponentCascade:
    """Drops components whose state never changes, and levels that are empty then."""
    used = [i for i in range(len(whole.components)) if len({values[i] for values in whole.state}) > 1]
    levels = sorted({whole.components[i].level for i in used})

    def pick(values: Tuple) -> Tuple:
        return tuple(values[i] for i in used)

    components = tuple(
        PermutationReset(levels.index(p.level), p.states, p.initial, p.actions)
        for p in (whole.components[i] for i in used)
    )
    moves = {(pick(v), a): tuple(row[i] for i in used) for (v, a), row in whole.moves.items()}
    state = {pick(values): q for values, q in whole.state.items()}
    return ComponentCascade(components, pick(whole.initial), moves, state, whole.num_letters)
