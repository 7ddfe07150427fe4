"""Maximal members of a family of sets strictly inside a given member."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# Below this many sets a list comprehension beats the fixed cost of array calls.
_ARRAY_THRESHOLD = 600
_WORD = 64


class TileSearch:
    """The family sorted by decreasing size, searched one representative at a time."""

    def __init__(self, masks: Sequence[int], number: dict[int, int]) -> None:
        self._number = number
        self._sorted = sorted(masks, key=int.bit_count, reverse=True)
        # size -> first position of a smaller set
        self._start = {mask.bit_count(): position for position, mask in enumerate(self._sorted, 1)}
        self._array: npt.NDArray[np.uint64] | None = None
        if len(masks) > _ARRAY_THRESHOLD and masks[0].bit_length() <= _WORD:
            self._array = np.array(self._sorted, dtype=np.uint64)

    def tiles_of(self, whole: int) -> tuple[int, ...]:
        """Numbers of the tiles of a set given by its mask, largest first, then in breadth-first order."""
        if whole.bit_count() == 2:  # its two states; {q} is set number 1 + q
            return ((whole & -whole).bit_length(), whole.bit_length())
        candidates = self._inside(whole)
        tiles: list[int] = []
        while candidates:
            largest = candidates[0]
            if largest & (largest - 1) == 0:  # only singletons are left, and none lies in another
                tiles += candidates
                break
            tiles.append(largest)
            outside = ~largest
            candidates = [mask for mask in candidates if mask & outside]
        return tuple(map(self._number.__getitem__, tiles))

    def _inside(self, whole: int) -> list[int]:
        outside = ~whole
        start = self._start[whole.bit_count()]
        if self._array is None:
            return [mask for mask in self._sorted[start:] if not mask & outside]
        rest = self._array[start:]
        kept = (rest & np.uint64(outside & (1 << _WORD) - 1)) == 0
        inside: list[int] = rest[kept].tolist()
        return inside
