"""Block codes from random bits, fair or weighted, with exact probabilities."""

from typing import Any

import numpy as np
import numpy.typing as npt

UnsignedArray = npt.NDArray[np.unsignedinteger[Any]]


class BlockDice:
    """Draws codes of ``size`` throws of one die, the first throw as the most significant digit.

    A die is fair, or it has two faces, and ``second`` is the probability of the second one.
    """

    def __init__(self, faces: int, size: int, second: float | None) -> None:
        self.num_codes, self._size, self._second = faces**size, size, second
        self._kind = _kind_for(self.num_codes)

    def draw(self, rng: np.random.Generator, shape: tuple[int, int]) -> UnsignedArray:
        """Independent codes of the given shape."""
        if self._second is not None:
            codes = np.zeros(shape, dtype=self._kind)
            for _ in range(self._size):
                codes = 2 * codes + (rng.random(shape) < self._second)
            return codes
        if self.num_codes == 1:
            return np.zeros(shape, dtype=self._kind)
        # Rejection sampling: every code has an equal share of the values; the few left over are redrawn.
        share, rest = divmod(2 ** (8 * self._kind.itemsize), self.num_codes)
        numbers = self._numbers(rng, shape[0] * shape[1])
        if rest:
            end = self._kind.type(share * self.num_codes)
            late = np.flatnonzero(numbers >= end)
            while len(late):
                numbers[late] = self._numbers(rng, len(late))
                late = late[numbers[late] >= end]
        if share > 1:
            numbers //= self._kind.type(share)
        return numbers.reshape(shape)

    def _numbers(self, rng: np.random.Generator, count: int) -> UnsignedArray:
        """Independent uniform integers of the type: raw 64-bit words, split."""
        raw: npt.NDArray[np.uint64] = rng.bit_generator.random_raw(-(-count * self._kind.itemsize // 8))
        return raw.view(self._kind)[:count]


def _kind_for(num_codes: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest unsigned type that rejects at most a sixteenth of its values."""
    for kind in (np.uint8, np.uint16):
        numbers = int(np.iinfo(kind).max) + 1
        if num_codes <= numbers and 16 * (numbers % num_codes) <= numbers:
            return np.dtype(kind)
    return np.dtype(np.uint32)
