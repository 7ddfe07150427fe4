"""A solvable permutation group as a tower of counters: one tuple of residues per derived section.

G = G₀ > G₁ > … > 1 is the derived series; Gᵢ/Gᵢ₊₁ is a product of cyclic groups (coprime ones merged, so that
C2 × C3 is one counter mod 6). With a transversal τ and h the coordinates of a product in the section,
ν = τ(h_before)·g·τ(h_after)⁻¹ lies in the next subgroup: it is the letter of the next section, and the
product itself is (product of the ν)·τ(h). Products are read left to right, as everywhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.permutation import Permutation, compose, identity, inverse
from krohn.errors import LimitExceeded, Unsupported

MAX_ORDER = 20_000
Residues = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Section:
    """One abelian section: moduli, the residues of every element, a representative of every residue tuple."""

    moduli: Residues
    residues: dict[Permutation, Residues]
    transversal: dict[Residues, Permutation]

    def next_letter(self, before: Residues, element: Permutation) -> tuple[Residues, Permutation]:
        """Residues after multiplying by the element, and ν, the letter of the next section."""
        steps = self.residues[element]
        after = tuple((b + s) % m for b, s, m in zip(before, steps, self.moduli, strict=True))
        inner = compose(self.transversal[before], element)
        return after, compose(inner, inverse(self.transversal[after]))


@dataclass(frozen=True, eq=False)
class CounterTower:
    """The sections of a solvable group from the top."""

    degree: int
    sections: tuple[Section, ...]

    @cached_property
    def moduli(self) -> tuple[int, ...]:
        """All counters, section by section."""
        return tuple(m for section in self.sections for m in section.moduli)

    def element(self, residues: Residues) -> Permutation:
        """The group element that the counters (all sections, in order) stand for."""
        value, position = identity(self.degree), 0
        for section in self.sections:
            width = len(section.moduli)
            value = compose(section.transversal[residues[position : position + width]], value)
            position += width
        return value

    @cached_property
    def listed(self) -> tuple[tuple[Residues, Permutation], ...]:
        """Every tuple of counter values with the element it stands for."""
        return tuple((h, self.element(h)) for h in product(*(range(m) for m in self.moduli)))


def counter_tower(generators: Iterable[Permutation], degree: int) -> CounterTower:
    """The tower of the group generated; refuses groups that are not solvable or too large to list."""
    group = PermutationGroup(tuple(generators) or (identity(degree),), degree)
    if not group.is_solvable:
        raise Unsupported(
            f"the group {group.name()} of order {group.order} on {degree} tiles is not solvable"
        )
    if group.order > MAX_ORDER:
        raise LimitExceeded(
            f"a component group may have at most {MAX_ORDER:,} elements; got {group.order:,}; "
            "use --method scan"
        )
    series = group.derived_series()
    letters = {tuple(generator) for generator in group.generators}
    sections = []
    for above, below in pairwise(series):
        section = _section(set(above.elements()), set(below.elements()), degree, letters)
        letters = {section.next_letter(h, g)[1] for h in section.transversal for g in letters}
        sections.append(section)
    return CounterTower(degree, tuple(sections))


def _section(
    group: set[Permutation], normal: set[Permutation], degree: int, letters: set[Permutation]
) -> Section:
    """Residues of the abelian quotient group/normal; letters are tried first as generators (small steps)."""
    coset: dict[Permutation, Permutation] = {}
    for element in sorted(group, key=lambda g: (g not in letters, g)):
        if element not in coset:
            coset.update({compose(inner, element): element for inner in normal})
    cosets = list(dict.fromkeys(coset.values()))
    basis = _merged(_basis(cosets, coset, degree), degree)
    transversal: dict[Residues, Permutation] = {(): identity(degree)}
    for generator, modulus in basis:
        grown: dict[Residues, Permutation] = {}
        for residues, value in transversal.items():
            for exponent in range(modulus):
                grown[(*residues, exponent)] = value
                value = compose(value, generator)
        transversal = grown
    by_coset = {coset[value]: residues for residues, value in transversal.items()}
    return Section(
        moduli=tuple(modulus for _, modulus in basis),
        residues={element: by_coset[coset[element]] for element in group},
        transversal=transversal,
    )


def _basis(
    cosets: list[Permutation], coset: dict[Permutation, Permutation], degree: int
) -> list[tuple[Permutation, int]]:
    """Independent generators of prime power order: always one of largest order that meets the rest trivially.

    In an abelian p-group a cyclic subgroup of largest order is a direct factor, and so on by induction.
    """
    one = coset[identity(degree)]
    powers = {element: _powers(element, coset, one) for element in cosets}
    basis: list[tuple[Permutation, int]] = []
    for prime in _primes(len(cosets)):
        part = [e for e in cosets if _is_power_of(len(powers[e]), prime) and e != one]
        spanned = {one}
        for element in sorted(part, key=lambda e: -len(powers[e])):
            if len(spanned.intersection(powers[element])) == 1:
                basis.append((element, len(powers[element])))
                spanned = {coset[compose(a, b)] for a in spanned for b in powers[element]}
    return basis


def _merged(basis: list[tuple[Permutation, int]], degree: int) -> list[tuple[Permutation, int]]:
    """Merges generators of coprime order, largest with largest: invariant factors."""
    by_prime: dict[int, list[tuple[Permutation, int]]] = {}
    for element, modulus in basis:
        by_prime.setdefault(_primes(modulus)[0], []).append((element, modulus))
    merged = []
    for rank in range(max((len(part) for part in by_prime.values()), default=0)):
        value, total = identity(degree), 1
        for part in by_prime.values():
            if rank < len(part):
                value, total = compose(value, part[rank][0]), total * part[rank][1]
        merged.append((value, total))
    return merged


def _powers(
    element: Permutation, coset: dict[Permutation, Permutation], one: Permutation
) -> list[Permutation]:
    found, value = [one], coset[element]
    while value != one:
        found.append(value)
        value = coset[compose(value, element)]
    return found


def _primes(number: int) -> list[int]:
    return [p for p in range(2, number + 1) if number % p == 0 and all(p % d for d in range(2, p))]


def _is_power_of(number: int, prime: int) -> bool:
    while number % prime == 0:
        number //= prime
    return number == 1
