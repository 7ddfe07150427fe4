"""The non-trivial groups of a transition semigroup, found from its image sets."""

from dataclasses import dataclass

from krohn.algebra.composition import composition_factors
from krohn.algebra.group_names import group_name
from krohn.algebra.idempotents import MAX_PAIRS, Idempotent, idempotent_onto
from krohn.algebra.image_orbit import ImageOrbit
from krohn.algebra.permgroup import PermutationGroup
from krohn.errors import LimitExceeded

ALL_PAIRS = 1_000_000  # pairs of image sets searched for the idempotents of all groups together


@dataclass(frozen=True)
class Subgroup:
    """A group of the transition semigroup.

    Attributes:
        group: the group, acting on the positions in ``states``.
        states: the states that it permutes.
        idempotent: its identity element with a word for it; ``None`` if the search for it was too long,
            so that the group is known only as the action of words on ``states``.
    """

    group: PermutationGroup
    states: tuple[int, ...]
    idempotent: Idempotent | None

    @property
    def order(self) -> int:
        """The number of elements."""
        return self.group.order

    @property
    def name(self) -> str:
        """A short name, or ``order N``."""
        return group_name(self.group)

    @property
    def factors(self) -> tuple[str, ...]:
        """The composition factors, bottom of the series first."""
        return composition_factors(self.group)

    @property
    def is_solvable(self) -> bool:
        """Whether every composition factor is cyclic of prime order."""
        return self.group.is_solvable


def maximal_subgroups(orbit: ImageOrbit) -> tuple[Subgroup, ...]:
    """One non-trivial maximal subgroup for each regular D-class that has any, largest image first.

    Regular elements with images in one component of the orbit are D-related, so a component carries
    at most one such D-class; its group is the component's Schreier group. A component without one has
    a group that divides those of others, so leaving it out changes no verdict.
    """
    result = []
    parts = [component for component in orbit.components if not component.group.is_trivial]
    limit = min(MAX_PAIRS, ALL_PAIRS // max(1, len(parts)))
    for component in sorted(parts, key=lambda component: -component.rank):
        group, states = component.group, tuple(component.base)
        try:
            if (idempotent := idempotent_onto(component, limit)) is not None:
                result.append(Subgroup(group, states, idempotent))
        except LimitExceeded:
            result.append(Subgroup(group, states, None))
    return tuple(result)
