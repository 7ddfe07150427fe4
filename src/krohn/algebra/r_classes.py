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
    def _search(self) -> tuple[list[Row], list[int]]:
        """Representatives in breadth-first order, and the edges of left multiplication."""
        rows = self.orbit.rows
        pack, send, table_of = rows.pack, rows.send, rows.table
        relabelling: dict[Row, Table] = {}
        index: dict[Row, int] = {}
        keys: list[Row] = []
        for letter in self.orbit.letters:
            row = pack(letter)
            key = send(row, self._relabel(pack(dict.fromkeys(row))))
            if key not in index:
                index[key] = len(keys)
                keys.append(key)
        edges: list[int] = []
        record, known, lookup = edges.append, relabelling.get, index.get
        letters = [rows.through(pack(letter)) for letter in self.orbit.letters]
        limit = self.limit
        for representative in keys:
            table = table_of(representative)
            for letter_through in letters:
                product = letter_through(table)
                first = pack(dict.fromkeys(product))
                relabel = known(first)
                if relabel is None:
                    relabel = relabelling[first] = self._relabel(first)
                key = send(product, relabel)
                found = lookup(key)
                if found is None:
                    found = index[key] = len(keys)
                    keys.append(key)
                record(found)
            if len(keys) > limit:
                raise LimitExceeded(
                    f"at most {limit:,} R-classes are searched and this semigroup has more: "
                    "raise the limit (max_classes, --max-classes)"
                )
        return keys, edges

    def _relabel(self, first: Row) -> Table:
        """The table from an element to its key, given its images in order of first occurrence."""
        orbit = self.orbit
        number = orbit.number[orbit.rows.pack(sorted(first))]
        component = orbit.components[orbit.component_of[number]]
        back = orbit.rows.matching(component.sequence[number], component.base)
        group = component.group
        if group.is_trivial:
            return back
        positions = component.base if group.order == factorial(component.rank) else None
        if positions is None:
            positions = self._least_in_coset(component, orbit.rows.send(first, back))
        return orbit.rows.matching(first, positions)

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

    @cached_property
    def component_numbers(self) -> list[int]:
        """The image component of each representative."""
        orbit, pack = self.orbit, self.orbit.rows.pack
        number, component_of = orbit.number, orbit.component_of
        return [component_of[number[pack(sorted(set(row)))]] for row in self.representatives]
