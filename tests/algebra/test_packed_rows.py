import random

import numpy as np
import pytest

from algebra.golden_cases import Letters, times
from krohn.algebra.packed_rows import PackedRows
from krohn.algebra.transformation import image_array


def random_maps(degree: int, count: int) -> Letters:
    rng = random.Random(degree)
    return tuple(tuple(rng.randrange(degree) for _ in range(degree)) for _ in range(count))


@pytest.mark.parametrize("degree", [1, 2, 7, 8, 15, 16, 17, 24, 31, 255, 256, 257, 300])
def test_packed_rows_multiply_like_transformations(degree: int) -> None:
    letters, rows = random_maps(degree, 3), random_maps(degree, 20)
    packing = PackedRows(letters)
    words = packing.pack(image_array(rows))
    assert words.dtype == np.int64
    assert words.shape[1] == (1 if degree <= 16 else -(-degree * (1 if degree <= 256 else 2) // 8))
    assert [tuple(row) for row in packing.unpack(words).tolist()] == list(rows)
    products = [tuple(row) for row in packing.unpack(packing.products(words)).tolist()]
    assert products == [times(row, letter) for row in rows for letter in letters]


@pytest.mark.parametrize("degree", [5, 16, 20, 300])
def test_equal_transformations_have_equal_words(degree: int) -> None:
    """Places left over are the same in every row, multiplied or not."""
    letters, rows = random_maps(degree, 2), random_maps(degree, 10)
    packing = PackedRows(letters)
    naive = [times(row, letter) for row in rows for letter in letters]
    products = packing.products(packing.pack(image_array(rows)))
    assert np.array_equal(products, packing.pack(image_array(naive)))
