"""The search for all elements in long layers: all right products of a layer in a few array operations."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from krohn.algebra.code_index import CodeIndex
from krohn.algebra.packed_rows import PackedRows, Words
from krohn.algebra.transformation import ImageArray

IntArray = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LongLayers:
    """The end of a search that began with some elements. Number 0 is the empty word.

    Attributes:
        rows: all elements, those known before first.
        right: the right products that were missing, element by element.
        edges: for each new element the place in ``right`` where it first occurs.
        sizes: the number of new elements of each layer.
    """

    rows: ImageArray
    right: IntArray
    edges: Ints
    sizes: list[int]


def long_layers(
    letters: Sequence[Sequence[int]], known: ImageArray, done: int, limit: int, seed: int = 0
) -> LongLayers:
    """Continues a search until nothing is new; the first ``done`` of the known elements need no products.

    Stops after the layer that passes ``limit`` elements in all.
    """
    packing, index = PackedRows(letters), CodeIndex()
    words = packing.pack(known)
    factors = _factors(words.shape[1], seed)
    index.enter(_codes(words[1:], factors))  # not the empty word, which equals no other
    before = begin = len(index)
    found, computed, answers, edges = [words], [], [], []
    layer = words[done:]
    while len(layer) and index.distinct <= limit:
        products = packing.products(layer)
        numbers, new = index.enter(_codes(products, factors))
        layer = products.take(new, axis=0)
        found.append(layer)
        computed.append(products)
        answers.append(numbers)
        edges.append(new + begin)
        begin = len(index)
    rows, first = np.concatenate(found), np.concatenate(edges)
    number_of = np.arange(1, len(index) + 1, dtype=np.int32)
    number_of[first] = np.arange(before + 1, len(rows), dtype=np.int32)
    right = number_of.take(np.concatenate(answers))
    # Rows with equal codes must have been equal throughout; if not, other factors tell them apart.
    if factors is not None and not np.array_equal(rows.take(right, axis=0), np.concatenate(computed)):
        return long_layers(letters, known, done, limit, seed + 1)
    return LongLayers(packing.unpack(rows), right, first - before, [len(new) for new in edges])


@cache
def _factors(width: int, seed: int) -> Ints | None:
    """Odd multipliers for the half words of a row; none if a row is its own code."""
    if width == 1:
        return None
    return np.random.SeedSequence(seed).generate_state(2 * width, np.uint64).view(np.int64) | 1


def _codes(words: Words, factors: Ints | None) -> Ints:
    """One number for each row: the row itself if it is a single word, else a hash."""
    if factors is None:
        return words[:, 0]
    # By half words, lest the product of a high byte lose most of its bits.
    codes: Ints = words.view(np.int32).dot(factors)
    return codes
