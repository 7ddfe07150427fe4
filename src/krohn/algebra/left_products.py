"""The left Cayley graph, read off the right one: for a word ``p b`` and a letter a, ``a (p b) = (a p) b``."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]

SHORT_LAYER = 40  # products in an average layer below which a loop is quicker than array operations


def left_products(right: IntArray, prefix: Ints, last: Ints, sizes: Sequence[int]) -> IntArray:
    """``left[i, a]``: the number of letter a times element i; number 0 is the empty word.

    ``prefix`` and ``last`` give the words of all elements but the empty word; ``sizes`` counts the words of
    length 0, 1, ….
    """
    short = right.size < SHORT_LAYER * len(sizes)
    return _by_elements(right, prefix, last) if short else _by_layers(right, prefix, last, sizes)


def _by_elements(right: IntArray, prefix: Ints, last: Ints) -> IntArray:
    columns = right.T.tolist()
    words = list(zip(prefix.tolist(), map(columns.__getitem__, last.tolist()), strict=True))
    left = []
    for column in columns:
        products = column[:1]
        for before, times_letter in words:
            products.append(times_letter[products[before]])
        left.append(products)
    return np.array(left, dtype=np.int32).T


def _by_layers(right: IntArray, prefix: Ints, last: Ints, sizes: Sequence[int]) -> IntArray:
    count, flat = right.shape[1], right.ravel()
    # edges[i, a] is the place in the right Cayley graph where the product of a and element i stands.
    edges = np.empty(right.size, dtype=np.int64)
    edges[:count] = np.arange(count)
    heads = (prefix[:, None] * count + edges[:count]).ravel()
    letters = last.repeat(count)
    scaled = flat * np.int64(count)
    begin = 0
    for size in sizes[1:]:
        end = begin + size * count
        products = scaled.take(edges.take(heads[begin:end]))
        np.add(products, letters[begin:end], out=edges[begin + count : end + count])
        begin = end
    return flat.take(edges).reshape(-1, count)
