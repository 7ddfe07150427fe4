"""The holonomy cascade: an automaton as a cascade of permutation-reset components, one row per level; and the
exact proof that it covers the automaton.

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
stage sets, actions, and classes with their counters (``cascade_levels``).
"""

from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Protocol

from krohn.algebra.permgroup import CounterTower, PermutationGroup, counter_tower
from krohn.algebra.transformation import identity
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import Budget, BudgetSpent, unlimited
from krohn.cascade.skeleton import DEFAULT_MAX_SETS, Permutation, SetClass, Skeleton, skeleton
from krohn.errors import InvalidInput, LimitExceeded

# The proof that a cascade covers its automaton: for every chain, every state and every letter.
#
# For one letter a, a pair (P, P′) stands for all pairs of chains that agree with it so far: P is the set
# reached in the chain before the letter, P′ in the chain after it. From (Q, Q) the check follows every
# choice of tile in P and what the cascade answers in P′, from the top level down, until P′ is a single state
# {q′}; then P·a = {q′} must hold, and so for every q of P. The pairs are finitely many, each is visited once,
# so the answer is exact: a chain of either side is a path of pairs.
# P·a ⊆ P′ is checked on the way, for a fault as high up as possible: tiles only shrink, so a state
# outside stays outside.
#
# Nothing here is shared with the builder: images are recomputed from the transition table, and the
# dependency function is only called.


MAX_PAIRS = 20_000_000
PAIR_COST = 5  # units of work per pair

Pair = tuple[int, int]


class CascadeLike(Protocol):
    """What the check needs: sets with tiles and depths, and the dependency function under test."""

    @property
    def skeleton(self) -> Skeleton:
        """The image sets, their tiles and levels."""

    def update(self, source: int, letter: int, target: int) -> int | tuple[int, ...]:
        """A reset to a tile, or a permutation of tiles."""


@dataclass(frozen=True, slots=True)
class CoveringReport:
    """What the check found.

    Attributes:
        holds: whether the cascade covers the automaton.
        num_pairs: how many (source set, target set, letter) triples were examined.
        fault: the first error, in words; empty when the covering holds.
        reset_sets: the target sets that some letter resets, over all chains.
    """

    holds: bool
    num_pairs: int
    fault: str = ""
    reset_sets: frozenset[int] = frozenset()


def check_covering(
    cascade: CascadeLike, *, max_pairs: int = MAX_PAIRS, budget: Budget | None = None
) -> CoveringReport:
    """Examines every triple; reports the first fault."""
    budget = unlimited() if budget is None else budget
    allowed = budget.pieces(PAIR_COST, max_pairs)
    try:
        report = _examine(cascade, allowed)
    except LimitExceeded:
        if allowed == max_pairs:
            raise
        budget.spend(allowed * PAIR_COST)
        raise BudgetSpent("the covering check takes more work than is left; raise --effort") from None
    budget.spend(min(report.num_pairs, allowed) * PAIR_COST)
    return report


def _examine(cascade: CascadeLike, max_pairs: int) -> CoveringReport:
    frame = cascade.skeleton
    fault = _chain_fault(frame)
    if fault:
        return CoveringReport(False, 0, fault)
    upwards = sorted(range(frame.num_sets), key=frame.depth.__getitem__, reverse=True)
    valid: set[tuple[int, ...]] = set()
    reset: set[int] = set()
    count = 0
    for letter in range(frame.automaton.num_letters):
        walk = _LetterWalk(cascade, letter, valid, reset)
        walk.find_images(upwards)
        fault = walk.first_fault(max_pairs - count)
        count += walk.num_pairs
        if fault:
            break
    return CoveringReport(not fault, count, fault, frozenset(reset))


def _chain_fault(frame: Skeleton) -> str:
    """Every chain must end, every state must be the end of one, and tiles must be deeper than their set."""
    masks, depth = frame.masks, frame.depth
    if masks[0] != (1 << frame.automaton.num_states) - 1:
        return "set 0 is not the set of all states"
    for number, tiles in enumerate(frame.tiles):
        mask, union = masks[number], 0
        if not tiles:
            if mask & (mask - 1) or not mask:
                return f"set {number} has {mask.bit_count()} states and no tile"
            continue
        for tile in tiles:
            union |= masks[tile]
            if depth[tile] <= depth[number]:
                return f"tile {tile} of set {number} is not deeper than its set"
        if union != mask:
            return f"the tiles of set {number} do not cover exactly its states"
    return ""


