"""Transformations in a packed form that multiplies fast, for semigroups and stabiliser chains."""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.words import letter_type

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
