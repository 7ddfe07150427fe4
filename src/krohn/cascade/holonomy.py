"""The holonomy cascade: an automaton as a cascade of permutation-reset components, one row per level.

``covering`` proves that it covers the automaton, and shares nothing with what is built here.

Data model. A *chain* Q > P₁ > P₂ > … > {q} takes a tile at every step. The coordinate of level d is the
number of the tile taken at the chain's set of depth d; a level that the chain jumps over is *inactive*
and its coordinate may be anything (0 by convention). The *stage set* of level d is the first set of the
chain with depth ≥ d: it is decided by the coordinates above d, and it is active when its depth is d.

Transition by a letter a, top-down, with P the stage set before and P′ the stage set after the letter at
level d (the invariant is P·a ⊆ P′):

* depth(P′) ≠ d: the level is inactive after the letter; the coordinate is kept and never read;
* P·a = P′: ``update(P, a, P′)`` is a permutation of tile numbers (P and P′ are then in one class);
* else: ``update(P, a, P′)`` is a reset, to a tile of P′ that contains P·a.

So the dependency function of a level is keyed by three small numbers (P, a, P′) and never by the tuple
of all coordinates above, which is what makes the cascade small. All sets are numbers of
``cascade.skeleton``; tile number i of a set P is ``cascade.skeleton.tiles[P][i]``. A network runs a level as
stage sets, actions, and classes with their counters (``levels``).

Cost: a class costs one layer per section of its group's derived series (a modular counter each) and one more
if it is ever reset (a memory look-up); a level costs as much as its dearest class.
"""

from dataclasses import InitVar, dataclass, field
from functools import cached_property
from itertools import groupby

from krohn.algebra.permgroup import PermutationGroup
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import Budget, unlimited
from krohn.cascade.covering import CoveringReport, check_covering
from krohn.cascade.image_sets import DEFAULT_MAX_SETS
from krohn.cascade.skeleton import Permutation, SetClass, Skeleton, skeleton
from krohn.errors import InvalidInput

# A class whose group is not solvable has no plan of constant depth; it is ranked last.
UNSOLVABLE_LAYERS = 1000


def derived_length(group: PermutationGroup) -> int:
    """Sections of the derived series; ``UNSOLVABLE_LAYERS`` where it does not reach the trivial group."""
    if group.is_abelian:
        return 0 if group.is_trivial else 1
    series = group.compact.derived_series
    return len(series) - 1 if series[-1].is_trivial else UNSOLVABLE_LAYERS


