"""One representative per R-class, found by multiplying on the left; elements are never listed.

Every R-class holds elements whose image is the representative set P of an image component. Those
with the same kernel form cosets of the component's Schreier group; the coset whose sequence of
images is least, position by position of a stabiliser chain, is the key of the R-class. So a product
``a · x`` finds its R-class by one relabelling and one lookup.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import factorial

import numpy as np
import numpy.typing as npt

from krohn.algebra.image_orbit import ImageComponent, ImageOrbit
from krohn.algebra.transformation import Row, Table
from krohn.errors import LimitExceeded

# The search for R-classes on whole arrays, for at most 16 states and very many R-classes.
#
# The same keys as in ``RClasses``, packed into one 64-bit number, four bits for each state: a layer of
# representatives is multiplied by every letter, relabelled, packed, sorted and compared with the known keys.


MAX_STATES = 16
_CHUNK = 1 << 16  # representatives multiplied at a time

Bytes = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]


def pack_columns(columns: Bytes) -> Keys:
    """Transformations as 64-bit numbers; ``columns[q]`` holds the images of state q, all below 16."""
    keys = np.zeros(columns.shape[1], dtype=np.uint64)
    for state, images in enumerate(columns):
        keys |= images.astype(np.uint64) << np.uint64(4 * state)
    return keys


def unpack_columns(keys: Keys, degree: int) -> Bytes:
    """The inverse of ``pack_columns``."""
    columns = np.empty((degree, len(keys)), dtype=np.uint8)
    for state in range(degree):
        columns[state] = (keys >> np.uint64(4 * state)) & np.uint64(15)
    return columns


@dataclass(frozen=True, eq=False)
class BatchSearch:
    """A finished search: every R-class by its key.

    Attributes:
        orbit: the image orbit.
        keys: all keys, sorted.
    """

    orbit: ImageOrbit
    keys: Keys

    @classmethod
    def run(
        cls, orbit: ImageOrbit, known: Sequence[Row], frontier: Sequence[Row], refuse: Callable[[int], None]
    ) -> "BatchSearch":
        """Continues from ``known`` keys of which those in ``frontier`` are not yet multiplied."""
        relabelling = _Relabelling(orbit)
        runs = [np.sort(_packed(known))]
        waiting = _packed(frontier)
        while len(waiting):
            new_runs: list[Keys] = []
            for start in range(0, len(waiting), _CHUNK):
                fresh = np.unique(relabelling.products(waiting[start : start + _CHUNK]))
                for run in (*runs, *new_runs):
                    fresh = fresh[~_is_in(run, fresh)]
                new_runs.append(fresh)
            waiting = np.concatenate(new_runs)
            runs.append(np.sort(waiting))
            # Runs double in length, so that merging costs no more than sorting.
            while len(runs) > 1 and 2 * len(runs[-1]) > len(runs[-2]):
                runs[-2:] = [np.sort(np.concatenate(runs[-2:]))]
            refuse(sum(map(len, runs)))
        return cls(orbit, np.sort(np.concatenate(runs)))

    @property
    def count(self) -> int:
        """The number of R-classes."""
        return len(self.keys)

    @cached_property
    def _relabelling(self) -> "_Relabelling":
        return _Relabelling(self.orbit)

    def _chunks(self) -> Iterator[Keys]:
        return (self.keys[start : start + _CHUNK] for start in range(0, len(self.keys), _CHUNK))

    @cached_property
    def representatives(self) -> list[Row]:
        """One element per R-class."""
        degree = len(self.orbit.letters[0])
        rows = np.ascontiguousarray(unpack_columns(self.keys, degree).T)
        return list(rows.view(f"V{degree}").ravel().tolist())

    @cached_property
    def component_numbers(self) -> list[int]:
        """The image component of each representative."""
        parts = [self._relabelling.components(keys) for keys in self._chunks()]
        return list(np.concatenate(parts).tolist())

    @cached_property
    def component_counts(self) -> dict[int, int]:
        """How many R-classes there are in each image component."""
        counts = sum(
            np.bincount(self._relabelling.components(keys), minlength=len(self.orbit.components))
            for keys in self._chunks()
        )
        return {number: count for number, count in enumerate(np.asarray(counts).tolist()) if count}

    @cached_property
    def left_edges(self) -> list[int]:
        """Entry ``i·k + a`` is the R-class of letter a times representative i, for k letters."""
        count = len(self.orbit.letters)
        parts = [
            np.searchsorted(self.keys, self._relabelling.products(keys)).reshape(count, -1).T.ravel()
            for keys in self._chunks()
        ]
        return list(np.concatenate(parts).tolist())


class _Relabelling:
    """Maps products to keys, by tables over image sets."""

    def __init__(self, orbit: ImageOrbit) -> None:
        self.degree = len(orbit.letters[0])
        self.letters = [list(letter) for letter in orbit.letters]
        self.number = np.zeros(1 << self.degree, dtype=np.intp)
        self.component_of = np.array(orbit.component_of)
        # back[X, q]: the position in P of the point that goes to q on the way from P to X.
        self.back = np.zeros((len(orbit.sets), self.degree), dtype=np.uint8)
        self.base = np.zeros((len(orbit.components), self.degree), dtype=np.uint8)
        self.symmetric = np.zeros(len(orbit.components), dtype=np.bool_)
        self.other: dict[int, ImageComponent] = {}
        for number, members in enumerate(orbit.sets):
            self.number[sum(1 << point for point in members)] = number
        for own, component in enumerate(orbit.components):
            self.base[own, : component.rank] = list(component.base)
            for number, sequence in component.sequence.items():
                self.back[number, list(sequence)] = np.arange(component.rank)
            if component.group.is_trivial:
                continue
            if component.rank == self.degree or component.group.order == factorial(component.rank):
                self.symmetric[own] = True
            else:
                self.other[own] = component

    def components(self, keys: Keys) -> Ints:
        """The image components of transformations given by their keys."""
        return self.component_of[self._image_numbers(unpack_columns(keys, self.degree))]

    def products(self, keys: Keys) -> Keys:
        """The keys of all products letter · x, first those of the first letter."""
        columns = unpack_columns(keys, self.degree)
        rows = np.concatenate([columns[letter] for letter in self.letters], axis=1)
        numbers = self._image_numbers(rows)
        own = self.component_of[numbers]
        places = self.back.ravel().take(numbers * self.degree + rows)
        chosen = np.flatnonzero(self.symmetric[own])
        if len(chosen):
            places[:, chosen] = _first_occurrences(places[:, chosen])[0]
        for number, component in self.other.items():
            chosen = np.flatnonzero(own == number)
            if len(chosen):
                places[:, chosen] = _least_in_coset(component, places[:, chosen])
        return pack_columns(self.base.ravel().take(own * self.degree + places))

    def _image_numbers(self, columns: Bytes) -> Ints:
        masks = np.zeros(columns.shape[1], dtype=np.uint16)
        for images in columns:
            masks |= np.uint16(1) << images.astype(np.uint16)
        return self.number[masks]


def _first_occurrences(places: Bytes) -> tuple[Bytes, Bytes]:
    """For each transformation: the rank of every image by first occurrence, and the rank of every value."""
    degree, count = places.shape
    when = np.full(degree * count, 255, dtype=np.uint8)
    offsets = np.arange(count)
    ranks = np.empty_like(places)
    next_rank = np.zeros(count, dtype=np.uint8)
    for state in range(degree):
        slots = places[state].astype(np.intp) * count + offsets
        rank = when.take(slots)
        new = rank == 255
        np.copyto(rank, next_rank, where=new)
        when[slots] = rank
        ranks[state] = rank
        next_rank += new
    return ranks, when.reshape(degree, count)


def _least_in_coset(component: ImageComponent, places: Bytes) -> Bytes:
    """The coset representative whose values occur earliest along the base of the group's chain."""
    ranks, when = _first_occurrences(places)
    when = when[: component.rank]
    for level in component.group.chain.levels:
        moves = np.array([list(level.representative[point])[: component.rank] for point in level.orbit])
        earliest = np.argmin(when[level.orbit], axis=0)
        when = np.take_along_axis(when, moves[earliest].T, axis=0)
    # The values in order of their ranks: the inverse of the permutation ``when``.
    values = np.empty_like(when)
    np.put_along_axis(values, when.astype(np.intp), np.arange(len(when), dtype=np.uint8)[:, None], axis=0)
    return np.take_along_axis(values, ranks.astype(np.intp), axis=0)


