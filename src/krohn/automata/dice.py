"""Block codes from random bits, fair or weighted, exactly as likely as they should be."""

from typing import Any

import numpy as np
import numpy.typing as npt

UnsignedArray = npt.NDArray[np.unsignedinteger[Any]]


class BlockDice:
    """Draws codes of ``size`` throws of one die, the first throw as the most significant digit."""

    def __init__(self, faces: int, size: int, weights: tuple[float, ...] | None) -> None:
        self.num_codes = faces**size
        self._kind = _kind_for(self.num_codes)
        self._weighted = None
        if weights is not None:
            likely = np.ones(1)
            for _ in range(size):
                likely = np.outer(likely, weights).ravel()
            self._weighted = _alias_table(likely)

    def draw(self, rng: np.random.Generator, shape: tuple[int, int]) -> UnsignedArray:
        """Independent codes of the given shape."""
        if self._weighted is not None:
            return self._draw_weighted(rng, shape)
        if self.num_codes == 1:
            return np.zeros(shape, dtype=self._kind)
        # Every code has an equal share of the numbers of this kind; the few left over are drawn again.
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
        """Independent numbers, all of the kind equally likely: raw 64-bit words, cut."""
        raw: npt.NDArray[np.uint64] = rng.bit_generator.random_raw(-(-count * self._kind.itemsize // 8))
        return raw.view(self._kind)[:count]

    def _draw_weighted(self, rng: np.random.Generator, shape: tuple[int, int]) -> UnsignedArray:
        assert self._weighted is not None
        threshold, alias, column_bits = self._weighted
        raw = rng.bit_generator.random_raw(shape[0] * shape[1]).reshape(shape)
        column = (raw & np.uint64(2**column_bits - 1)).astype(np.uint16)
        keep = raw >> np.uint64(column_bits) < threshold[column]
        return np.where(keep, column, alias[column])


def _kind_for(num_codes: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest unsigned type of which at most a sixteenth is left over."""
    for kind in (np.uint8, np.uint16):
        numbers = int(np.iinfo(kind).max) + 1
        if num_codes <= numbers and 16 * (numbers % num_codes) <= numbers:
            return np.dtype(kind)
    return np.dtype(np.uint32)


def _alias_table(weights: npt.NDArray[np.float64]) -> tuple[UnsignedArray, UnsignedArray, int]:
    """Walker's alias method: column i keeps i below a threshold and gives its alias above it."""
    bits = max(0, int(len(weights) - 1).bit_length())
    columns = 2**bits
    share = np.zeros(columns)
    share[: len(weights)] = weights / weights.sum() * columns
    alias = np.arange(columns)
    small = [i for i in range(columns) if share[i] < 1]
    large = [i for i in range(columns) if share[i] >= 1]
    keep = np.ones(columns)
    while small and large:
        poor, rich = small.pop(), large[-1]
        keep[poor], alias[poor] = share[poor], rich
        share[rich] -= 1 - share[poor]
        if share[rich] < 1:
            small.append(large.pop())
    # 64 − bits random bits are compared; one less than full scale avoids an overflow at keep = 1.
    scale = 2.0 ** (64 - bits)
    threshold = np.array([min(int(k * scale), int(scale) - 1) for k in keep], dtype=np.uint64)
    return threshold, alias.astype(np.uint16), bits
