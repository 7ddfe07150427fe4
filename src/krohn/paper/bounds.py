"""The theorems' bounds, as stated and corrected, the cost of the paper's recursion, and its best network."""

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

from krohn.algebra.permgroup import PermutationGroup, action_on_cosets
from krohn.algebra.transformation import order, prime_factors
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import UNITS, Budget
from krohn.cascade.holonomy import Cascade, holonomy_cascade
from krohn.errors import InvalidInput, LimitExceeded
from krohn.paper.grid_heads import comparisons
from krohn.paper.theorem3 import Grid, recognise_grid

# The size bounds of the theorems, as the paper states them and as they are after correction.
#
# Both are numbers for one automaton and one length; a built network is compared with both. The MLP bound of
# Theorem 2 holds a term |Q|^(2^|Q|), so it is kept as a power of ten when it no longer fits a float.


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


# The best construction that the paper has for an automaton, composed of its own lemmas.
#
# Layers are counted as the paper counts them. In a stock decoder an MLP has one hidden layer: a layer whose
# MLP has two (the paper's "3-layer MLP") is two blocks. Sizes are those of the lemmas:
#
# - a counter takes one layer of one block, three dimensions and a head; an abelian group is a direct
#   product of counters, side by side;
# - an extension of N by H takes the layers of both and two that change the basis, of two blocks each. If H
#   has a complement it is a semidirect product: dimensions add up. Else it is a part of the wreath product,
#   with a copy of N for each element of H;
# - a memory takes one layer of one block and four dimensions; with a group, its layers, those of the memory
#   and one of two blocks;
# - levels of a cascade follow each other, with one layer of two blocks in between (Theorem 2);
# - every automaton takes ⌈log₂ T⌉ layers of two blocks (Theorem 1); a gridworld takes one layer of one
#   block and one of three (Theorem 3, with an MLP of constant depth).


MOST_LISTED = 48
"""Order up to which all normal subgroups are tried; beyond it the derived series is taken."""


@dataclass(frozen=True)
class PaperSize:
    """By which results, and the sizes that follow from them; the last two are bounds that they state."""

    source: str
    depth: int
    blocks: int
    dim: int
    heads: int
    head_dim: int
    mlp_width: int
    max_weight: float

    @property
    def cost(self) -> tuple[int, int, int]:
        """What is kept small, in this order."""
        return self.depth, self.blocks, self.dim


def paper_best(automaton: Semiautomaton, length: int) -> PaperSize:
    """The construction of fewest layers, then blocks, then dimensions."""
    return min(_constructions(automaton, length), key=lambda size: size.cost)


def _constructions(automaton: Semiautomaton, length: int) -> Iterator[PaperSize]:
    yield _by_theorem("Theorem 1", scan_bounds(automaton.num_states, length).corrected, 2)
    with suppress(LimitExceeded):  # too many quotients to tell whether it is a grid
        if recognise_grid(automaton) is not None:
            yield _by_theorem("Theorem 3", grid_bounds(automaton, length).corrected, 2)
    try:
        cascade = holonomy_cascade(automaton, max_sets=20_000, budget=Budget(UNITS / 4))
    except LimitExceeded:
        return
    if cascade.is_solvable:
        yield _by_cascade(cascade, length)


def _by_theorem(source: str, bound: Bound, blocks: int) -> PaperSize:
    """``blocks`` on average in a layer."""
    depth, dim, heads = round(bound.depth), round(bound.dim), round(bound.heads)
    inner, width = round(bound.head_dim), round(bound.mlp_width)
    return PaperSize(source, depth, depth * blocks, dim, heads, inner, width, bound.max_weight)


