"""Green's relations of a transition semigroup: R-classes, then D-class by D-class, and the eggbox picture.

One representative per R-class is found by multiplying on the left; elements are never listed. Every R-class
holds elements whose image is the representative set P of an image component. Those with the same kernel form
cosets of the component's Schreier group; the coset whose sequence of images is least, position by position of
a stabiliser chain, is the key of the R-class. So a product ``a · x`` finds its R-class by one relabelling and
one lookup.

Left multiplication by letters is a graph on R-classes; its strong components are the D-classes.
Within a D-class every representative has the image P, so a letter maps ``x`` to ``y · g`` with
``g`` in the Schreier group of P; these ``g`` generate the group of the H-class of ``x``. In the picture each
D-class is a box of H-classes: rows R, columns L, stars where a group sits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import factorial

import numpy as np
import numpy.typing as npt

from krohn.algebra.group_names import group_name
from krohn.algebra.image_orbit import ImageComponent, ImageOrbit
from krohn.algebra.packed import Row, Table
from krohn.algebra.permgroup import PermutationGroup
from krohn.automata.graph import strong_components
from krohn.base.svg import Canvas
from krohn.errors import LimitExceeded

_WORK = 110  # images of states per R-class that the limit assumes: many states cost time and memory
_OVERHEAD = 50  # fixed cost of a product, in images, for any number of states


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
    def _search(self) -> tuple[list[Row], list[int], list[int]]:
        """Keys in breadth-first order, edges of left multiplication, image components."""
        # The identity comes first, so that its products are the letters; it is removed at the end.
        queue = [self.orbit.rows.pack(range(len(self.orbit.letters[0])))]
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
        return queue[1:], edges[len(self.orbit.letters) :], components

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

    def _refuse(self, count: int, multiplied: int) -> None:
        """Stops at the limit, or once the images computed for ``multiplied`` classes would take minutes."""
        letters = self.orbit.letters
        degree = len(letters[0])
        images = degree if degree <= 256 else 4 * degree  # a tuple takes longer than bytes
        work = multiplied * len(letters) * (images + _OVERHEAD)
        if count > self.limit or work > _WORK * self.limit:
            raise LimitExceeded(
                f"at most {self.limit:,} R-classes, or {_WORK * self.limit:,} images of states, are searched "
                "and this semigroup needs more: raise --effort (effort= in Python)"
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
        return len(self.representatives)

    @property
    def representatives(self) -> list[Row]:
        """One element per R-class, with its image at the component's representative set."""
        return self._search[0]

    @property
    def left_edges(self) -> list[int]:
        """Entry ``i·k + a`` is the R-class of ``a · representatives[i]``, for k letters."""
        return self._search[1]

    @property
    def component_numbers(self) -> list[int]:
        """The image component of each representative."""
        return self._search[2]


@dataclass(frozen=True)
class GreenCounts:
    """How many classes of each kind there are, and how many idempotents."""

    num_d: int
    num_r: int
    num_l: int
    num_h: int
    num_regular_d: int
    num_idempotents: int


@dataclass(frozen=True, eq=False)
class DClass:
    """One D-class: ``num_r`` by ``num_l`` H-classes of ``h_size`` elements each.

    Attributes:
        classes: the R-classes it consists of.
        members: numbers of those R-classes.
        component: the image component of its elements.
    """

    classes: RClasses
    members: tuple[int, ...]
    component: ImageComponent

    @property
    def rank(self) -> int:
        """The number of states in the image of each element."""
        return self.component.rank

    @property
    def num_r(self) -> int:
        """The number of R-classes."""
        return len(self.members)

    @property
    def num_l(self) -> int:
        """The number of L-classes."""
        # An R-class has |component| · |group| elements, and meets every L-class in one H-class.
        return len(self.component.members) * self.component.group.order // self.h_size

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.num_r * self.num_l * self.h_size

    @cached_property
    def is_regular(self) -> bool:
        """Whether it holds an idempotent, that is, whether an image set is a transversal of a kernel."""
        # One kernel is enough: in a D-class either every R-class has an idempotent or none has.
        rows, sets = self.component.orbit.rows, self.component.orbit.sets
        table = rows.table(self.classes.representatives[self.members[0]])
        return any(len(set(rows.send(sets[member], table))) == self.rank for member in self.component.members)

    @cached_property
    def h_size(self) -> int:
        """The number of elements of an H-class."""
        group = self.component.group
        return group.order if group.is_trivial or self.is_regular else self._h_group.order

    @property
    def group(self) -> PermutationGroup | None:
        """The maximal subgroup as permutations of positions in an image; ``None`` if not regular."""
        return self.component.group if self.is_regular else None

    @cached_property
    def num_idempotents(self) -> int:
        """Pairs of a kernel and an image set that is a transversal of it."""
        if not self.is_regular:
            return 0
        representatives = self.classes.representatives
        kernels = np.array([list(representatives[index]) for index in self.members])
        sets = self.component.orbit.sets
        images = np.array([list(sets[index]) for index in self.component.members])
        return _count_transversals(kernels, images)

    @cached_property
    def _h_group(self) -> PermutationGroup:
        """Generated by the ``g`` of all letters and members, relative to a spanning tree (Schreier)."""
        orbit, edges = self.classes.orbit, self.classes.left_edges
        rows, count = orbit.rows, len(orbit.letters)
        inside = set(self.members)
        letters = [rows.through(rows.pack(letter)) for letter in orbit.letters]
        reached: dict[int, Row] = {self.members[0]: self.classes.representatives[self.members[0]]}
        queue = list(reached)
        place = {point: position for position, point in enumerate(self.component.base)}
        generators: set[tuple[int, ...]] = set()
        for index in queue:
            table = rows.table(reached[index])
            for letter, through in enumerate(letters):
                target = edges[index * count + letter]
                if target not in inside:
                    continue
                product = through(table)
                if target in reached:
                    moved = dict(zip(reached[target], product, strict=True))
                    generators.add(tuple(place[moved[point]] for point in self.component.base))
                else:
                    reached[target] = product
                    queue.append(target)
        return PermutationGroup(sorted(generators), self.rank)


