"""The best construction that the paper has for an automaton, composed of its own lemmas.

Layers are counted as the paper counts them. In a stock decoder an MLP has one hidden layer: a layer whose
MLP has two (the paper's "3-layer MLP") is two blocks. Sizes are those of the lemmas:

- a counter takes one layer of one block, three dimensions and a head; an abelian group is a direct
  product of counters, side by side;
- an extension of N by H takes the layers of both and two that change the basis, of two blocks each. If H
  has a complement it is a semidirect product: dimensions add up. Else it is a part of the wreath product,
  with a copy of N for each element of H;
- a memory takes one layer of one block and four dimensions; with a group, its layers, those of the memory
  and one of two blocks;
- levels of a cascade follow each other, with one layer of two blocks in between (Theorem 2);
- every automaton takes ⌈log₂ T⌉ layers of two blocks (Theorem 1); a gridworld takes one layer of one
  block and one of three (Theorem 3, with an MLP of constant depth).
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

from krohn.algebra.permgroup import PermutationGroup, action_on_cosets
from krohn.algebra.transformation import order, prime_factors
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import UNITS, Budget
from krohn.cascade.holonomy import Cascade, holonomy_cascade
from krohn.errors import LimitExceeded
from krohn.paper.bounds import (
    Bound,
    counter_bounds,
    grid_bounds,
    memory_bounds,
    scan_bounds,
    solvable_group_bounds,
)
from krohn.paper.gridworlds import recognise_grid

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
