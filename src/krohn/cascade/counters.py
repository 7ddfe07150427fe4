"""A solvable group as a tower of modular counters, one layer per section of its derived series.

Let G = G₀ > G₁ > … > 1 be the derived series and g₁, g₂, … a word in G with prefix products
P_t = g₁⋯g_t. A section Gᵢ/Gᵢ₊₁ is a product of cyclic groups, so the coset of P_t is a vector h_t of
counters that simply adds up: h_t = h_{t−1} + e(g_t). With a transversal τ the element
ν_t = τ(h_{t−1}) · g_t · τ(h_t)⁻¹ lies in Gᵢ₊₁ and is the letter of the next layer, and
P_t = (ν₁⋯ν_t) · τ(h_t). This is the Krasner–Kaloujnine cocycle, used step by step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from krohn.algebra.composition import prime_factors
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.permutation import Permutation, compose, identity, inverse, power
from krohn.errors import Unsupported

MAX_LISTED = 20_000
Counters = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Section:
    """One abelian section of a group: a counter mod m for each entry of ``moduli``.

    Attributes:
        moduli: sizes of the counters; coprime parts are merged, so each divides the one before.
        coordinates: e(g) for every g of the upper group.
        transversal: τ(h) for every value of the counters; τ(0) is the identity.
        basis: one element of the upper group per counter, that adds one to it.
    """

    moduli: Counters
    coordinates: dict[Permutation, Counters]
    transversal: dict[Counters, Permutation]
    basis: tuple[Permutation, ...]

    def __post_init__(self) -> None:
        fault = section_fault(self)
        if fault:
            raise AssertionError(fault)

    def add(self, first: Counters, second: Counters) -> Counters:
        """Sum of counters."""
        return tuple([(a + b) % m for a, b, m in zip(first, second, self.moduli, strict=True)])

    def cocycle(self, before: Counters, element: Permutation) -> Permutation:
        """ν = τ(h) · g · τ(h + e(g))⁻¹, an element of the lower group."""
        after = self.add(before, self.coordinates[element])
        product = compose(self.transversal[before], element)
        return compose(product, inverse(self.transversal[after]))


def section_fault(section: Section) -> str:
    """What is wrong with a section: e must be additive and τ must choose from the right coset."""
    elements = section.coordinates
    for counters, element in section.transversal.items():
        if elements[element] != counters:
            return f"the transversal of {counters} lies in the coset {elements[element]}"
    for element, counters in elements.items():
        for step in section.basis:
            if elements[compose(element, step)] != section.add(counters, elements[step]):
                return f"the counters of {element} times {step} are not the sum"
    return ""


@dataclass(frozen=True, eq=False)
class CounterTower:
    """A solvable permutation group refined into modular counters."""

    group: PermutationGroup
    sections: tuple[Section, ...]

    @property
    def moduli(self) -> tuple[Counters, ...]:
        """Sizes of the counters, layer by layer."""
        return tuple(section.moduli for section in self.sections)

    def prefix_products(self, word: Sequence[Permutation]) -> list[Permutation]:
        """The products g₁⋯g_t, computed by counters and tables alone."""
        return self._products(list(word), 0)

    def _products(self, word: list[Permutation], layer: int) -> list[Permutation]:
        if layer == len(self.sections):
            return [identity(self.group.degree)] * len(word)
        section = self.sections[layer]
        before: Counters = (0,) * len(section.moduli)
        inner, heads = [], []
        for element in word:
            inner.append(section.cocycle(before, element))
            before = section.add(before, section.coordinates[element])
            heads.append(section.transversal[before])
        tails = self._products(inner, layer + 1)
        return [compose(tail, head) for tail, head in zip(tails, heads, strict=True)]


def counter_tower(group: PermutationGroup, *, limit: int = MAX_LISTED) -> CounterTower:
    """The tower of a solvable group with at most ``limit`` elements."""
    series = group.derived_series()
    if not series[-1].is_trivial:
        raise Unsupported(
            f"only a solvable group is a tower of counters; this one has factors "
            f"{', '.join(group.composition_factors())}"
        )
    sections = [_section(upper, lower, limit) for upper, lower in pairwise(series)]
    return CounterTower(group, tuple(sections))


def _section(upper: PermutationGroup, lower: PermutationGroup, limit: int) -> Section:
    coset = _cosets(upper.elements(limit), lower.elements(limit))
    one = identity(upper.degree)
    reached: dict[Permutation, Counters] = {coset[one]: ()}
    basis: list[Permutation] = []
    moduli: list[int] = []
    count = upper.order // lower.order
    while len(reached) < count:
        element, size = _summand(coset, reached)
        basis.append(element)
        moduli.append(size)
        powers = [power(element, exponent) for exponent in range(size)]
        reached = {
            coset[compose(known, step)]: (*counters, exponent)
            for known, counters in reached.items()
            for exponent, step in enumerate(powers)
        }
    coordinates = {element: reached[name] for element, name in coset.items()}
    return Section(tuple(moduli), coordinates, {value: name for name, value in reached.items()}, tuple(basis))


def _cosets(upper: list[Permutation], lower: list[Permutation]) -> dict[Permutation, Permutation]:
    """Every element with the name of its coset: the least element, the identity for the subgroup."""
    names: dict[Permutation, Permutation] = {}
    for element in upper:
        if element not in names:
            for inner in lower:
                names[compose(inner, element)] = element
    return names


def _summand(
    coset: dict[Permutation, Permutation], reached: dict[Permutation, Counters]
) -> tuple[Permutation, int]:
    """An element of largest order modulo what is reached, whose powers meet that in the identity only.

    Such an element exists because a cyclic subgroup of largest order in an abelian group is a summand.
    """
    trivial = next(iter(coset.values()))
    best: tuple[int, Permutation] | None = None
    for name in sorted(set(coset.values())):
        size, current = 1, name
        while current not in reached:
            current, size = coset[compose(current, name)], size + 1
        if current == coset[trivial] and (best is None or size > best[0]):
            best = (size, name)
    assert best is not None
    return best[1], best[0]


def composition_series(group: PermutationGroup) -> tuple[PermutationGroup, ...]:
    """A series from a solvable group down to 1, each group of prime index in the one before."""
    tower = counter_tower(group)
    series: list[PermutationGroup] = [PermutationGroup((), group.degree)]
    for section in reversed(tower.sections):
        for element, modulus in zip(section.basis, section.moduli, strict=True):
            exponent = modulus
            for prime in prime_factors(modulus):
                exponent //= prime
                step = power(element, exponent)
                series.append(PermutationGroup((*series[-1].generators, step), group.degree))
    return tuple(reversed(series))
