"""Transformations as tuples of images, permutations among them, and a packed form that multiplies fast; the
stabilizer chain that holds the group which permutations generate.

The product is ``(f * g)(q) = g(f(q))``: first ``f``, then ``g``, as words act.

Packed, a transformation of up to 256 points is ``bytes`` and a product is one ``bytes.translate``; beyond
that it is a tuple and a product is one ``operator.itemgetter``. Both are hashable and compare by value. A
*table* is a transformation padded so that others can be sent through it.

Schreier–Sims: from a base and strong generating set order and membership follow. Level ``i`` of the chain is
the stabiliser of the first ``i`` base points; it stores the orbit of the next base point with one coset
representative per orbit point. Random elements fill the chain, then every Schreier generator is sifted, so
the result is exact, not just probable (Holt, Eick and O'Brien, Handbook of Computational Group Theory,
section 4.4.2).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import factorial, isqrt, lcm, prod
from operator import itemgetter
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.words import letter_type, whole
from krohn.errors import InvalidInput, LimitExceeded

Permutation = tuple[int, ...]


def as_permutation(images: Sequence[int], degree: int | None = None) -> Permutation:
    """``images`` as a checked permutation of ``range(len(images))``."""
    permutation = tuple(map(whole, images))
    if degree is not None and len(permutation) != degree:
        raise InvalidInput(
            f"a permutation of {degree} points must have {degree} images; got {len(permutation)}"
        )
    if not is_permutation(permutation):
        raise InvalidInput(
            f"a permutation must list each of 0, …, {len(permutation) - 1} once; got {list(images)}"
        )
    return permutation


def is_permutation(images: Sequence[int]) -> bool:
    """Whether ``images`` lists every point of its own range exactly once."""
    return sorted(images) == list(range(len(images)))


def identity(degree: int) -> Permutation:
    """The permutation that moves nothing."""
    return tuple(range(degree))


def compose(first: Sequence[int], second: Sequence[int]) -> Permutation:
    """``first`` then ``second``; works for any transformations of the same points."""
    return tuple([second[image] for image in first])


def inverse(permutation: Sequence[int]) -> Permutation:
    """The permutation that undoes this one."""
    images = [0] * len(permutation)
    for point, image in enumerate(permutation):
        images[image] = point
    return tuple(images)


def power(permutation: Sequence[int], exponent: int) -> Permutation:
    """The ``exponent``-fold product, any integer exponent, read off the cycles."""
    images = list(range(len(permutation)))
    for cycle in cycles(permutation):
        length = len(cycle)
        for index, point in enumerate(cycle):
            images[point] = cycle[(index + exponent) % length]
    return tuple(images)


def commutator(first: Sequence[int], second: Sequence[int]) -> Permutation:
    """``first⁻¹ second⁻¹ first second``."""
    return compose(compose(inverse(first), inverse(second)), compose(first, second))


def cycles(permutation: Sequence[int]) -> list[list[int]]:
    """The cycles of length at least two, each from its least point, in order of that point."""
    seen = bytearray(len(permutation))
    result = []
    for start, image in enumerate(permutation):
        if seen[start] or image == start:
            continue
        cycle = [start]
        seen[start] = 1
        while image != start:
            cycle.append(image)
            seen[image] = 1
            image = permutation[image]
        result.append(cycle)
    return result


def order(permutation: Sequence[int]) -> int:
    """The least positive exponent that gives the identity."""
    return lcm(*(len(cycle) for cycle in cycles(permutation)))


def is_even(permutation: Sequence[int]) -> bool:
    """Whether the permutation is a product of an even number of transpositions."""
    return sum(len(cycle) - 1 for cycle in cycles(permutation)) % 2 == 0


def cycle_notation(permutation: Sequence[int]) -> str:
    """Cycles in brackets, as in ``(0 1 2)(3 4)``; the identity is ``()``."""
    return "".join(f"({' '.join(map(str, cycle))})" for cycle in cycles(permutation)) or "()"


def orbits(generators: Iterable[Sequence[int]], degree: int) -> tuple[tuple[int, ...], ...]:
    """The orbits of the generated group, each sorted, in order of their least points."""
    gens = list(generators)
    seen = bytearray(degree)
    result = []
    # Generators alone, without inverses, reach the whole orbit: in a finite group an inverse is a power.
    for start in range(degree):
        if seen[start]:
            continue
        seen[start] = 1
        orbit = [start]
        for point in orbit:
            for generator in gens:
                image = generator[point]
                if not seen[image]:
                    seen[image] = 1
                    orbit.append(image)
        result.append(tuple(sorted(orbit)))
    return tuple(result)


def prime_factors(number: int) -> list[int]:
    """The prime factors in increasing order, repeated as often as they divide."""
    factors = []
    for prime in range(2, isqrt(number) + 1):
        while number % prime == 0:
            factors.append(prime)
            number //= prime
        if prime * prime > number:
            break
    return factors + ([number] if number > 1 else [])


# Packed, for semigroups and for stabiliser chains.


Row = Any  # bytes or tuple[int, ...]
Table = Any  # bytes of length 256, or a tuple
_ALL_BYTES = bytes(range(256))
ImageArray = npt.NDArray[np.unsignedinteger[Any]]


class ByteRows:
    """Transformations of at most 256 states as byte strings; ``one`` is the table of the identity."""

    pack: Callable[[Iterable[int]], Row] = bytes
    # First the row, then the table: the C function itself, since this is the innermost operation.
    send: Callable[[Row, Table], Row] = staticmethod(bytes.translate)

    def __init__(self, degree: int) -> None:
        assert degree <= 256
        self.degree, self.one = degree, _ALL_BYTES

    def table(self, row: Row) -> Table:
        """The row as a table."""
        return row + self.one[self.degree :]

    def through(self, row: Row) -> Callable[[Table], Row]:
        """The function that sends ``row`` through a table: first the row, then the table."""
        method: Callable[[Table], Row] = row.translate
        return method

    def matching(self, source: Row, target: Row) -> Table:
        """A table that sends ``source[i]`` to ``target[i]``; elsewhere it does not matter."""
        return bytes.maketrans(source, target)


class TupleRows:
    """Transformations of any number of states as tuples; ``one`` is the table of the identity."""

    pack: Callable[[Iterable[int]], Row] = tuple

    @staticmethod
    def send(row: Row, table: Table) -> Row:
        """First the row, then the table."""
        return tuple([table[image] for image in row])

    def __init__(self, degree: int) -> None:
        self.degree, self.one = degree, tuple(range(degree))

    def table(self, row: Row) -> Table:
        """The row as a table."""
        return row

    def through(self, row: Row) -> Callable[[Table], Row]:
        """The function that sends ``row`` through a table: first the row, then the table."""
        return itemgetter(*row) if len(row) > 1 else lambda table: (table[row[0]],)

    def matching(self, source: Row, target: Row) -> Table:
        """A table that sends ``source[i]`` to ``target[i]``; elsewhere it does not matter."""
        table = list(self.one)
        for point, image in zip(source, target, strict=True):
            table[point] = image
        return tuple(table)


Rows = ByteRows | TupleRows


def rows_for(degree: int) -> Rows:
    """The fastest form for this many states."""
    return ByteRows(degree) if degree <= 256 else TupleRows(degree)


def image_array(rows: Sequence[Row]) -> ImageArray:
    """Transformations, packed or not, as one array of images in the smallest type that holds them."""
    degree = len(rows[0])
    if degree > 256:
        return np.array(rows, dtype=letter_type(degree))
    packed = rows if isinstance(rows[0], bytes) else map(bytes, rows)
    return np.frombuffer(b"".join(packed), dtype=np.uint8).reshape(-1, degree)


def product_of_word(letters: Sequence[Sequence[int]], word: Iterable[int]) -> tuple[int, ...]:
    """The transformation that a word induces; the empty word gives the identity."""
    images = list(range(len(letters[0])))
    for letter in word:
        action = letters[letter]
        images = [action[image] for image in images]
    return tuple(images)


PATIENCE = 12  # consecutive random members after which a chain is assumed complete
MAX_CHAIN = 24_000_000  # images in the representatives of a chain; two chains of tuples take 0.8 GB


class Level:
    """One basic orbit: its base point, the generators that act on it, and coset representatives."""

    def __init__(self, point: int, one: Table) -> None:
        self.point = point
        self.generators: list[Table] = []
        self.orbit: list[int] = [point]
        self.representative: dict[int, Table] = {point: one}
        self.inverse: dict[int, Table] = {point: one}
        self.spread: list[int] = []  # per generator: orbit points already mapped by it
        self.checked: list[int] = []  # per generator: orbit points whose Schreier generator was sifted

    def add(self, generator: Table, rows: Rows, room: int) -> int:
        """Adds a generator and grows the orbit, by at most ``room`` points; by how many."""
        self.generators.append(generator)
        self.spread.append(0)
        self.checked.append(0)
        multiply = rows.send
        orbit, representative = self.orbit, self.representative
        before = len(orbit)
        # The new generator is applied to the old points first; then every generator to the new points.
        while min(self.spread) < len(orbit):
            for index, acting in enumerate(self.generators):
                end = len(orbit)
                for point in orbit[self.spread[index] : end]:
                    image = acting[point]
                    if image not in representative:
                        element = multiply(representative[point], acting)
                        representative[image] = element
                        self.inverse[image] = rows.matching(element, rows.one)
                        orbit.append(image)
                        if len(orbit) - before > room:
                            raise LimitExceeded(
                                f"a group that permutes {rows.degree:,} states has a stabiliser chain of "
                                f"more than {MAX_CHAIN:,} images: take an automaton of fewer states"
                            )
                self.spread[index] = end
        return len(orbit) - before


class StabilizerChain:
    """A verified stabiliser chain of the group generated by permutations of ``range(degree)``.

    ``base`` may name points to be stabilised first, in that order; more are added as needed. ``within`` is
    the order of a group that is known to hold the generators: a chain that reaches it is complete.
    """

    def __init__(
        self,
        generators: Sequence[Permutation],
        degree: int,
        base: Sequence[int] = (),
        within: int | None = None,
    ) -> None:
        self.rows = rows_for(degree)
        self._generators = tuple(generators)
        self.levels: list[Level] = []
        self._within = within
        self._room = MAX_CHAIN // max(1, degree)
        self._bound = self._order_bound()
        self._randomised = False
        self.levels.extend(Level(point, self.rows.one) for point in base)
        for generator in generators:
            packed = self.pack(generator)
            if packed != self.rows.one:
                self._insert(packed, 0, self._first_level_moved(packed))
        if self.levels:
            self._verify()

    def pack(self, permutation: Sequence[int]) -> Table:
        """The permutation as a table; a product sends the first factor through the second."""
        return self.rows.table(self.rows.pack(permutation))

    def unpack(self, packed: Table) -> Permutation:
        """The tuple of images."""
        return tuple(packed[: self.rows.degree])

    @property
    def base(self) -> tuple[int, ...]:
        """The base points, redundant ones included."""
        return tuple(level.point for level in self.levels)

    @property
    def order(self) -> int:
        """The number of elements: the product of the orbit lengths."""
        return prod(len(level.orbit) for level in self.levels)

    def extend(self, generator: Permutation) -> None:
        """Adds a generator that is not yet an element and verifies the chain of the larger group."""
        packed = self.pack(generator)
        self._generators = (*self._generators, generator)
        self._bound = self._order_bound()
        residue, last = self.sift(packed)
        self._insert(residue, 0, last)
        # What was drawn at random filled the chain of the smaller group.
        self._randomised = False
        self._verify()

    def _order_bound(self) -> int | None:
        """An upper bound on the order, if any is known."""
        known = (order_bound(self._generators, self.rows.degree), self._within)
        return min((bound for bound in known if bound is not None), default=None)

    def sift(self, packed: Table, start: int = 0) -> tuple[Table, int]:
        """Divides by representatives level by level; the residue is one exactly for members."""
        multiply = self.rows.send
        for index in range(start, len(self.levels)):
            level = self.levels[index]
            undo = level.inverse.get(packed[level.point])
            if undo is None:
                return packed, index
            packed = multiply(packed, undo)
        return packed, len(self.levels)

    def contains(self, packed: Table) -> bool:
        """Whether the element belongs to the group."""
        residue, level = self.sift(packed)
        return level == len(self.levels) and residue == self.rows.one

    def elements(self) -> Iterator[Table]:
        """Every element once: products of one representative per level, deepest level first."""
        multiply = self.rows.send
        listed = [self.rows.one]
        for level in reversed(self.levels):
            representatives = level.representative.values()
            listed = [multiply(element, coset) for coset in representatives for element in listed]
        yield from listed

    def stabilizer_generators(self, depth: int) -> list[Permutation]:
        """Generators of the pointwise stabiliser of the first ``depth`` base points."""
        if depth >= len(self.levels):
            return []
        return [self.unpack(packed) for packed in self.levels[depth].generators]

    def random_element(self, rng: Random) -> Table:
        """A uniformly distributed element."""
        result = self.rows.one
        for level in reversed(self.levels):
            point = level.orbit[rng.randrange(len(level.orbit))]
            result = self.rows.send(result, level.representative[point])
        return result

    def _first_level_moved(self, packed: Table) -> int:
        for index, level in enumerate(self.levels):
            if packed[level.point] != level.point:
                return index
        return len(self.levels)

    def _insert(self, packed: Table, first: int, last: int) -> None:
        """Adds a strong generator, which fixes the base points before ``last``, to levels first … last."""
        if last == len(self.levels):
            moved = next(point for point in range(self.rows.degree) if packed[point] != point)
            self.levels.append(Level(moved, self.rows.one))
        for index in range(first, last + 1):
            self._room -= self.levels[index].add(packed, self.rows, self._room)

    def _verify(self) -> None:
        """Sifts every Schreier generator, deepest level first; repairs the chain until all are members."""
        # By Schreier's lemma the Schreier generators of an orbit generate the stabiliser of its point. So a
        # level is right once all of them sift to one through the levels below, which are right already.
        index = len(self.levels) - 1
        while index >= 0:
            # The chain's order never exceeds the group's; once it reaches an upper bound it is complete.
            if self._bound is not None and self.order == self._bound:
                return
            failure = self._first_failure(index)
            if failure is None:
                index -= 1
                continue
            residue, last = failure
            if self._randomised:
                self._insert(residue, index + 1, last)
                index = last
            else:
                self._fill_at_random()
                index = len(self.levels) - 1

    def _first_failure(self, index: int) -> tuple[Table, int] | None:
        level = self.levels[index]
        multiply, representative = self.rows.send, level.representative
        for number, generator in enumerate(level.generators):
            for position in range(level.checked[number], len(level.orbit)):
                point = level.orbit[position]
                product = multiply(representative[point], generator)
                image = generator[point]
                if product == representative[image]:
                    continue
                residue, last = self.sift(multiply(product, level.inverse[image]), index + 1)
                if last < len(self.levels) or residue != self.rows.one:
                    level.checked[number] = position
                    return residue, last
            level.checked[number] = len(level.orbit)
        return None

    def _fill_at_random(self) -> None:
        """Sifts random elements (product replacement) until ``PATIENCE`` of them in a row are members."""
        self._randomised = True
        draw = product_replacement(self.levels[0].generators, self.rows)
        members = 0
        while members < PATIENCE and not (self._bound is not None and self.order == self._bound):
            residue, last = self.sift(next(draw))
            if last == len(self.levels) and residue == self.rows.one:
                members += 1
                continue
            members = 0
            self._insert(residue, 0, last)


def product_replacement(generators: Sequence[Table], rows: Rows) -> Iterator[Table]:
    """Nearly random elements of a group (the rattle); seeded, hence reproducible."""
    rng = Random(len(generators))
    pool = list(generators)
    while len(pool) < 8:
        pool.extend(generators)
    last = rows.one
    step = 0
    while True:
        first, second = rng.sample(range(len(pool)), 2)
        other = pool[second] if step % 2 else rows.matching(pool[second], rows.one)
        pool[first] = rows.send(pool[first], other)
        last = rows.send(last, pool[first])
        step += 1
        if step > 20:
            yield last


def order_bound(generators: Sequence[Permutation], degree: int) -> int | None:
    """Upper bound on the order: the product of all |orbit|!, halved if no generator is odd.

    ``None`` beyond 2,000 points.
    """
    if degree > 2000:
        return None
    # A group lies in the product of the symmetric groups of its orbits; if it is even, in half of that.
    bound = prod(factorial(len(orbit)) for orbit in orbits(generators, degree))
    even = all(is_even(generator) for generator in generators)
    return bound // 2 if even and bound > 1 else bound
