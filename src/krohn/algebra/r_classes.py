"""One representative per R-class, found by multiplying on the left; elements are never listed.

Every R-class holds elements whose image is the representative set P of an image component. Those
with the same kernel form cosets of the component's Schreier group; the coset whose sequence of
images is least, position by position of a stabiliser chain, is the key of the R-class. So a product
``a · x`` finds its R-class by one relabelling and one lookup.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import factorial

from krohn.algebra.image_orbit import ImageComponent, ImageOrbit
from krohn.algebra.transformation import Row, Table
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

    @property
    def component_counts(self) -> dict[int, int]:
        """How many R-classes there are in each image component."""
        return Counter(self.component_numbers)
