"""The orbit of image sets under the letters, its strong components, and their groups."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from krohn.algebra.packed import Row, Rows, Table, rows_for
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transformation import Permutation
from krohn.automata.graph import strong_components
from krohn.automata.quotients import component_numbers, word_along
from krohn.errors import LimitExceeded

_SET_SIZE = 40  # states per image set that the limit assumes: memory and time must stay bounded too
_UNPACKED = 8  # what a state costs in a set that is not packed into bytes


@dataclass(frozen=True, eq=False)
class ImageOrbit:
    """All image sets of a transformation semigroup, each a sorted row of states.

    Attributes:
        letters: the generators.
        limit: the most image sets to search for.
    """

    letters: tuple[tuple[int, ...], ...]
    limit: int = 2_000_000

    @cached_property
    def rows(self) -> Rows:
        """The arithmetic of transformations."""
        return rows_for(len(self.letters[0]))

    @cached_property
    def tables(self) -> list[Table]:
        """The letters packed as lookup tables."""
        return [self.rows.table(self.rows.pack(letter)) for letter in self.letters]

    @cached_property
    def _graph(self) -> tuple[list[Row], dict[Row, int], list[list[int]]]:
        """Sets in breadth-first order, their numbers, and successors by letter."""
        pack, send, tables = self.rows.pack, self.rows.send, self.tables
        number: dict[Row, int] = {}
        enter = number.setdefault
        for action in self.letters:
            enter(pack(sorted(set(action))), len(number))
        sets = list(number)
        successors: list[list[int]] = []
        total, cost = 0, len(tables) * (1 if isinstance(sets[0], bytes) else _UNPACKED)
        for index, members in enumerate(sets):
            images = [pack(sorted(set(send(members, table)))) for table in tables]
            # A dictionary's length numbers the next new set.
            targets = [enter(image, len(number)) for image in images]
            successors.append(targets)
            for letter, target in enumerate(targets):
                if target == len(sets):
                    sets.append(images[letter])
            total += len(members) * cost
            if index > self.limit or total > 2 * _SET_SIZE * self.limit:
                most = 2 * _SET_SIZE * self.limit // cost
                raise LimitExceeded(
                    f"at most {self.limit:,} image sets, with {most:,} states together, "
                    "are searched and this automaton has more: raise --effort (effort= in Python)"
                )
        return sets, number, successors

    @property
    def sets(self) -> list[Row]:
        """The image sets in breadth-first order."""
        return self._graph[0]

    @property
    def number(self) -> dict[Row, int]:
        """The number of each image set."""
        return self._graph[1]

    @property
    def successors(self) -> list[list[int]]:
        """``successors[i][a]`` is the number of the image of set ``i`` under letter ``a``."""
        return self._graph[2]

    @cached_property
    def components(self) -> tuple["ImageComponent", ...]:
        """The strong components by number; the first set found of each represents it."""
        return tuple(ImageComponent(self, tuple(sorted(part))) for part in strong_components(self.successors))

    @cached_property
    def component_of(self) -> list[int]:
        """The component number of each set; edges between components lead to smaller numbers."""
        return component_numbers([component.members for component in self.components])


@dataclass(frozen=True, eq=False)
class ImageComponent:
    """One strong component: mutually reachable image sets; the first member is the representative P."""

    orbit: ImageOrbit
    members: tuple[int, ...]

    @cached_property
    def base(self) -> Row:
        """The representative P, sorted."""
        return self.orbit.sets[self.members[0]]

    @property
    def rank(self) -> int:
        """|P|, the number of states in the representative."""
        return len(self.base)

    @cached_property
    def _tree(self) -> tuple[dict[int, Row], dict[int, int]]:
        """For each member X the images of P's points under a shortest word P → X, and its length."""
        root = self.members[0]
        sequence: dict[int, Row] = {root: self.base}
        distance = {root: 0}
        if len(self.members) == 1:
            return sequence, distance
        orbit = self.orbit
        send, tables = orbit.rows.send, orbit.tables
        component_of, successors = orbit.component_of, orbit.successors
        own = component_of[root]
        queue = [root]
        for index in queue:
            for letter, target in enumerate(successors[index]):
                if target not in sequence and component_of[target] == own:
                    sequence[target] = send(sequence[index], tables[letter])
                    distance[target] = distance[index] + 1
                    queue.append(target)
        return sequence, distance

    @property
    def sequence(self) -> dict[int, Row]:
        """For each member set X, the bijection P → X of the breadth-first tree, as a row over P."""
        return self._tree[0]

    @property
    def distance(self) -> dict[int, int]:
        """For each member set the length of its word in the tree."""
        return self._tree[1]

    def loops(self) -> Iterator[tuple[Row, int]]:
        """For every edge, closed by the tree: the images of P's points, and its length.

        They generate all loops at P; those of the tree's own edges are the identity (Schreier's lemma).
        """
        orbit, sequence, distance, base = self.orbit, self.sequence, self.distance, self.base
        send, tables, matching = orbit.rows.send, orbit.tables, orbit.rows.matching
        for index, start in sequence.items():
            for letter, target in enumerate(orbit.successors[index]):
                if target in sequence:
                    end, goal = send(start, tables[letter]), sequence[target]
                    loop = base if end == goal else send(end, matching(goal, base))
                    yield loop, distance[index] + 1 - distance[target]

    def permutation(self, images: Iterable[int]) -> Permutation:
        """What these images of P's points do to the positions 0 … |P|−1 in P."""
        position = {point: place for place, point in enumerate(self.base)}
        return tuple([position[image] for image in images])

    @cached_property
    def group(self) -> PermutationGroup:
        """The Schreier group as permutations of positions in P."""
        loops = dict.fromkeys(loop for loop, _ in self.loops()) if self.rank > 1 else ()
        return PermutationGroup(map(self.permutation, loops), self.rank)

    def path_to_base(self, index: int) -> tuple[int, ...]:
        """A shortest word that maps the member set to P."""
        inside = set(self.members)
        origin: dict[int, tuple[int, int] | None] = {index: None}
        for current in (queue := [index]):
            for letter, target in enumerate(self.orbit.successors[current]):
                if target in inside and target not in origin:
                    origin[target] = current, letter
                    queue.append(target)
        return word_along(origin.get, self.members[0])
