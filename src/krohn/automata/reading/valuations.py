"""Letters for machines that read bits: classes of valuations that no label of the machine tells apart.

A set of valuations is an integer with one bit for each of them, 2ⁿ for n variables.
"""

from collections import Counter
from collections.abc import Iterable

from krohn.errors import LimitExceeded

MAX_BITS = 16
MAX_CLASSES, MAX_LABELS = 4_096, 20_000
_MAX_WORK = 1 << 31
"""Bits of valuations that may be compared for the classes."""


def every(bits: int) -> int:
    """The set of all valuations."""
    if bits > MAX_BITS:
        raise LimitExceeded(
            f"a machine may read at most {MAX_BITS} bits at once, {1 << MAX_BITS:,} valuations; got {bits:,}"
        )
    return (1 << (1 << bits)) - 1


def variable(index: int, bits: int) -> int:
    """The valuations in which that variable is true."""
    block = ((1 << (1 << index)) - 1) << (1 << index)
    for level in range(index + 1, bits):
        block |= block << (1 << level)
    return block


def classes(sets: Iterable[int], bits: int) -> list[tuple[int, str]]:
    """The coarsest partition of the valuations that each set is a union of, with names.

    A class is named by its cube, as ``1-0``; one that is no cube by that of its least member and ``…``.
    """
    everything = every(bits)
    blocks, work = [everything], 0
    for one in dict.fromkeys(sets):
        work += len(blocks) << bits
        blocks = [part for block in blocks for part in (block & one, block & ~one & everything) if part]
        if len(blocks) > MAX_CLASSES or work > _MAX_WORK:
            raise LimitExceeded(
                f"the labels of a machine may tell at most {MAX_CLASSES:,} classes of valuations apart; "
                "these tell more: split its inputs"
            )
    cubes = [_cube(block, bits) for block in blocks]
    times = Counter(cubes)
    names = [
        cube if times[cube] == 1 and 1 << cube.count("-") == block.bit_count() else f"{_least(block, bits)}…"
        for block, cube in zip(blocks, cubes, strict=True)
    ]
    return list(zip(blocks, names, strict=True))


def _cube(block: int, bits: int) -> str:
    """The smallest cube around the class."""
    ones = (variable(index, bits) for index in range(bits))
    return "".join("1" if not block & ~one else "0" if not block & one else "-" for one in ones) or "-"


def _least(block: int, bits: int) -> str:
    low = (block & -block).bit_length() - 1
    return "".join(str(low >> index & 1) for index in range(bits))
