"""Transformations as tuples of images, permutations among them, and a packed form that multiplies fast.

The product is ``(f * g)(q) = g(f(q))``: first ``f``, then ``g``, as words act.

Packed, a transformation of up to 256 points is ``bytes`` and a product is one ``bytes.translate``; beyond
that it is a tuple and a product is one ``operator.itemgetter``. Both are hashable and compare by value. A
*table* is a transformation padded so that others can be sent through it.
"""

from collections.abc import Callable, Iterable, Sequence
from math import isqrt, lcm
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import letter_type, whole
from krohn.errors import InvalidInput

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
