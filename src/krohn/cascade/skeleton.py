"""The skeleton of an automaton: classes of image sets, their tiles, depths and holonomy generators.

Two image sets are equivalent when each is an image of the other (one strongly connected component of
the action); equivalent sets have equal size. A *tile* of P is a maximal member of the family strictly
inside P. Tiles are searched for once per class, in its representative R; the tiles of the other
members are images of those, so tile number i means the same everywhere in a class. The *depth* of a
class is the longest way down to it, over tiles and over non-equivalent images: it is strict for
non-equivalent images of equal size too. Singletons are finished: their depth is the number of levels.

All sets are named by their number in the family (``masks[i]`` is the bit mask of set i, number 0 is Q).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import factorial

from krohn.algebra.permgroup import PermutationGroup
from krohn.automata.graph import strong_components
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import Budget, unlimited
from krohn.cascade.image_sets import DEFAULT_MAX_SETS, ImageSets, image_sets
from krohn.cascade.tile_search import TileSearch

Permutation = tuple[int, ...]
Origin = tuple[int, int] | None
"""The set and the letter that first reached a set; None at the roots."""
_SCANNED = 4  # sets that a tile search examines per unit of work
_TESTED = 3  # generators found before the group is tested for being symmetric


@dataclass(frozen=True)
class SetClass:
    """One class of equivalent image sets with more than one state: one component of the cascade.

    Attributes:
        number: its number, in order of level.
        level: its depth, 0 for the class of Q.
        members: the sets of the class, the representative first.
        tiles: the tiles of the representative, as set numbers; coordinate i means tile i.
        generators: permutations of tile numbers that generate the holonomy group (identity left out):
            the Schreier elements, each with the (set P, letter a) it comes from, P and P·a in the class.
        is_merged: whether several classes share this component; then some members cannot be led
            back to the representative and have no words.
    """

    number: int
    level: int
    members: tuple[int, ...]
    tiles: tuple[int, ...]
    generators: dict[Permutation, tuple[int, int]]
    is_merged: bool = False

    @property
    def representative(self) -> int:
        """The set in which the tiles were found."""
        return self.members[0]

    @cached_property
    def group(self) -> PermutationGroup:
        """The holonomy group, acting on tile numbers, by few of its generators."""
        degree = len(self.tiles)
        return PermutationGroup(PermutationGroup(self.generators, degree).few_generators, degree)


@dataclass(frozen=True, slots=True, eq=False)
class Skeleton:
    """Everything below is indexed by set number.

    Attributes:
        masks: the bit mask of a set.
        images: ``images[a][i]`` is the number of the set i · a.
        number: mask → set number.
        class_of: number of the class of a set; −1 for a singleton.
        depth: level of a set; ``num_levels`` for a singleton.
        tiles: the tiles of a set, in the order of its class; () for a singleton.
        parent: (set, letter) that first reached a member from its representative; None at the roots.
        classes: the classes of sets with more than one state, by level.
    """

    automaton: Semiautomaton
    masks: list[int]
    images: list[list[int]]
    number: dict[int, int]
    class_of: list[int]
    depth: list[int]
    tiles: list[tuple[int, ...]]
    parent: list[tuple[int, int] | None]
    classes: tuple[SetClass, ...]
    num_levels: int

    @property
    def num_sets(self) -> int:
        """Members of the family, singletons included."""
        return len(self.masks)

    def states(self, number: int) -> tuple[int, ...]:
        """The states of a set, in increasing order."""
        bits = f"{self.masks[number]:b}"[::-1]
        return tuple(state for state, bit in enumerate(bits) if bit == "1")

    def singleton(self, state: int) -> int:
        """The number of the set {state}."""
        return 1 + state if self.automaton.num_states > 1 else 0


def skeleton(
    automaton: Semiautomaton, *, max_sets: int = DEFAULT_MAX_SETS, budget: Budget | None = None
) -> Skeleton:
    """Builds the skeleton; the family of image sets is limited to ``max_sets`` members."""
    budget = unlimited() if budget is None else budget
    family = image_sets(automaton.letters, max_sets, budget)
    images, count = family.images, len(family.masks)
    found, parent = _classes(family)
    budget.spend(len(found) * count // _SCANNED)
    tiles = _tiles(family, found, parent)
    levels = _levels(images, found, tiles)
    num_levels = max(levels, default=-1) + 1
    ranked = sorted(zip(levels, found, strict=True), key=lambda pair: (pair[0], pair[1][0]))
    class_of, depth = [-1] * count, [num_levels] * count
    for number, (level, members) in enumerate(ranked):
        for member in members:
            class_of[member], depth[member] = number, level
    classes = tuple(
        SetClass(
            number,
            level,
            tuple(members),
            tiles[members[0]],
            _generators(images, tiles, class_of, number, members),
        )
        for number, (level, members) in enumerate(ranked)
    )
    masks, numbers = family.masks, family.number
    return Skeleton(automaton, masks, images, numbers, class_of, depth, tiles, parent, classes, num_levels)


def _classes(family: ImageSets) -> tuple[list[list[int]], list[Origin]]:
    """Strong components among sets of equal size > 1, in topological order, and how each set was reached.

    Inside a class sets stand breadth-first from the one of the least number.
    """
    masks, rows = family.masks, list(enumerate(family.images))
    parent: list[Origin] = [None] * len(masks)
    if masks[0] == 1:  # one state: no classes
        return [], parent
    sizes, small = [mask.bit_count() for mask in masks], masks[0].bit_count() + 1  # Q and the singletons
    successors: list[list[int]] = [[] for _ in sizes]
    for _, row in rows:
        for source, target in enumerate(row[small:], small):
            if sizes[source] == sizes[target] and source != target:
                successors[source].append(target)
    result = strong_components(successors, small)
    result.reverse()  # now every edge leads to a later component, within one size
    result.sort(key=lambda part: -sizes[part[0]])
    for part in result:
        part[:], left = [min(part)], set(part) - {min(part)}
        for source in part:
            if not left:
                break
            for letter, row in rows:
                target = row[source]
                if target in left:
                    left.remove(target)
                    parent[target] = (source, letter)
                    part.append(target)
    return [[0], *result], parent


def _tiles(family: ImageSets, classes: list[list[int]], parent: list[Origin]) -> list[tuple[int, ...]]:
    """Tiles of the representatives by search, of the other members by transport."""
    search = TileSearch(family.masks, family.number)
    tiles: list[tuple[int, ...]] = [()] * len(parent)
    images = [row.__getitem__ for row in family.images]
    for members in classes:
        tiles[members[0]] = search.tiles_of(family.masks[members[0]])
        for member in members[1:]:
            origin = parent[member]
            if origin is not None:
                tiles[member] = tuple(map(images[origin[1]], tiles[origin[0]]))
    return tiles


def _levels(images: list[list[int]], classes: list[list[int]], tiles: list[tuple[int, ...]]) -> list[int]:
    """Longest path from the class of Q to each; classes stand in topological order."""
    # A letter that leads from one class to another need not carry tiles to tiles, even between sets of
    # one size. So the second class lies below: what its coordinate becomes may depend on the first's.
    class_of = [-1] * len(tiles)
    for index, members in enumerate(classes):
        for member in members:
            class_of[member] = index
    level = [0] * len(classes)
    for index, members in enumerate(classes):
        below = {class_of[tile] for tile in tiles[members[0]]}
        for row in images:
            below.update([class_of[row[member]] for member in members])
        for target in below - {index, -1}:
            level[target] = max(level[target], level[index] + 1)
    return level


def _generators(
    images: list[list[int]],
    tiles: list[tuple[int, ...]],
    class_of: list[int],
    number: int,
    members: list[int],
) -> dict[Permutation, tuple[int, int]]:
    """Schreier elements m_P · a · m_{Pa}⁻¹ acting on tile numbers; those of tree edges are trivial.

    The search stops once those found generate the full symmetric group of the tiles.
    """
    result: dict[Permutation, tuple[int, int]] = {}
    degree = len(tiles[members[0]])
    for move, origin in tile_moves(images, tiles, class_of, number, members):
        if move in result:
            continue
        result[move] = origin
        # All permutations of the tiles: no further generator adds any.
        tested = degree < len(members) and len(result) == _TESTED
        if degree == 2 or (tested and PermutationGroup(result, degree).order == factorial(degree)):
            break
    return result


def tile_moves(
    images: Sequence[Sequence[int]],
    tiles: Sequence[tuple[int, ...]],
    class_of: Sequence[int],
    number: int,
    members: Sequence[int],
) -> Iterator[tuple[Permutation, tuple[int, int]]]:
    """The permutations of tile numbers by letters inside a class, each with the set and the letter; the
    identity is left out.
    """
    places: dict[int, dict[int, int]] = {}
    for letter, row in enumerate(images):
        image = row.__getitem__
        for source in members:
            target = image(source)
            if class_of[target] != number:
                continue
            moved, goal = tuple(map(image, tiles[source])), tiles[target]
            if moved == goal:
                continue
            if target not in places:
                places[target] = dict(zip(goal, range(len(goal)), strict=True))
            yield tuple(map(places[target].__getitem__, moved)), (source, letter)
