"""Products and extensions of finite groups, spelled out by multiplication tables.

The pieces that the proof of the solvable case is built from: direct, semidirect and wreath products,
and the embedding of Krasner and Kaloujnine, which puts every extension of N by H into N ≀ H. Products
read left to right: ``table[g][h]`` is first g, then h.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Self

from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.permutation import Permutation, compose
from krohn.errors import InvalidInput, LimitExceeded

MAX_ORDER = 5_000


@dataclass(frozen=True)
class TableGroup:
    """A group on 0, …, n−1 by its multiplication table; checked at construction."""

    table: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        size = len(self.table)
        numbers = list(range(size))
        if any(sorted(row) != numbers for row in self.table) or numbers not in map(list, self.table):
            raise InvalidInput("a group table must have permutations as rows and a row that changes nothing")
        for row in self.table:
            # Associativity by Light's test on every row: (g h) k = g (h k).
            if any(self.table[row[h]][k] != row[self.table[h][k]] for h in numbers for k in self._generators):
                raise InvalidInput("a group table must be associative")

    @classmethod
    def from_permutations(cls, group: PermutationGroup, limit: int = MAX_ORDER) -> Self:
        """The table of a permutation group, elements in increasing order of their images."""
        return cls.from_elements(group.elements(limit))

    @classmethod
    def from_elements(cls, elements: Sequence[Permutation]) -> Self:
        """The table of a closed set of permutations."""
        number = {element: index for index, element in enumerate(elements)}
        return cls(tuple(tuple(number[compose(a, b)] for b in elements) for a in elements))

    @cached_property
    def _generators(self) -> list[int]:
        """A few elements that generate everything, found greedily."""
        found: list[int] = []
        reached = {self.one}
        while len(reached) < len(self.table):
            found.append(next(g for g in range(len(self.table)) if g not in reached))
            queue = [self.one]
            reached = {self.one}
            for element in queue:
                for step in found:
                    if self.table[element][step] not in reached:
                        reached.add(self.table[element][step])
                        queue.append(self.table[element][step])
        return found

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.table)

    @cached_property
    def one(self) -> int:
        """The identity."""
        return self.table.index(tuple(range(len(self.table))))

    @cached_property
    def inverses(self) -> tuple[int, ...]:
        """The inverse of each element."""
        return tuple(row.index(self.one) for row in self.table)


def direct_product(left: TableGroup, right: TableGroup) -> TableGroup:
    """N × H; (n, h) has number n·|H| + h."""
    return semidirect_product(left, right, lambda acting, element: element)


def semidirect_product(
    normal: TableGroup, acting: TableGroup, action: Callable[[int, int], int]
) -> TableGroup:
    """N ⋊ H with (n, h)(n′, h′) = (n · h(n′), h h′), where ``action(h, n)`` is h(n).

    ``action`` must be a homomorphism into the automorphisms: h(k(n)) is the action of the product h k.
    (n, h) has number n·|H| + h.
    """
    _limit(normal.order * acting.order)
    moved = [[action(h, n) for n in range(normal.order)] for h in range(acting.order)]
    pairs = list(product(range(normal.order), range(acting.order)))
    return TableGroup(
        tuple(
            tuple(normal.table[n][moved[h][m]] * acting.order + acting.table[h][k] for m, k in pairs)
            for n, h in pairs
        )
    )


def wreath_product(normal: TableGroup, acting: TableGroup) -> TableGroup:
    """N ≀ H, the semidirect product of N^H by H acting on the places: (f, h)(f′, h′) = (f · f′(·h), h h′).

    (f, h) has number ``wreath_number(f, h)``: the digits f(0), …, f(|H|−1) in base |N|, then h.
    """
    _limit(normal.order**acting.order * acting.order)
    functions = list(product(range(normal.order), repeat=acting.order))
    number = {function: index for index, function in enumerate(functions)}
    base = TableGroup(
        tuple(
            tuple(number[tuple(normal.table[a][b] for a, b in zip(f, g, strict=True))] for g in functions)
            for f in functions
        )
    )

    def shift(h: int, index: int) -> int:
        function = functions[index]
        return number[tuple(function[acting.table[place][h]] for place in range(acting.order))]

    return semidirect_product(base, acting, shift)


def wreath_number(function: Sequence[int], element: int, normal_order: int) -> int:
    """The number of (f, h) in ``wreath_product``."""
    index = 0
    for value in function:
        index = index * normal_order + value
    return index * len(function) + element


@dataclass(frozen=True)
class KrasnerKaloujnine:
    """The embedding g ↦ (f_g, gN) of G into N ≀ G/N, with f_g(h) = τ(h) · g · τ(h · gN)⁻¹.

    Attributes:
        normal: N as a table group; ``members[i]`` is its element i inside G.
        quotient: G/N.
        coset: the coset of each element of G.
        transversal: τ, one element of G per coset; the identity for N itself.
        cocycle: ``cocycle[g][h]`` is f_g(h), as a number of N.
    """

    normal: TableGroup
    members: tuple[int, ...]
    quotient: TableGroup
    coset: tuple[int, ...]
    transversal: tuple[int, ...]
    cocycle: tuple[tuple[int, ...], ...]

    def image(self, element: int) -> int:
        """The number of the image in ``wreath_product(normal, quotient)``."""
        return wreath_number(self.cocycle[element], self.coset[element], self.normal.order)


def krasner_kaloujnine(group: TableGroup, normal: Sequence[int]) -> KrasnerKaloujnine:
    """The embedding for a normal subgroup given by its elements."""
    members = tuple(sorted(normal))
    place = {element: index for index, element in enumerate(members)}
    _check_normal(group, place)
    coset = [-1] * group.order
    transversal: list[int] = []
    for element in (group.one, *range(group.order)):
        if coset[element] < 0:
            for inner in members:
                coset[group.table[inner][element]] = len(transversal)
            transversal.append(element)
    quotient = TableGroup(tuple(tuple(coset[group.table[a][b]] for b in transversal) for a in transversal))
    subgroup = TableGroup(tuple(tuple(place[group.table[a][b]] for b in members) for a in members))
    cocycle = tuple(
        tuple(
            place[
                group.table[group.table[start][g]][group.inverses[transversal[quotient.table[h][coset[g]]]]]
            ]
            for h, start in enumerate(transversal)
        )
        for g in range(group.order)
    )
    return KrasnerKaloujnine(subgroup, members, quotient, tuple(coset), tuple(transversal), cocycle)


def _check_normal(group: TableGroup, members: dict[int, int]) -> None:
    if group.one not in members or any(group.table[a][b] not in members for a in members for b in members):
        raise InvalidInput("the elements of a normal subgroup must be closed under products")
    for element in range(group.order):
        inverse = group.inverses[element]
        if any(group.table[group.table[inverse][inner]][element] not in members for inner in members):
            raise InvalidInput(f"the subgroup must be normal; element {element} conjugates it elsewhere")


def _limit(order: int) -> None:
    if order > MAX_ORDER:
        raise LimitExceeded(
            f"a product that is written out must have at most {MAX_ORDER} elements; this one has {order}"
        )


def cyclic_group(order: int) -> TableGroup:
    """C_n: addition mod n."""
    return TableGroup(tuple(tuple((a + b) % order for b in range(order)) for a in range(order)))
