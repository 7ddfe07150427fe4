"""What the components of a cascade are made of: modular counters for the group, one memory for the resets.

Between two resets a component is moved by its group. With P_t the product of the group letters up to
time t (a reset counts as the identity), a reset to value v at time r writes w = v · P_r⁻¹, and the value
at any later time is x_t = w · P_t until the next reset. The memory holds one small number, never a
group element.
"""

from dataclasses import dataclass

from krohn.algebra.solvable import Residues, counter_tower
from krohn.cascade.holonomy import Cascade


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
    counters: tuple[Residues, ...] | None
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
                counter_tower(group.generators, group.degree).moduli_by_section
                if group.is_solvable
                else None,
                group.composition_factors(),
                len(part.tiles) if cascade.is_reset[part.number] else None,
            )
        )
    return tuple(refined)
