"""The sizes of the paper's own recursion, which no network that is built may exceed."""

from dataclasses import dataclass

from krohn.algebra.counters import prime_tower
from krohn.algebra.transformation import prime_factors
from krohn.algebra.transition_semigroup import TransitionSemigroup
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.holonomy import Cascade
from krohn.errors import KrohnError
from krohn.paper.bounds import TheoremBounds, cascade_bounds

# The sizes of the paper's own recursion on a given cascade: what Theorem 2 costs before it is bounded.
#
# Per component: a wreath product for every step of a composition series of its group (C_p: depth 1, dimension
# 3, one head; a step by p: depth + 3, dimension p·d + 1, heads p·H + 1, vector p·R + 1), then the
# permutation-reset lemma (depth + 2, dimension + R + 4, heads + 1). Components of a level run in parallel,
# one wiring layer joins two levels. Erratum 37: a step adds 3 to the depth of the group below it, not to that
# of the factor, so a series of ℓ ≤ log₂ |G| steps takes 3ℓ − 2 layers.


@dataclass(frozen=True)
class RecipeSize:
    """Depth, dimension and heads of the recipe."""

    depth: int
    dim: int
    heads: int


def paper_recipe_size(cascade: Cascade) -> RecipeSize | None:
    """The recipe's sizes, the same for every length; ``None`` if a group is not solvable."""
    if not cascade.is_solvable:
        return None
    depths = [0] * cascade.num_levels
    dim, heads = 1, 0
    for part, order in ((part, part.group.order) for part in cascade.components):
        size = component_recipe(_primes(tuple(part.generators), len(part.tiles), order))
        depths[part.level] = max(depths[part.level], size.depth)
        dim, heads = dim + size.dim, heads + size.heads
    return RecipeSize(max(sum(depth + 1 for depth in depths) - 1, 0), dim, heads)


def component_recipe(primes: tuple[int, ...]) -> RecipeSize:
    """One permutation-reset component whose group has these composition factors, from the bottom."""
    depth, dim, heads, vector = 0, 0, 0, 0
    for height, prime in enumerate(primes):
        if height == 0:
            depth, dim, heads, vector = 1, 3, 1, 1
        else:
            depth, dim, heads, vector = depth + 3, prime * dim + 1, prime * heads + 1, prime * vector + 1
    return RecipeSize(depth + 2, dim + vector + 4, heads + 1)


def _primes(generators: tuple[tuple[int, ...], ...], degree: int, order: int) -> tuple[int, ...]:
    """Composition factors from the bottom; in any order (ascending) where the group is too large to list."""
    try:
        return prime_tower(generators, degree).moduli[::-1]
    except KrohnError:
        return tuple(sorted(prime_factors(order)))


def theorem2_bounds(automaton: Semiautomaton, length: int, levels: int | None = None) -> TheoremBounds:
    """Theorem 2's bounds for an automaton whose semigroup is small enough to be counted."""
    size = TransitionSemigroup(automaton.letters).size
    return cascade_bounds(automaton.num_states, automaton.num_letters, size, length, levels)
