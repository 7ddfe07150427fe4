"""The search for all elements in short layers: one right product after the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from krohn.algebra.transformation import Row, rows_for


@dataclass(frozen=True, eq=False)
class ShortLayers:
    """The beginning of a search, or all of it. Number 0 is the empty word.

    Attributes:
        rows: the elements found, in short-lex order of their least words.
        right: the numbers of the right products, element by element, as far as they were computed.
        sizes: the number of elements of each layer; the empty word is the first.
    """

    rows: list[Row]
    right: list[int]
    sizes: list[int]


def short_layers(letters: Sequence[Sequence[int]], longest: int, limit: int) -> ShortLayers:
    """Searches until nothing is new, a layer has more than ``longest`` products, or the limit is passed."""
    arithmetic = rows_for(len(letters[0]))
    tables = [arithmetic.table(arithmetic.pack(letter)) for letter in letters]
    rows = [arithmetic.pack(range(len(letters[0])))]
    number: dict[Row, int] = {}
    send = arithmetic.send
    right: list[int] = []
    sizes, size = [1], 1
    while sizes[-1] and (size == 1 or sizes[-1] * len(letters) <= longest) and size <= limit + 1:
        for row in rows[-sizes[-1] :]:
            for table in tables:
                product = send(row, table)
                index = number.setdefault(product, size)
                if index == size:
                    rows.append(product)
                    size += 1
                right.append(index)
        sizes.append(size - sum(sizes))
    return ShortLayers(rows, right, sizes)