def _by_cascade(cascade: Cascade, length: int) -> PaperSize:
    """Theorem 2 on a cascade; of a group alone, what the lemmas on groups say."""
    depths, blocks = [0] * cascade.num_levels, [0] * cascade.num_levels
    dim = heads = head_dim = width = 0
    weight = 0.0
    for part, resets in zip(cascade.components, cascade.is_reset, strict=True):
        group, tiles = simulate_group(part.group, length), len(part.tiles)
        memory = resets or not group.depth
        both = memory and group.depth > 0
        depths[part.level] = max(depths[part.level], group.depth + memory + both)
        blocks[part.level] = max(blocks[part.level], group.blocks + memory + 2 * both)
        dim += group.dim + 4 * memory + group.numbers * both
        heads += group.heads + memory
        head_dim = max(head_dim, (group.depth > 0) + 2 * memory + group.numbers * both)
        width += group.mlp_width + 4 * tiles * memory + part.group.order**2 * tiles * both
        weight = max(weight, group.max_weight, memory * memory_bounds(tiles, length).corrected.max_weight)
    joints = cascade.num_levels - 1
    source = "Theorem 2"
    if len(cascade.components) == 1:
        source = "lemmas on groups" if sum(depths) > 1 else "lemma on counters or memories"
    return PaperSize(
        source, sum(depths) + joints, sum(blocks) + 2 * joints, dim, heads, head_dim, width, weight
    )


@dataclass(frozen=True)
class GroupSize:
    """Sizes of a simulation of a group; ``numbers`` is how many an element is represented by."""

    depth: int
    blocks: int
    dim: int
    heads: int
    numbers: int
    mlp_width: int
    max_weight: float


def simulate_group(group: PermutationGroup, length: int) -> GroupSize:
    """The shallowest simulation of a solvable group that the lemmas give."""
    if group.is_trivial:
        return GroupSize(0, 0, 0, 0, 0, 0, 0.0)
    if group.is_abelian:
        orders = [order(element) for element in group.elements()]
        count = max(_rank(orders, prime) for prime in set(prime_factors(group.order)))
        counter = counter_bounds(max(orders), length).corrected
        return GroupSize(1, 1, 3 * count, count, count, count * round(counter.mlp_width), counter.max_weight)
    if group.order > MOST_LISTED:
        steps, numbers = len(group.derived_series) - 1, 2 * group.order
        bound = solvable_group_bounds(group.order, group.degree, length).corrected
        depth, blocks, width = 3 * steps - 2, 5 * steps - 4, round(bound.mlp_width)
        return GroupSize(depth, blocks, round(bound.dim), numbers, numbers, width, bound.max_weight)
    sizes = [_extension(group, normal, length) for normal in _normal_subgroups(group)]
    return min(sizes, key=lambda size: (size.depth, size.blocks, size.dim))


def _rank(orders: list[int], prime: int) -> int:
    """Cyclic factors of an abelian group whose order the prime divides."""
    killed = sum(order in (1, prime) for order in orders)
    return next(rank for rank in range(len(orders)) if prime**rank == killed)


def _extension(group: PermutationGroup, normal: PermutationGroup, length: int) -> GroupSize:
    above, below = simulate_group(action_on_cosets(group, normal), length), simulate_group(normal, length)
    index = group.order // normal.order
    split = _has_complement(group, normal)
    copies = 1 if split else index
    mixing = 4 * group.order if split else 5 * index**2 * normal.order
    return GroupSize(
        below.depth + above.depth + 2,
        below.blocks + above.blocks + 4,
        copies * below.dim + above.dim,
        max(below.heads, above.heads) if split else index * below.heads + above.heads,
        copies * below.numbers + above.numbers,
        max(copies * below.mlp_width, above.mlp_width, mixing),
        max(below.max_weight, above.max_weight, 6.0 * index),
    )


def _normal_subgroups(group: PermutationGroup) -> list[PermutationGroup]:
    """The normal closures of single elements, without the group itself and the trivial one."""
    found: dict[frozenset[tuple[int, ...]], PermutationGroup] = {}
    for element in group.elements():
        closure = group.normal_closure([element])
        found.setdefault(frozenset(closure.elements()), closure)
    return [one for one in found.values() if 1 < one.order < group.order]


def _has_complement(group: PermutationGroup, normal: PermutationGroup) -> bool:
    """Whether some subgroup of two generators meets each coset of the normal subgroup once."""
    index = group.order // normal.order
    for pair in product(group.elements(), repeat=2):
        other = PermutationGroup(pair, group.degree)
        if other.order == index and sum(map(normal.contains, other.elements())) == 1:
            return True
    return False