class _LetterWalk:
    """The walk over pairs for one letter."""

    def __init__(
        self, cascade: CascadeLike, letter: int, valid: set[tuple[int, ...]], reset: set[int]
    ) -> None:
        self.cascade, self.frame, self.letter = cascade, cascade.skeleton, letter
        self.valid = valid  # the permutations seen so far, of any degree
        self.reset = reset  # the sets that were the target of a reset so far
        self.images = [0] * self.frame.num_sets
        self.num_pairs = 0

    def find_images(self, upwards: Sequence[int]) -> None:
        """Masks of P·a from the transition table: of states first, then of unions of tiles."""
        frame, images = self.frame, self.images
        column = frame.automaton.letters[self.letter]
        masks, all_tiles = frame.masks, frame.tiles
        for number in upwards:
            tiles = all_tiles[number]
            if not tiles:
                images[number] = 1 << column[masks[number].bit_length() - 1]
                continue
            image = 0
            for tile in tiles:
                image |= images[tile]
            images[number] = image

    def first_fault(self, max_pairs: int) -> str:
        """The first pair at which the cascade and the automaton disagree, in words."""
        masks, tiles, images = self.frame.masks, self.frame.tiles, self.images
        depth = self.frame.depth
        update, letter = self.cascade.update, self.letter
        queue: list[Pair] = [(0, 0)]
        seen = {(0, 0)}
        for source, target in queue:
            goal = masks[target]
            if images[source] | goal != goal:
                return self._escape(source, target)
            outer = tiles[target]
            if not outer:
                continue  # P·a = {q′}: every state of P goes there, along any chain
            inner = tiles[source]
            below: Iterable[Pair] | str
            if inner and depth[source] < depth[target]:
                below = [(tile, target) for tile in inner]
            else:
                below = self._below(source, target, update(source, letter, target))
                if isinstance(below, str):
                    return below
            for following in below:
                if following not in seen:
                    seen.add(following)
                    queue.append(following)
            if len(seen) > max_pairs:
                raise LimitExceeded(
                    f"the covering check must examine at most {MAX_PAIRS} pairs of sets; more were reached; "
                    "lower --effort (effort= in Python) or reduce the automaton"
                )
        self.num_pairs = len(seen)
        return ""

    def _below(self, source: int, target: int, change: int | tuple[int, ...]) -> Iterable[Pair] | str:
        """The pairs after what the cascade answered, a reset or a permutation, or what is wrong with it."""
        inner, goal = self.frame.tiles[source], self.frame.tiles[target]
        if isinstance(change, int):
            if not 0 <= change < len(goal):
                return f"{self._at(source, target)}: reset to tile {change} of {len(goal)}"
            self.reset.add(target)
            return ((source, goal[change]),)
        if self.frame.depth[source] != self.frame.depth[target]:
            return f"{self._at(source, target)}: a permutation of a coordinate that is inactive before"
        known = change in self.valid or sorted(change) == list(range(len(change)))
        if not (known and len(change) == len(inner) == len(goal)):
            return f"{self._at(source, target)}: {change} is not a permutation of the tiles"
        self.valid.add(change)
        return zip(inner, map(goal.__getitem__, change), strict=True)

    def _at(self, source: int, target: int) -> str:
        name = self.frame.automaton.letter_names[self.letter]
        return f"letter {name}, source set {source}, target set {target}"

    def _escape(self, source: int, target: int) -> str:
        automaton = self.frame.automaton
        goal = self.frame.states(target)
        state = next(
            state for state in self.frame.states(source) if automaton.step(state, self.letter) not in goal
        )
        names = automaton.state_names
        after = names[automaton.step(state, self.letter)]
        return (
            f"{self._at(source, target)}: state {names[state]} goes to {after}, which is not in the target "
            f"set {{{', '.join(names[inner] for inner in goal)}}}"
        )


# The layers of a cascade: a class costs one layer per section of its group's derived series (a modular
# counter each) and one more if it is ever reset (a memory look-up); a level costs as much as its dearest.


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


def cascade_levels(cascade: Cascade, state: int) -> list[CascadeLevel]:
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
    return levels
