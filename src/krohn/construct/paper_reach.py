"""The longest words that the paper's heads support in a float format: estimates, made before building.

A head is lost when rounding moves two scores by more than the gap between them. A score of size γ is a few
roundings of γ away from its value, so what matters is γ·u against the gap. What does work is decided by
the certificate; ``research/precision_limits.py`` compares these limits with runs.
"""

from collections.abc import Iterator
from math import pi

from krohn.base.portable import FLOATS, cos, log
from krohn.paper.grid_heads import MOD_LOGIT_GAP, key_gap
from krohn.paper.theorem1 import scan_gamma

ROUNDINGS = 16
"""Roundings in two scores of two products, each of a rounded weight, position and query."""
VISIT_ROUNDINGS = {"log_depth": 1 << 20}
"""Roundings of a visit's score that the printed MLPs of Theorem 3 tolerate, if not ``MOST_VISITS``."""
MOST_VISITS = 1 << 13
STEP_ERROR = {"sin": 1 / 12}
"""Tolerated error of a sum whose sine is taken, if not ``MOST_STEPS``."""
MOST_STEPS = 2 / 9


def circle_faults(states: int, length: int, dtype: str) -> Iterator[str]:
    """Why the points of one circle (Theorem 1) cannot be distinguished in the format, if they cannot."""
    gamma = scan_gamma(states, length)
    if gamma > FLOATS[dtype].largest / 4:
        yield f"scores of size {gamma:.3g} overflow {dtype}"
        return
    # The remaining gap must still make softmax one-hot up to 0.1/(|Q|T).
    left = gamma * (1.0 - cos(pi / max(length, 2)) - ROUNDINGS * FLOATS[dtype].unit)
    if left < log(10 * states * length):
        yield f"{dtype} cannot tell neighbours on a circle of {2 * length} positions apart"


def composition_faults(states: int, dtype: str) -> Iterator[str]:
    """Why maps of this many states cannot be composed in the format, if they cannot."""
    reach = 2 * states * (states + 1)
    if reach * FLOATS[dtype].unit > 1:
        yield f"composing maps of {states} states takes integers up to {reach:,}, beyond {dtype}"


def sum_error(total: int) -> float:
    """Roundings of a mean of this many steps, in any summation order: of the weights and of the sum."""
    return 1.1 * total + 80


def counter_faults(modulus: int, length: int, dtype: str, counting: str = "relu") -> Iterator[str]:
    """Why a prefix sum of residues cannot be recovered from its mean, if it cannot."""
    reach, room = (modulus - 1) * length, STEP_ERROR.get(counting, MOST_STEPS)
    if reach * sum_error(length) * FLOATS[dtype].unit > room:
        yield f"a sum up to {reach:,} would be off by more than {room:.2g} in {dtype}, in some order"


def memory_faults(states: int, length: int, dtype: str) -> Iterator[str]:
    """Why recency j/T cannot be resolved by scores of size 2T·log(16|Q|T), if it cannot."""
    scale = length * log(16 * states * length)
    if 2 * scale > FLOATS[dtype].largest or 8 * FLOATS[dtype].unit * length > 1:
        yield f"{dtype} cannot tell {length} neighbouring positions apart"


def grid_faults(walls: int, total: int, dtype: str, variant: str, circle: str) -> Iterator[str]:
    """Why a head cannot distinguish the latest visit from the one before it, if it cannot."""
    gap, needed = key_gap(walls), 8.0
    recency = gap / total
    if not variant.startswith("mod"):
        recency = (1.0 - cos(pi / (2.0 * total))) / (2.0 * log(2.0)) / (2.0 * total)
        needed = float(VISIT_ROUNDINGS.get(variant, MOST_VISITS))
    elif circle == "sin":  # the angle is as far off as the sum: up to 8 times that in the lead of a visit
        angle = 4.0 * pi * total / (walls + 1) * sum_error(total)
        left = max(1.0 - log(8.0 * total) / MOD_LOGIT_GAP, 1e-9)
        needed = 8.0 * angle / left
    if needed * FLOATS[dtype].unit > recency:
        yield f"{dtype} cannot tell visits apart that differ by {recency:.1e} of a score"
