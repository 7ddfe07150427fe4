"""Random numbers as a pure function of (key, counter), so that a replicate's draws depend on nothing else.

The mixer is the finaliser of SplitMix64 (Steele, Lea, Flood 2014) in wrapping 64-bit arithmetic: the
same bits on every device, whatever the number of replicates, the chunking or the order of the calls.
"""

import math
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_FIRST = 0xBF58476D1CE4E5B9 - (1 << 64)
_SECOND = 0x94D049BB133111EB - (1 << 64)
_LOW_32 = 0xFFFFFFFF
_ALL_64 = 0xFFFFFFFFFFFFFFFF

_Rounds = tuple[tuple[np.uint64, np.uint64 | None], ...]
_BLOCK = 32768  # draws per block: they fit in the cache
_STRIDES = np.arange(1, _BLOCK + 1, dtype=np.uint64) * np.uint64(_GOLDEN & _ALL_64)
_ROUND: _Rounds = (
    (np.uint64(30), np.uint64(_FIRST & _ALL_64)),
    (np.uint64(27), np.uint64(_SECOND & _ALL_64)),
    (np.uint64(31), None),
)
_TWO_ROUNDS = (*_ROUND, *_ROUND[:2])  # last shift omitted: it changes only lower bits


def mix(value: Tensor) -> Tensor:
    """A bijective scrambling of int64 values."""
    if value.device.type == "cpu":
        return torch.from_numpy(_scramble_copy(value.numpy().view(np.uint64)).view(np.int64))
    value = (value ^ _shift_right(value, 30)) * _FIRST
    value = (value ^ _shift_right(value, 27)) * _SECOND
    return value ^ _shift_right(value, 31)


def derive(key: Tensor, *counters: Tensor | int) -> Tensor:
    """A new key for each combination of ``counters``; shapes broadcast."""
    return reduce(lambda state, counter: mix(state + _stride(counter)), counters, key)


def integers(key: Tensor, bound: int | Tensor) -> Tensor:
    """Integers in [0, bound) from keys: the high 32 bits scaled, bias below bound/2^32."""
    return ((mix(key) >> 32 & _LOW_32) * bound) >> 32


def uniform(key: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Numbers in (0, 1), on a grid fine enough for ``dtype`` and never 0 or 1."""
    return ((mix(key) >> 40 & 0xFFFFFF).to(dtype) + 0.5) / (1 << 24)


def dropout_factors(keys: Tensor, count: int, rate: float, dtype: torch.dtype) -> Tensor:
    """Dropout factors [R, count]: 0 with probability ``rate`` to the nearest 2⁻²⁴, else 1/(1 − rate).

    Entry i is kept if the upper 24 bits of the draw ``derive(key, i)`` reach the threshold, on every device.
    """
    scale = 1.0 / (1.0 - rate)
    threshold = min(round(rate * (1 << 24)), (1 << 24) - 1)
    if keys.device.type == "cpu":
        factors = torch.empty(len(keys), count, dtype=dtype if dtype == torch.float64 else torch.float32)
        _toss(keys.numpy().view(np.uint64), threshold, scale, factors.numpy())
        return factors.to(dtype)
    index = torch.arange(count, device=keys.device)
    kept = (mix(derive(keys[:, None], index)) >> 40 & 0xFFFFFF) >= threshold
    return kept.to(dtype) * scale


def normal(key: Tensor) -> Tensor:
    """Standard normal numbers in float32, by Box and Muller."""
    radius = torch.sqrt(-2.0 * torch.log(uniform(key)))
    return radius * torch.cos(2.0 * math.pi * uniform(derive(key, 0)))


def replicate_keys(seed: int, count: int, *, first: int = 0, device: torch.device | str = "cpu") -> Tensor:
    """Key of replicate r for a seed: the same for every number of replicates."""
    return derive(torch.full((count,), seed, dtype=torch.int64, device=device), _range(first, count, device))


def _toss(keys: npt.NDArray[np.uint64], threshold: int, scale: float, factors: npt.NDArray[Any]) -> None:
    """The two rounds, block by block: in place, unsigned, skipping what cannot reach the upper bits."""
    count = factors.shape[1]
    size = min(_BLOCK, count)
    room, spare = np.empty(size, dtype=np.uint64), np.empty(size, dtype=np.uint64)
    limit, factor = np.uint64(threshold << 40), factors.dtype.type(scale)
    for row, key in enumerate(keys.tolist()):
        for start in range(0, count, _BLOCK):
            part = factors[row, start : start + _BLOCK]
            value, moved = room[: len(part)], spare[: len(part)]
            np.add(_STRIDES[: len(part)], np.uint64((key + start * _GOLDEN) & _ALL_64), value)
            _scramble(value, moved, _TWO_ROUNDS)
            np.multiply(np.greater_equal(value, limit), factor, part)


def _scramble_copy(value: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """As ``mix``; on a CPU numpy's unsigned integers need fewer operations, with less overhead each."""
    value = np.array(value)
    _scramble(value, np.empty_like(value), _ROUND)
    return value


def _scramble(value: npt.NDArray[np.uint64], moved: npt.NDArray[np.uint64], rounds: _Rounds) -> None:
    """Shifts and multiplies in place; ``moved`` is a scratch buffer of the same size."""
    for shift, factor in rounds:
        np.right_shift(value, shift, moved)
        np.bitwise_xor(value, moved, value)
        if factor is not None:
            np.multiply(value, factor, value)


def _stride(counter: Tensor | int) -> Tensor | int:
    if isinstance(counter, Tensor):
        return (counter + 1) * _GOLDEN
    return ((counter + 1) * _GOLDEN + (1 << 63)) % (1 << 64) - (1 << 63)  # wraps as int64 does


def _range(first: int, count: int, device: torch.device | str) -> Tensor:
    return torch.arange(first, first + count, dtype=torch.int64, device=device)


def _shift_right(value: Tensor, bits: int) -> Tensor:
    return (value >> bits) & ((1 << (64 - bits)) - 1)
