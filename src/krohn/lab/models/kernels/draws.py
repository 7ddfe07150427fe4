"""The draws of ``krohn.lab.random_streams`` inside Triton kernels."""

# Bodies under triton.jit are Triton, not Python: they carry no annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

import torch
import triton
from torch import Tensor
from triton import language as tl

from krohn.lab.models.kernels.plain import Dropout

_LINES = 128


@triton.jit
def _mix(value):
    # SplitMix64's finaliser, as in krohn.lab.random_streams
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB
    return value ^ (value >> 31)


@triton.jit
def strides(count):
    """The increment of a stream's counter over ``count`` draws; increments add up in any order."""
    return count.to(tl.uint64) * 0x9E3779B97F4A7C15


@triton.jit
def counter(keys, replicate):
    """The counter of a replicate's stream before its first draw."""
    return tl.load(keys + replicate).to(tl.uint64, bitcast=True)


@triton.jit
def kept(counters, threshold):
    """True where the draw of a counter reaches the threshold, as in ``random_streams.dropout_factors``."""
    return (_mix(_mix(counters)) >> 40).to(tl.int32) >= threshold


def threshold(rate: float) -> int:
    """Draws below this are dropped, as in ``random_streams.dropout_factors``."""
    return min(round(rate * (1 << 24)), (1 << 24) - 1)


@triton.jit
def _mask(keys, out, lines, length, threshold, WORDS: tl.constexpr, LINES: tl.constexpr):
    """One 64-bit word per thread, bit by bit: no communication between threads."""
    replicate, word = tl.program_id(2), tl.program_id(1)
    line = tl.program_id(0) * LINES + tl.arange(0, LINES)
    state = counter(keys, replicate) + strides(line.to(tl.int64) * length + word * 64 + 1)
    packed = tl.zeros([LINES], tl.uint64)
    for bit in range(64):
        packed |= kept(state, threshold).to(tl.uint64) << bit
        state += 0x9E3779B97F4A7C15
    place = out + (replicate.to(tl.int64) * lines + line) * WORDS + word
    tl.store(place, packed.to(tl.int64, bitcast=True), mask=line < lines)


def words(length: int) -> int:
    """Number of 64-bit words that hold ``length`` bits."""
    return -(-length // 64)


def mask(dropout: Dropout, lines: int, length: int) -> Tensor:
    """Dropout's keep-mask for ``lines`` lines of ``length`` weights per replicate, one bit per weight.

    Words [R, lines, ⌈length / 64⌉]: bit c of word w is weight 64·w + c.
    """
    result = torch.empty(
        len(dropout.keys), lines, words(length), dtype=torch.int64, device=dropout.keys.device
    )
    _mask[(triton.cdiv(lines, _LINES), words(length), len(result))](
        dropout.keys, result, lines, length, threshold(dropout.rate),
        WORDS=words(length), LINES=_LINES, num_warps=4,
    )  # fmt: skip
    return result
