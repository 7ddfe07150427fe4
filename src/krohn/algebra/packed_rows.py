"""Transformations packed into 64-bit words: up to 16 states in one word, two states a byte.

Beyond 16 states a row is several words. Places that are left over hold a state that every letter fixes.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from krohn.algebra.transformation import ImageArray, image_array

Words = npt.NDArray[np.int64]

_HALF_BYTES = 16  # states that four bits can name


class PackedRows:
    """Packs transformations and multiplies them by letters, whole arrays at a time."""

    def __init__(self, letters: Sequence[Sequence[int]]) -> None:
        images = image_array(letters)
        self._degree = images.shape[1]
        self._paired = self._degree <= _HALF_BYTES
        self._letters = _pair_tables(images) if self._paired else _padded(images)

    def pack(self, rows: ImageArray) -> Words:
        """Each row as a row of words."""
        if not self._paired:
            return _padded(rows).view(np.int64)
        places = np.full((len(rows), _HALF_BYTES), _HALF_BYTES - 1, dtype=np.uint8)
        places[:, : self._degree] = rows
        return (places[:, ::2] << 4 | places[:, 1::2]).view(np.int64)

    def unpack(self, words: Words) -> ImageArray:
        """The rows of images again."""
        places = words.view(self._letters.dtype)
        if self._paired:
            pairs = places
            places = np.empty((len(words), _HALF_BYTES), dtype=np.uint8)
            np.right_shift(pairs, 4, out=places[:, ::2])
            np.bitwise_and(pairs, 15, out=places[:, 1::2])
        return places[:, : self._degree]

    def products(self, words: Words) -> Words:
        """Every row times every letter, row by row."""
        products = self._letters.take(words.view(self._letters.dtype), axis=1).view(np.int64)
        return products.transpose(1, 0, 2).reshape(-1, words.shape[1])


def _pair_tables(letters: ImageArray) -> ImageArray:
    """For each letter the images of all pairs of states, one pair a byte; further states are fixed."""
    tables: ImageArray = np.empty((len(letters), _HALF_BYTES), dtype=np.uint8)
    tables[:] = np.arange(_HALF_BYTES, dtype=np.uint8)
    tables[:, : letters.shape[1]] = letters
    pairs: ImageArray = np.bitwise_or(tables[:, :, None] << 4, tables[:, None, :])
    return pairs.reshape(len(letters), -1)


def _padded(rows: ImageArray) -> ImageArray:
    """Rows filled up to whole words; where a place is left over, the type holds one more state."""
    degree = rows.shape[1]
    places = -(-degree * rows.itemsize // 8) * 8 // rows.itemsize
    if places == degree:
        return rows
    padded = np.full((len(rows), places), degree, dtype=rows.dtype)
    padded[:, :degree] = rows
    return padded
