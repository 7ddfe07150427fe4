"""Permutation-reset units: a group and a memory, and how a cascade's components become such units.

Between two resets a component is moved by its group. With P_t the product of the group letters up to
time t (a reset counts as the identity), a reset to value v at time r writes w = v · P_r⁻¹, and the value
at any later time is x_t = w · P_t until the next reset. The memory holds one small number, never a
group element.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.permutation import Permutation, identity, inverse, is_permutation
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.counters import Counters, CounterTower, counter_tower
from krohn.cascade.holonomy import Cascade, Update
from krohn.errors import InvalidAutomaton


@dataclass(frozen=True, eq=False)
class PermutationResetUnit:
    """A solvable permutation-reset component as counters and one memory of ``size`` values."""

    tower: CounterTower
    size: int

    def run(self, updates: Sequence[Update], start: int) -> list[int]:
        """The values after each update, from prefix products and the last value written."""
        still = identity(self.size)
        moves = [still if isinstance(update, int) else update for update in updates]
        products = self.tower.prefix_products(moves)
        written, values = start, []
        for update, product in zip(updates, products, strict=True):
            if isinstance(update, int):
                written = inverse(product)[update]
            values.append(product[written])
        return values


def permutation_reset_unit(automaton: Semiautomaton) -> tuple[PermutationResetUnit, tuple[Update, ...]]:
    """The unit of an automaton whose letters are permutations and resets, and the update of each letter."""
    updates: list[Update] = []
    for name, letter in zip(automaton.letter_names, automaton.letters, strict=True):
        if is_permutation(letter):
            updates.append(letter)
        elif len(set(letter)) == 1:
            updates.append(letter[0])
        else:
            raise InvalidAutomaton(
                f"every letter must be a permutation or a reset; {name!r} acts as {list(letter)}"
            )
    moves = tuple(update for update in updates if isinstance(update, tuple))
    group = PermutationGroup(moves, automaton.num_states)
    return PermutationResetUnit(counter_tower(group), automaton.num_states), tuple(updates)


@dataclass(frozen=True, slots=True)
class RefinedComponent:
    """What one component of a cascade is made of.

    Attributes:
        level: its level.
        counters: moduli of the counters, one tuple per section; None if the group is not solvable.
        factors: composition factors of the group, bottom first.
        memory: number of values of the memory unit; None if the component is never reset.
    """

    level: int
    counters: tuple[Counters, ...] | None
    factors: tuple[str, ...]
    memory: int | None


def refine(cascade: Cascade) -> tuple[RefinedComponent, ...]:
    """Every component as modular counters and a memory unit, where its group is solvable."""
    refined = []
    for part in cascade.components:
        group = cascade.group(part.number)
        refined.append(
            RefinedComponent(
                part.level,
                counter_tower(group).moduli if group.is_solvable else None,
                group.composition_factors(),
                len(part.tiles) if cascade.is_reset[part.number] else None,
            )
        )
    return tuple(refined)


def component_automaton(cascade: Cascade, component: int) -> Semiautomaton:
    """One component as an automaton: its states are tiles, its letters all updates it can receive."""
    frame = cascade.skeleton
    part = cascade.components[component]
    size = len(part.tiles)
    letters: dict[Permutation, None] = {}
    for (_, _, target), update in cascade.transitions[part.level].items():
        if frame.class_of[target] == component:
            letters.setdefault((update,) * size if isinstance(update, int) else update)
    return Semiautomaton.from_letters(list(letters) or [identity(size)])