def _packed(rows: Sequence[Row]) -> Keys:
    array = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)
    return pack_columns(array.T)


def _is_in(run: Keys, keys: Keys) -> npt.NDArray[np.bool_]:
    if not len(run):
        return np.zeros(len(keys), dtype=np.bool_)
    slots = np.minimum(np.searchsorted(run, keys), len(run) - 1)
    return np.equal(run[slots], keys)


BATCH = 256  # queue length from which whole arrays are faster than one representative at a time

_WORK = 16  # images of states per R-class that the limit assumes: many states cost time and memory
_OVERHEAD = 50  # fixed cost of a product, in images, for any number of states


@dataclass(frozen=True, eq=False)
class ListedSearch:
    """A finished search: keys in breadth-first order, edges of left multiplication, image components."""

    representatives: list[Row]
    left_edges: list[int]
    component_numbers: list[int]

    @property
    def count(self) -> int:
        """The number of R-classes."""
        return len(self.representatives)

    @property
    def component_counts(self) -> dict[int, int]:
        """How many R-classes there are in each image component."""
        return Counter(self.component_numbers)


@dataclass(frozen=True, eq=False)
class RClasses:
    """The R-classes of the semigroup of an image orbit.

    Attributes:
        orbit: the image orbit.
        limit: the most R-classes to search for.
    """

    orbit: ImageOrbit
    limit: int = 20_000_000

    @cached_property
    def _search(self) -> ListedSearch | BatchSearch:
        rows, degree = self.orbit.rows, len(self.orbit.letters[0])
        # The identity comes first, so that its products are the letters; it is removed at the end.
        queue = [rows.pack(range(degree))]
        relabelling: dict[Row, tuple[Table | None, int]] = {}
        index: dict[Row, int] = {}
        components: list[int] = []
        edges: list[int] = []
        done = 0
        while done < len(queue):
            chunk = queue[done : done + 64]
            done += len(chunk)
            self._multiply(chunk, relabelling, index, (queue, components, edges))
            self._refuse(len(index), done)
            if degree <= MAX_STATES and len(queue) - done > BATCH:
                return BatchSearch.run(self.orbit, queue[1:], queue[done:], self._refuse)
        return ListedSearch(queue[1:], edges[len(self.orbit.letters) :], components)

    def _multiply(
        self,
        chunk: Sequence[Row],
        relabelling: dict[Row, tuple[Table | None, int]],
        index: dict[Row, int],
        parts: tuple[list[Row], list[int], list[int]],
    ) -> None:
        """Multiplies the rows of ``chunk`` by every letter on the left and appends the new ones."""
        rows, (queue, components, edges) = self.orbit.rows, parts
        pack, send, table_of, distinct = rows.pack, rows.send, rows.table, dict.fromkeys
        record, known, lookup = edges.append, relabelling.get, index.get
        letters = [rows.through(pack(letter)) for letter in self.orbit.letters]
        for row in chunk:
            table = table_of(row)
            for letter_through in letters:
                product = letter_through(table)
                first = pack(distinct(product))
                relabel = known(first)
                if relabel is None:
                    relabel = relabelling[first] = self._relabel(first)
                key = product if relabel[0] is None else send(product, relabel[0])
                number = lookup(key)
                if number is None:
                    number = index[key] = len(index)
                    queue.append(key)
                    components.append(relabel[1])
                record(number)

    def _refuse(self, count: int, multiplied: int = 0) -> None:
        """Stops at the limit, or once the images computed for ``multiplied`` classes would take minutes."""
        letters = self.orbit.letters
        degree = len(letters[0])
        images = degree if degree <= 256 else 4 * degree  # a tuple takes longer than bytes
        work = multiplied * len(letters) * (images + _OVERHEAD)
        if count > self.limit or work > _WORK * self.limit:
            raise LimitExceeded(
                f"at most {self.limit:,} R-classes, or {_WORK * self.limit:,} images of states, are searched "
                "and this semigroup needs more: raise the limit (max_classes, --max-classes)"
            )

    def _relabel(self, first: Row) -> tuple[Table | None, int]:
        """The table from an element to its key, given its images in order of first occurrence.

        ``None`` stands for a table that changes nothing. Also the number of the image component.
        """
        orbit = self.orbit
        number = orbit.number[orbit.rows.pack(sorted(first))]
        own = orbit.component_of[number]
        component = orbit.components[own]
        group = component.group
        if component.rank == len(orbit.letters[0]) or (
            not group.is_trivial and group.order == factorial(component.rank)
        ):
            # All bijections onto P have one key: the permutations of Q in S form one R-class in any case.
            return orbit.rows.matching(first, component.base), own
        if group.is_trivial and number == component.members[0]:
            return None, own
        back = orbit.rows.matching(component.sequence[number], component.base)
        if group.is_trivial:
            return back, own
        least = self._least_in_coset(component, orbit.rows.send(first, back))
        return orbit.rows.matching(first, least), own

    def _least_in_coset(self, component: ImageComponent, images: Row) -> Row:
        """The sequence in the orbit of ``images`` under the Schreier group that is least along its base."""
        place = {point: position for position, point in enumerate(component.base)}
        sequence = [place[image] for image in images]
        for level in component.group.chain.levels:
            when = {point: time for time, point in enumerate(sequence)}
            undo = level.inverse[min(level.orbit, key=when.__getitem__)]
            sequence = [undo[point] for point in sequence]
        return self.orbit.rows.pack(component.base[point] for point in sequence)

    @property
    def count(self) -> int:
        """The number of R-classes."""
        return self._search.count

    @property
    def representatives(self) -> list[Row]:
        """One element per R-class, with its image at the component's representative set."""
        return self._search.representatives

    @property
    def left_edges(self) -> list[int]:
        """Entry ``i·k + a`` is the R-class of ``a · representatives[i]``, for k letters."""
        return self._search.left_edges

    @property
    def component_numbers(self) -> list[int]:
        """The image component of each representative."""
        return self._search.component_numbers

    @property
    def component_counts(self) -> dict[int, int]:
        """How many R-classes there are in each image component."""
        return self._search.component_counts