# A reset to tile number ``int``, or a permutation: tile i becomes tile ``update[i]``.
Update = int | Permutation
Coordinates = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Cascade:
    """A cascade that covers ``skeleton.automaton``; the covering is checked at construction.

    Attributes:
        skeleton: image sets, classes, tiles and depths.
        covering: the report of the exact check over all chains, states and letters.
    """

    skeleton: Skeleton
    budget: InitVar[Budget | None] = None
    covering: CoveringReport = field(init=False)
    _over: dict[tuple[int, int], int] = field(init=False, repr=False, default_factory=dict)
    _moves: dict[tuple[int, int], Permutation] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self, budget: Budget | None) -> None:
        object.__setattr__(self, "covering", check_covering(self, budget=budget))
        if not self.covering.holds:  # not an assert statement: the proof must not be optimised away
            raise AssertionError(f"a cascade must cover its automaton: {self.covering.fault}")

    @property
    def automaton(self) -> Semiautomaton:
        """The automaton that is covered."""
        return self.skeleton.automaton

    @cached_property
    def is_reset(self) -> tuple[bool, ...]:
        """For each component whether some letter resets it, over all chains: the check has seen them all."""
        reset = {self.skeleton.class_of[target] for target in self.covering.reset_sets}
        return tuple(part.number in reset for part in self.components)

    @property
    def num_levels(self) -> int:
        """How many levels the cascade has."""
        return self.skeleton.num_levels

    @property
    def components(self) -> tuple[SetClass, ...]:
        """The permutation-reset components, by level."""
        return self.skeleton.classes

    @cached_property
    def is_solvable(self) -> bool:
        """Whether every component's group is solvable (Definition of a solvable semiautomaton)."""
        return all(part.group.is_solvable for part in self.components)

    @cached_property
    def costs(self) -> tuple[int, ...]:
        """Layers of each component: the derived length of its group, and one more if it is reset."""
        return tuple(derived_length(part.group) + self.is_reset[part.number] for part in self.components)

    @cached_property
    def layers(self) -> int:
        """Layers of all levels, each as many as its dearest component takes."""
        priced = zip(self.components, self.costs, strict=True)
        rows = groupby(priced, key=lambda pair: pair[0].level)
        return sum(max(1, *(cost for _, cost in row)) for _, row in rows)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each level's coordinate: the largest number of tiles of a component there."""
        rows = groupby(self.components, key=lambda part: part.level)
        return tuple(max(len(part.tiles) for part in row) for _, row in rows)

    def update(self, source: int, letter: int, target: int) -> Update:
        """The action on the coordinate of level depth(target): a permutation of tiles or a reset."""
        image = self.skeleton.images[letter][source]
        if image != target:
            return self._tile_over(image, target)
        if (source, letter) not in self._moves:
            row, goal = self.skeleton.images[letter], self.skeleton.tiles[target]
            place = dict(zip(goal, range(len(goal)), strict=True)).__getitem__
            self._moves[source, letter] = tuple(map(place, map(row.__getitem__, self.skeleton.tiles[source])))
        return self._moves[source, letter]

    def _tile_over(self, inner: int, outer: int) -> int:
        """Number of the smallest tile of ``outer`` that contains ``inner``: the exact tile if it is one."""
        if (inner, outer) not in self._over:
            tiles = self.skeleton.tiles[outer]
            self._over[inner, outer] = tiles.index(inner) if inner in tiles else self._cover(inner, tiles)
        return self._over[inner, outer]

    def _cover(self, inner: int, tiles: Permutation) -> int:
        masks = self.skeleton.masks
        mask = masks[inner]
        # Tiles are listed by decreasing size in representatives only, so sizes are compared.
        inside = [number for number, tile in enumerate(tiles) if not mask & ~masks[tile]]
        return min(inside, key=lambda number: masks[tiles[number]].bit_count())

    def coordinates(self, state: int) -> Coordinates:
        """The coordinates of a state: at every set of the chain the smallest tile that holds the state."""
        if not 0 <= state < self.automaton.num_states:
            raise InvalidInput(f"a state must lie in [0, {self.automaton.num_states}); got {state}")
        frame = self.skeleton
        values = [0] * self.num_levels
        goal, current = frame.singleton(state), 0
        while current != goal:
            tile = self._cover(goal, frame.tiles[current])
            values[frame.depth[current]] = tile
            current = frame.tiles[current][tile]
        return tuple(values)

    @cached_property
    def initial(self) -> Coordinates:
        """The coordinates of the start state."""
        return self.coordinates(self.automaton.start)

    def chain(self, coordinates: Coordinates) -> list[int]:
        """The sets Q > P₁ > … > {q} that the coordinates name."""
        if len(coordinates) != self.num_levels:
            raise InvalidInput(
                f"there must be one coordinate per level, {self.num_levels}; got {len(coordinates)}"
            )
        frame = self.skeleton
        chain = [0]
        while frame.tiles[chain[-1]]:
            current = chain[-1]
            value = coordinates[frame.depth[current]]
            if not 0 <= value < len(frame.tiles[current]):
                raise InvalidInput(
                    f"the coordinate of level {frame.depth[current]} must lie in "
                    f"[0, {len(frame.tiles[current])}) here; got {value}"
                )
            chain.append(frame.tiles[current][value])
        return chain

    def stages(self, coordinates: Coordinates) -> list[int]:
        """The stage set of every level: the first set of the chain that is at least that deep."""
        chain = iter(self.chain(coordinates))
        current = next(chain)
        stages = []
        for level in range(self.num_levels):
            while self.skeleton.depth[current] < level:
                current = next(chain)
            stages.append(current)
        return stages

    def state(self, coordinates: Coordinates) -> int:
        """The covering map: the state that the coordinates stand for."""
        return self.skeleton.masks[self.chain(coordinates)[-1]].bit_length() - 1

    def changes(self, coordinates: Coordinates, letter: int) -> list[Update | None]:
        """What a letter does to each level, from the top; ``None`` where the level is inactive after it."""
        if not 0 <= letter < self.automaton.num_letters:
            raise InvalidInput(f"a letter must lie in [0, {self.automaton.num_letters}); got {letter}")
        frame = self.skeleton
        result: list[Update | None] = []
        target = 0
        for level, source in enumerate(self.stages(coordinates)):
            change = self.update(source, letter, target) if frame.depth[target] == level else None
            if change is not None:
                value = change if isinstance(change, int) else change[coordinates[level]]
                target = frame.tiles[target][value]
            result.append(change)
        return result

    def step(self, coordinates: Coordinates, letter: int) -> Coordinates:
        """The coordinates after one letter."""
        changes = zip(self.changes(coordinates, letter), coordinates, strict=True)
        return tuple(
            value if change is None else change if isinstance(change, int) else change[value]
            for change, value in changes
        )


_LAST = 8
_MOST_CACHED = 2_000
_cache: dict[tuple[Semiautomaton, str, str], tuple[Cascade, int]] = {}
"""The ``_LAST`` cascades of at most ``_MOST_CACHED`` sets, with the units of work that each took."""


def holonomy_cascade(
    automaton: Semiautomaton, *, max_sets: int = DEFAULT_MAX_SETS, budget: Budget | None = None
) -> Cascade:
    """The plain holonomy decomposition, its covering proved.

    The last few are cached. A cached cascade costs the budget as many units as computing it did, so no result
    depends on earlier calls.
    """
    budget = unlimited() if budget is None else budget
    key = automaton, automaton.name, automaton.target  # equal automata may have several names
    cascade, units = _cache.pop(key, (None, 0))
    if cascade is not None and cascade.skeleton.num_sets <= max_sets and units <= budget.left:
        budget.spend(units)
    else:
        before = budget.done
        cascade = Cascade(skeleton(automaton, max_sets=max_sets, budget=budget), budget)
        units = budget.done - before
    if cascade.skeleton.num_sets <= _MOST_CACHED:
        _cache[key] = cascade, units
        for oldest in list(_cache)[:-_LAST]:  # another thread may have dropped it already
            _cache.pop(oldest, None)
    return cascade
