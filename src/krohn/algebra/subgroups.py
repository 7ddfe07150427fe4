"""The maximal subgroups of a transition semigroup, each with an idempotent."""

from collections.abc import Sequence
from dataclasses import dataclass

from krohn.algebra.group_names import composition_factors, group_name
from krohn.algebra.image_orbit import ImageComponent, ImageOrbit
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transformation import order, product_of_word
from krohn.automata.quotients import word_along
from krohn.errors import LimitExceeded

# Idempotents of a transition semigroup with words for them, found from image sets alone.


MAX_PAIRS = 200_000  # pairs of image sets searched for one idempotent


@dataclass(frozen=True)
class Idempotent:
    """An idempotent as a transformation, and a word whose ``exponent``-th power induces it."""

    images: tuple[int, ...]
    word: tuple[int, ...]
    exponent: int


def idempotent_power(letters: Sequence[Sequence[int]], word: Sequence[int]) -> Idempotent:
    """The idempotent power of a word that permutes its own image.

    It sends a state to the point of the image that the word sends to the same place; the exponent, a least
    common multiple, may be far too large to multiply out.
    """
    images = product_of_word(letters, word)
    points = sorted(set(images))
    place = {point: position for position, point in enumerate(points)}
    exponent = order([place[images[point]] for point in points])
    back = {images[point]: point for point in points}
    return Idempotent(tuple(back[image] for image in images), tuple(word), exponent)


def idempotent_onto(component: ImageComponent, limit: int = MAX_PAIRS) -> Idempotent | None:
    """An idempotent whose image is the component's representative P; ``None`` if there is none.

    There is one exactly if some word w maps P and all of Q onto the same member of the component:
    then a path back to P makes it a word that maps Q onto P and permutes P. So the pairs (Q·w, P·w)
    are searched breadth-first; more than ``limit`` of them raise LimitExceeded.
    """
    orbit = component.orbit
    whole = len(orbit.sets)  # stands for Q, which need not be an image
    own = orbit.component_of[component.members[0]]
    firsts = [orbit.number[orbit.rows.pack(sorted(set(letter)))] for letter in orbit.letters]
    start = (whole, component.members[0])
    origin: dict[tuple[int, int], tuple[tuple[int, int], int]] = {}
    queue = [start]
    for pair in queue:
        outer = firsts if pair[0] == whole else orbit.successors[pair[0]]
        for letter, inner in enumerate(orbit.successors[pair[1]]):
            following = (outer[letter], inner)
            if orbit.component_of[inner] != own or following in origin:
                continue
            origin[following] = (pair, letter)
            if following[0] == inner:
                word = (*word_along(origin.get, following), *component.path_to_base(inner))
                return idempotent_power(orbit.letters, word)
            queue.append(following)
        if len(queue) > limit:
            raise LimitExceeded(f"at most {limit} pairs of image sets are searched for an idempotent")
    return None


# The non-trivial groups of a transition semigroup, found from its image sets.


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
        try:
            idempotent = idempotent_onto(component, limit)
        except LimitExceeded:
            idempotent = None
        else:
            if idempotent is None:
                continue
        result.append(Subgroup(component.group, tuple(component.base), idempotent))
    return tuple(result)