def d_classes(classes: RClasses) -> tuple[DClass, ...]:
    """The D-classes, largest rank first."""
    count = len(classes.orbit.letters)
    edges = classes.left_edges
    graph: Sequence[Sequence[int]] = [edges[i : i + count] for i in range(0, len(edges), count)]
    members = [sorted(part) for part in strong_components(graph)]
    components = classes.orbit.components
    component_of = classes.component_numbers
    parts = [DClass(classes, tuple(part), components[component_of[part[0]]]) for part in reversed(members)]
    return tuple(sorted(parts, key=lambda part: -part.rank))


def green_counts(parts: Sequence[DClass]) -> GreenCounts:
    """The totals over all D-classes."""
    return GreenCounts(
        num_d=len(parts),
        num_r=sum(part.num_r for part in parts),
        num_l=sum(part.num_l for part in parts),
        num_h=sum(part.num_r * part.num_l for part in parts),
        num_regular_d=sum(part.is_regular for part in parts),
        num_idempotents=sum(part.num_idempotents for part in parts),
    )


def _count_transversals(kernels: npt.NDArray[np.int64], images: npt.NDArray[np.int64]) -> int:
    """How many pairs are injective: rows of ``kernels`` label all points, rows of ``images`` list some."""
    num_images, rank = int(images.shape[0]), int(images.shape[1])
    if rank == 1:
        return len(kernels) * num_images
    step = max(1, 2_000_000 // (num_images * rank))
    total = 0
    for start in range(0, len(kernels), step):
        labels = np.sort(kernels[start : start + step][:, images], axis=2)
        total += int((labels[:, :, 1:] != labels[:, :, :-1]).all(axis=2).sum())
    return total


MAX_CELLS = 20_000
"""H-classes that a picture may have."""
_CELL, _GAP, _MARGIN, _LABEL = 18, 28, 16, 210


@dataclass(frozen=True)
class Eggbox:
    """Green's classes as a picture, largest rank first."""

    parts: Sequence[DClass]

    def __post_init__(self) -> None:
        if (cells := sum(part.num_r * part.num_l for part in self.parts)) > MAX_CELLS:
            raise LimitExceeded(
                f"an eggbox picture may have at most {MAX_CELLS:,} H-classes and this one has {cells:,}: "
                "choose a smaller automaton"
            )

    def text(self) -> str:
        """In characters: ``*`` a group H-class, ``·`` another."""
        blocks = []
        for part in self.parts:
            lines = ["  " + " ".join("*" if cell else "·" for cell in row) for row in _cells(part)]
            blocks.append("\n".join([_caption(part), *lines]))
        return "\n\n".join(blocks)

    def svg(self) -> str:
        """As an SVG document; D-classes of equal rank stand side by side."""
        by_rank: dict[int, list[DClass]] = {}
        for part in self.parts:
            by_rank.setdefault(part.rank, []).append(part)
        heights = [max(part.num_r for part in row) * _CELL for row in by_rank.values()]
        widths = [sum(max(part.num_l * _CELL, _LABEL) + _GAP for part in row) for row in by_rank.values()]
        canvas = Canvas(2 * _MARGIN + max(widths), 2 * _MARGIN + sum(heights) + 2 * _GAP * len(heights))
        top = float(_MARGIN)
        for row, height in zip(by_rank.values(), heights, strict=True):
            left = float(_MARGIN)
            for part in row:
                canvas.text(left, top + 8, _caption(part), size=11, text_anchor="start")
                _draw(canvas, part, left, top + _GAP - 6)
                left += max(part.num_l * _CELL, _LABEL) + _GAP
            top += height + 2 * _GAP
        return canvas.render()


def _draw(canvas: Canvas, part: DClass, left: float, top: float) -> None:
    for row, cells in enumerate(_cells(part)):
        for column, is_group in enumerate(cells):
            fill = "#f2c14e" if is_group else "white"
            x, y = left + column * _CELL, top + row * _CELL
            canvas.rect(x, y, _CELL, _CELL, fill=fill, stroke="#888", stroke_width=0.6)
            if is_group:
                canvas.text(x + _CELL / 2, y + _CELL / 2 + 2, "*", size=13)
    canvas.rect(left, top, part.num_l * _CELL, part.num_r * _CELL, stroke_width=1.4)


def _cells(part: DClass) -> list[list[bool]]:
    """For each R-class, which of its H-classes hold an idempotent."""
    if not part.is_regular:
        return [[False] * part.num_l for _ in range(part.num_r)]
    orbit, representatives = part.component.orbit, part.classes.representatives
    rows, members = orbit.rows, part.component.members
    tables = [rows.table(representatives[index]) for index in part.members]
    return [
        [len(set(rows.send(orbit.sets[member], table))) == part.rank for member in members]
        for table in tables
    ]


def _caption(part: DClass) -> str:
    group = part.group
    if group is None:
        kind = f"not regular, H-classes of {part.h_size}"
    else:
        kind = "trivial groups" if group.is_trivial else f"group {group_name(group)}"
    return f"rank {part.rank}: {part.num_r} × {part.num_l}, {kind}"
