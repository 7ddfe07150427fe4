"""Idempotents of a transition semigroup with words for them, found from image sets alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from krohn.algebra.image_orbit import ImageComponent
from krohn.algebra.packed import product_of_word
from krohn.algebra.transformation import order
from krohn.automata.quotients import word_along
from krohn.errors import LimitExceeded

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
