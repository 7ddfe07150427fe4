"""Block codes from random bits, fair or weighted, exactly as likely as they should be."""

from typing import Any

import numpy as np
import numpy.typing as npt

UnsignedArray = npt.NDArray[np.unsignedinteger[Any]]


class BlockDice:
    """Draws codes of ``size`` throws of one die, the first throw as the most significant digit."""

    def __init__(self, faces: int, size: int, weights: tuple[float, ...] | None) -> None:
        self.num_codes = faces**size
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
        if self.num_codes <= 2**16 and self.num_codes & (self.num_codes - 1) == 0:
            # A power of two: cut raw 64-bit words into bytes or pairs of bytes and keep the low bits.
            count = shape[0] * shape[1]
            width = 1 if self.num_codes <= 2**8 else 2
            raw: npt.NDArray[np.uint64] = rng.bit_generator.random_raw(-(-count * width // 8))
            cut: UnsignedArray = raw.view(np.uint8) if width == 1 else raw.view(np.uint16)
            return np.bitwise_and(cut[:count].reshape(shape), cut.dtype.type(self.num_codes - 1))
        small = np.uint16 if self.num_codes <= 2**16 else np.uint32
        return rng.integers(0, self.num_codes, size=shape, dtype=small)

    def _draw_weighted(self, rng: np.random.Generator, shape: tuple[int, int]) -> UnsignedArray:
        assert self._weighted is not None
        threshold, alias, column_bits = self._weighted
        raw = rng.bit_generator.random_raw(shape[0] * shape[1]).reshape(shape)
        column = (raw & np.uint64(2**column_bits - 1)).astype(np.uint16)
        keep = raw >> np.uint64(column_bits) < threshold[column]
        return np.where(keep, column, alias[column])


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
