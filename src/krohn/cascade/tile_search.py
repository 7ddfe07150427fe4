"""The tiles of an image set: the maximal members of the family strictly inside it."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_ARRAY_THRESHOLD = 600  # with fewer sets a list comprehension beats the fixed cost of array calls
_WORD = 64


class TileSearch:
    """The sets of more than one state by decreasing size, searched one representative at a time.

    Every single state is in the family, so the states that no larger tile covers are tiles themselves.
    """

    def __init__(self, masks: Sequence[int], number: dict[int, int]) -> None:
        self._number = number
        self._full = masks[0]
        self._sorted = sorted(masks[masks[0].bit_length() + 1 :], key=int.bit_count, reverse=True)
        # size -> first position of a smaller set
        self._start = {mask.bit_count(): position for position, mask in enumerate(self._sorted, 1)}
        self._array: npt.NDArray[np.uint64] | None = None
        if len(masks) > _ARRAY_THRESHOLD and self._full.bit_length() <= _WORD:
            self._array = np.array(self._sorted, dtype=np.uint64)

    def tiles_of(self, whole: int) -> tuple[int, ...]:
        """Numbers of the tiles of a set given by its mask, largest first, then in breadth-first order."""
        size = whole.bit_count()
        if size == 2:  # its two states; {q} is set number 1 + q
            return ((whole & -whole).bit_length(), whole.bit_length())
        # By decreasing size: the first is inside no other, so it is a tile, and those inside it are none.
        candidates = self._inside(whole, size)
        if not candidates and whole == self._full:
            return tuple(range(1, size + 1))
        tiles: list[int] = []
        left = whole
        while candidates:
            largest = candidates[0]
            tiles.append(self._number[largest])
            outside = ~largest
            left &= outside
            candidates = [mask for mask in candidates if mask & outside]
        while left:
            tiles.append((left & -left).bit_length())
            left &= left - 1
        return tuple(tiles)

    def _inside(self, whole: int, size: int) -> list[int]:
        start = self._start.get(size, 0)  # no other set has the size of Q
        outside = ~whole
        if self._array is None:
            return [mask for mask in self._sorted[start:] if not mask & outside]
        rest = self._array[start:]
        inside: list[int] = rest[rest & np.uint64(outside & (1 << _WORD) - 1) == 0].tolist()
        return inside
