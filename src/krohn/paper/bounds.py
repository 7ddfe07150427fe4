"""The theorems' bounds, as stated and corrected, the cost of the paper's recursion, and its best network.

The size bounds of the theorems, as the paper states them and as they are after correction.

Both are numbers for one automaton and one length; a built network is compared with both. The MLP bound of
Theorem 2 holds a term |Q|^(2^|Q|), so it is kept as a power of ten when it no longer fits a float.
"""

import math
from dataclasses import dataclass

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, LimitExceeded
from krohn.paper.age_mlp import comparisons
from krohn.paper.gridworlds import Grid, recognise_grid

TOO_MANY_STATES = 1000
"""From here on 2^|Q| times a logarithm no longer fits a float."""
EXACT = 15
"""Powers of ten below which a bound is given as an exact whole number."""


@dataclass(frozen=True)
class Bound:
    """What a theorem promises. ``mlp_width`` is infinite where only ``log10_mlp_width`` is finite."""

    depth: float
    dim: float
    heads: float
    head_dim: float
    mlp_width: float
    max_weight: float
    log10_mlp_width: float = 0.0


@dataclass(frozen=True)
class TheoremBounds:
    """The printed bound, the bound that is true, and why they differ (empty if they do not)."""

    theorem: str
    stated: Bound
    corrected: Bound
    note: str = ""


def scan_bounds(states: int, length: int) -> TheoremBounds:
    """Theorem 1, as stated and corrected."""
    q = max(states, 2)
    norm = max(4 * q + 2, 10 * length * math.sqrt(math.log(q) + math.log(length)))
    depth = (length - 1).bit_length()
    stated = Bound(depth, 2 * q + 2, 2, q, q**2 + q, norm)
    corrected = Bound(depth, 2 * q + 2, 2, q, 4 * q**2 + q, norm)
    return TheoremBounds("scan", stated, corrected, "erratum 7: the printed gadget has width 4|Q|²+|Q|")


def counter_bounds(modulus: int, length: int) -> TheoremBounds:
    """Lemma "modular counter"."""
    width, norm = 4 * modulus * length, 4 * modulus * length + 2
    stated = Bound(1, 3, 1, 1, width, norm)
    return TheoremBounds("counter", stated, Bound(1, 3, 1, 1, width, max(norm, 8 * length)))


def memory_bounds(states: int, length: int) -> TheoremBounds:
    """The memory lemma, as stated and corrected."""
    stated = Bound(1, 4, 1, 2, 4 * states, 2 * length * math.log(states * length))
    norm = max(length * math.log(16 * states * length), 8 * states + 2)
    return TheoremBounds(
        "memory", stated, Bound(1, 4, 1, 2, 4 * states, norm), "erratum 14: norm false if |Q|T < 16"
    )


def solvable_group_bounds(order: int, points: int, length: int) -> TheoremBounds:
    """Theorem "Simulation of solvable groups", for a group on ``points`` points."""
    n = max(points, 2)
    depth = 3 * math.log2(order) if order > 1 else 0.0
    stated = Bound(depth, 2 * order, 2 * order, 1, 20 * n * length * order, 6 * n * length)
    # The shared padding and position channels are counted once more where 2|G| is less than what C_2 needs.
    corrected = Bound(depth, max(2 * order, 3), 2 * order, 1, 20 * n * length * order, 6 * n * length)
    return TheoremBounds("solvable_group", stated, corrected)


def cascade_bounds(
    states: int, letters: int, semigroup: int, length: int, levels: int | None = None
) -> TheoremBounds:
    """Theorem 2, by its last lemma."""
    if states >= TOO_MANY_STATES:
        raise LimitExceeded(
            f"Theorem 2 has bounds in numbers for fewer than {TOO_MANY_STATES:,} states; got {states:,}"
        )
    q, size, log2q = states, semigroup, math.log2(max(states, 2))
    width, log_width = _cascade_width(q, letters, size, length, 20 * q * size * length + 4 * q + size**2 * q)
    norm = max(6 * q * length * math.log(length), 2**q * (size + 5 * q)) + 6 * max(q, letters)
    stated = Bound(
        round(3 * q**2 * log2q + 7 * q),
        2**q * (size + q + 4) + 1,
        2 ** (q + 1) * (size + 1),
        q + 3,
        width,
        norm,
        log_width,
    )
    height = 2**q - 1 if levels is None else levels
    look_up, look_back = length * math.log(16 * q * length), 10 * length * math.sqrt(math.log(q * length + 1))
    corrected = Bound(
        math.ceil(height * (3 * math.log2(max(size, 2)) + 3)),
        2**q * (4 * size + 5) + 8,
        stated.heads,
        2 * size + 3,
        width,
        max(norm, look_up, look_back, 8 * length),
        log_width,
    )
    note = "errata 28, 33, 34: look-back head; repDim ≠ repSize; more than |Q| levels"
    return TheoremBounds("paper", stated, corrected, note)


def _cascade_width(states: int, letters: int, size: int, length: int, first: int) -> tuple[float, float]:
    """2^|Q|·(first + |Q|^(2^|Q|)·|Σ|), as a number if a float holds it, and its power of ten."""
    power = 2.0**states * math.log10(max(states, 1))
    log = states * math.log10(2) + max(math.log10(first), power + math.log10(letters))
    if power < 300:
        value = 2**states * (first + states ** (2**states) * letters)
        return (value, math.log10(value)) if math.log10(value) < EXACT else (float(value), math.log10(value))
    return math.inf, log


def grid_bounds(automaton: Semiautomaton, length: int) -> TheoremBounds:
    """Theorem 3: printed channels and heads, and the widths of its MLPs with variant (ii)."""
    grid = recognise_grid(automaton)
    if grid is None:
        raise InvalidInput(
            f"Theorem 3 bounds gridworlds only; {automaton.name or 'this automaton'} is not one"
        )
    walls = [size - 1 for size in grid.shape]
    heads = sum(2 * s + 1 for s in walls)
    circle = sum(4 * (2 * length + 1) for _ in walls)
    features = sum(2.0 ** min(len(comparisons(s)), 1000) for s in walls)  # beyond it no float holds it
    stated = Bound(2, 5 * len(walls), heads, 5, circle + features, float(length**3))
    return TheoremBounds("grid", stated, _corrected_grid(grid, length), "errata 21, 22, 25, 26")


def _corrected_grid(grid: Grid, length: int) -> Bound:
    """The repaired construction with the paper's heads; T′ counts the padding moves."""
    walls = [size - 1 for size in grid.shape]
    total = length + math.ceil(1.5 * max(walls))
    width = sum(max(4 * (2 * total + 1) + 1, s**3 + 6 * s + 20, 2 * s * (s + 1)) for s in walls)
    recency = (1.0 - math.cos(math.pi / (2.0 * total))) / (2.0 * math.log(2.0))
    norm = max(math.sqrt(2.0 * total * 8.0 / recency) * math.log(2 * total), 16.0 * total)
    return Bound(2, sum(2 * s + 5 for s in walls) + 4, sum(2 * s + 1 for s in walls), 3, width, norm)
