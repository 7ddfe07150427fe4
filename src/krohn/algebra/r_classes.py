"""One representative per R-class, found by multiplying on the left; elements are never listed.

Every R-class holds elements whose image is the representative set P of an image component. Those
with the same kernel form cosets of the component's Schreier group; the coset whose sequence of
images is least, position by position of a stabiliser chain, is the key of the R-class. So a product
``a · x`` finds its R-class by one relabelling and one look-up.
"""

from dataclasses import dataclass
from functools import cached_property
from math import factorial

from krohn.algebra.image_orbit import ImageComponent, ImageOrbit
from krohn.algebra.transformation import Row, Table
from krohn.errors import LimitExceeded


@dataclass(frozen=True, eq=False)
class RClasses:
    """The R-classes of the semigroup of an image orbit.

    Attributes:
        orbit: the image orbit.
        limit: the most R-classes that are looked for.
    """

    orbit: ImageOrbit
    limit: int = 20_000_000

    @cached_property
    def _search(self) -> tuple[list[Row], list[int], list[int]]:
        """Representatives in breadth-first order, edges of left multiplication, and image components."""
        rows = self.orbit.rows
        pack, send, table_of, distinct = rows.pack, rows.send, rows.table, dict.fromkeys
        relabelling: dict[Row, tuple[Table, int]] = {}
        index: dict[Row, int] = {}
        keys: list[Row] = []
        components: list[int] = []
        edges: list[int] = []
        record, known, lookup = edges.append, relabelling.get, index.get
        letters = [rows.through(pack(letter)) for letter in self.orbit.letters]
        # The identity comes first, so that its products are the letters; it is taken out again.
        tables = [table_of(pack(range(len(self.orbit.letters[0]))))]
        limit = self.limit
        for table in tables:
            for letter_through in letters:
                product = letter_through(table)
                first = pack(distinct(product))
                relabel = known(first)
                if relabel is None:
                    relabel = relabelling[first] = self._relabel(first)
                key = send(product, relabel[0])
                found = lookup(key)
                if found is None:
                    found = index[key] = len(keys)
                    keys.append(key)
                    tables.append(table_of(key))
                    components.append(relabel[1])
                record(found)
            if len(keys) > limit:
                raise LimitExceeded(
                    f"at most {limit:,} R-classes are searched and this semigroup has more: "
                    "raise the limit (max_classes, --max-classes)"
                )
        return keys, edges[len(letters) :], components

    def _relabel(self, first: Row) -> tuple[Table, int]:
        """The table from an element to its key, given its images in order of first occurrence.

        Also the number of its image component.
        """
        orbit = self.orbit
        number = orbit.number[orbit.rows.pack(sorted(first))]
        own = orbit.component_of[number]
        component = orbit.components[own]
        group = component.group
        if not group.is_trivial and group.order == factorial(component.rank):
            return orbit.rows.matching(first, component.base), own
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
