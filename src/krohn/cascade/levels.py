"""One level of a cascade as networks need it: stage sets, actions, classes with their counters.

A level sees three small numbers: the stage set before the letter, the letter, and the stage set after it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from krohn.algebra.counters import CounterTower, counter_tower
from krohn.algebra.transformation import identity
from krohn.cascade.holonomy import Cascade, Update
from krohn.cascade.skeleton import Permutation

Triple = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class CascadeLevel:
    """One level: every (set before, letter, set after) that can occur and what it does to the coordinate.

    The letter ``num_letters`` is the beginning of the sequence, which resets to the initial coordinate.
    An action is a reset (int), a permutation of tiles, or ``None`` where the level is inactive.
    """

    number: int
    cascade: Cascade
    triples: dict[Triple, Update | None]
    start: int
    initial: int

    @cached_property
    def num_tiles(self) -> int:
        """The number of values of the coordinate."""
        return self.cascade.sizes[self.number]

    def tiles(self, stage: int) -> tuple[int, ...]:
        """The tiles of a stage set that is active at this level, () for any other."""
        frame = self.cascade.skeleton
        return frame.tiles[stage] if frame.depth[stage] == self.number else ()

    @cached_property
    def has_resets(self) -> bool:
        """Whether some letter resets the coordinate."""
        return any(isinstance(action, int) and a != self.bos for (_, a, _), action in self.triples.items())

    @cached_property
    def reached(self) -> frozenset[int]:
        """The values the coordinate can take, from its initial value on."""
        values = [self.initial]
        for x in values:
            after = {self.after(action, x) for action in self.triples.values()}
            values += [y for y in after if y is not None and y not in values]
        return frozenset(values)

    @property
    def is_constant(self) -> bool:
        """Whether the coordinate can never leave its initial value."""
        return len(self.reached) == 1

    def after(self, action: Update | None, value: int) -> int | None:
        """The coordinate after an action; ``None`` where it is not defined."""
        if action is None or isinstance(action, int):
            return action
        return action[value] if value < len(action) else None

    @cached_property
    def needs_before(self) -> bool:
        """Whether the action depends on the stage set before the letter, beyond letter and set after it."""
        seen: dict[tuple[int, int], Update | None] = {}
        return any(
            seen.setdefault((letter, after), action) != action
            for (_, letter, after), action in self.triples.items()
        )

    @cached_property
    def moves(self) -> dict[int, set[Permutation]]:
        """Class number → the permutations of its tiles, for the classes whose tiles are actually permuted."""
        result: dict[int, set[Permutation]] = {}
        for (_, _, after), action in self.triples.items():
            if isinstance(action, tuple) and action != identity(len(action)):
                result.setdefault(self.cascade.skeleton.class_of[after], set()).add(action)
        return dict(sorted(result.items()))

    @cached_property
    def towers(self) -> dict[int, CounterTower]:
        """Class number → the counters of its group."""
        return {number: counter_tower(sorted(m), len(next(iter(m)))) for number, m in self.moves.items()}

    @cached_property
    def clock(self) -> Permutation | None:
        """The common action of all letters but resets, if there is one: then the position counts."""
        active = {stage for _, _, stage in self.triples if self.tiles(stage)}
        actions = {action for action in self.triples.values() if isinstance(action, tuple)}
        same = len(actions) == 1 and all(self.kind(stage) == 1 for stage in active)
        return next(iter(actions)) if same and self.has_resets and self.towers else None

    def kind(self, stage: int) -> int:
        """0 where the coordinate is stored directly, c + 1 in the c-th class that has counters."""
        if not self.tiles(stage):
            return 0
        number = self.cascade.skeleton.class_of[stage]
        return 1 + list(self.towers).index(number) if number in self.towers else 0

    def move(self, number: int, after: int, action: Update | None) -> Permutation:
        """What an action adds to the counters of a class: its permutation of that class, else 1."""
        if isinstance(action, tuple) and self.cascade.skeleton.class_of[after] == number:
            return action
        return identity(self.towers[number].degree)

    @property
    def bos(self) -> int:
        """The letter that stands for the beginning of the sequence."""
        return self.cascade.automaton.num_letters

    def below(self, triple: Triple) -> Iterable[tuple[int, int]]:
        """The pairs of stage sets one level down."""
        before, _, after = triple
        action = self.triples[triple]
        tiles, goal = self.tiles(before), self.tiles(after)
        here = [x for x in range(len(tiles)) if x in self.reached]
        if isinstance(action, tuple):
            return ((tiles[x], goal[action[x]]) for x in here)
        target = after if action is None else goal[action]
        return ((source, target) for source in ([tiles[x] for x in here] if tiles else [before]))


@lru_cache(maxsize=4)  # a plan is written twice, with and without lags
def cascade_levels(cascade: Cascade, state: int) -> tuple[CascadeLevel, ...]:
    """The levels from the top, started in a state; only what can follow from the levels above is listed."""
    coordinates, depth = cascade.coordinates(state), cascade.skeleton.depth
    letters = cascade.automaton.num_letters
    triples: set[Triple] = {(0, letter, 0) for letter in range(letters)}
    levels = []
    stages = cascade.stages(coordinates)
    for level in range(cascade.num_levels):
        start, initial = stages[level], coordinates[level]
        actions = {
            (before, letter, after): cascade.update(before, letter, after) if depth[after] == level else None
            for before, letter, after in sorted(triples)
        }
        # The beginning of the sequence writes the initial coordinate, whether or not it is read.
        actions[start, letters, start] = initial if depth[start] == level else None
        result = CascadeLevel(level, cascade, actions, start, initial)
        levels.append(result)
        triples = {
            (before, triple[1], after)
            for triple in actions
            if triple[1] < letters
            for before, after in result.below(triple)
        }
    return tuple(levels)
