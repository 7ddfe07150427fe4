"""Maximal members of a family of sets strictly inside a given member."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# Below this many sets a list comprehension beats the fixed cost of array calls.
_ARRAY_THRESHOLD = 600
_WORD = 64


class TileSearch:
    """The family sorted by decreasing size, searched one representative at a time."""

    def __init__(self, masks: Sequence[int], sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._masks = masks
        self._order = sorted(range(len(masks)), key=sizes.__getitem__, reverse=True)
        self._sorted = [masks[number] for number in self._order]
        self._start: dict[int, int] = {}  # size -> first position of a smaller set
        for position, number in enumerate(self._order):
            self._start[sizes[number]] = position + 1
        self._number = dict(zip(self._sorted, self._order, strict=True))
        self._array: npt.NDArray[np.uint64] | None = None
        if len(masks) > _ARRAY_THRESHOLD and masks[0].bit_length() <= _WORD:
            self._array = np.array(self._sorted, dtype=np.uint64)

    def tiles_of(self, number: int) -> tuple[int, ...]:
        """The tiles of a set, largest first, then in breadth-first order."""
        candidates = self._inside(number)
        tiles: list[int] = []
        while candidates:
            largest = candidates[0]
            if largest & (largest - 1) == 0:  # only singletons are left, and none lies in another
                tiles += candidates
                break
            tiles.append(largest)
            outside = ~largest
            candidates = [mask for mask in candidates if mask & outside]
        index = self._number
        return tuple([index[mask] for mask in tiles])

    def _inside(self, number: int) -> list[int]:
        outside = ~self._masks[number]
        start = self._start[self._sizes[number]]
        if self._array is None:
            return [mask for mask in self._sorted[start:] if not mask & outside]
        rest = self._array[start:]
        kept = (rest & np.uint64(outside & (1 << _WORD) - 1)) == 0
        inside: list[int] = rest[kept].tolist()
        return inside
