"""How long a word the paper's heads bear in a float format: first-order estimates, made before building.

A head is lost when rounding moves two scores by more than the gap between them. A score of size γ is a few
roundings of γ away from its value, so what counts is γ·u against the gap. What does work is for the
certificate to say; ``benchmarks/precision_limits.py`` compares these limits with runs.
"""

from collections.abc import Callable, Iterator
from math import cos, log, pi

from krohn.construct.lowering.precision import UNIT
from krohn.construct.paper.scan import scan_gamma

LARGEST = {"float64": 1.7e308, "float32": 3.4e38, "float16": 65504.0, "bfloat16": 3.3e38}
ROUNDINGS = 16
"""Of two scores of two products, each of a rounded weight, position and query."""

MAX_LENGTH = 1 << 30


def circle_fault(states: int, length: int, dtype: str) -> str | None:
    """Why one circle of positions (Theorem 1) cannot be told apart in the format, if it cannot."""
    gamma = scan_gamma(states, length)
    if gamma > LARGEST[dtype] / 4:
        return f"scores of size {gamma:.3g} overflow {dtype}"
    # What is left of the gap must still make softmax one-hot up to 0.1/(|Q|T).
    left = gamma * (1.0 - cos(pi / max(length, 2)) - ROUNDINGS * UNIT[dtype])
    if left < log(10 * states * length):
        return f"{dtype} cannot tell neighbours on a circle of {2 * length} positions apart"
    return None


def composition_fault(states: int, dtype: str) -> str | None:
    """Why maps of so many states cannot be composed in the format, if they cannot."""
    reach = 2 * states * (states + 1)
    if reach * UNIT[dtype] > 1:
        return f"composing maps of {states} states takes integers up to {reach:,}, beyond {dtype}"
    return None


def counter_fault(modulus: int, length: int, dtype: str) -> str | None:
    """Why a prefix sum of residues cannot be recovered from its mean, if it cannot."""
    reach = (modulus - 1) * length
    if 8 * reach * UNIT[dtype] > 1 / 4:
        return f"a sum up to {reach:,} would be off by more than 1/4 in {dtype}"
    return None


def memory_fault(states: int, length: int, dtype: str) -> str | None:
    """Why recency j/T cannot be told apart by scores of size 2T·log(16|Q|T), if it cannot."""
    scale = length * log(16 * states * length)
    if 2 * scale > LARGEST[dtype] or 8 * UNIT[dtype] * length > 1:
        return f"{dtype} cannot tell {length} neighbouring positions apart"
    return None


def grid_fault(walls: int, total: int, dtype: str, modular: bool) -> str | None:
    """Why the latest visit cannot be told from the one before it, if it cannot."""
    if modular:
        recency = (1.0 - cos(2.0 * pi / (walls + 1))) / 2.0 / total
    else:
        recency = (1.0 - cos(pi / (2.0 * total))) / (2.0 * log(2.0)) / (2.0 * total)
    if 8 * UNIT[dtype] > recency:
        return f"{dtype} cannot tell visits apart that differ by {recency:.1e} of a score"
    return None


def longest(faults: Callable[[int], Iterator[str]]) -> int:
    """The largest length without a fault; 0 if there is none."""
    low, high = 0, MAX_LENGTH
    while low < high:
        middle = (low + high + 1) // 2
        if next(faults(middle), None) is None:
            low = middle
        else:
            high = middle - 1
    return low
