"""Groups in which only the identity fixes a point: their order is read off one orbit.

Automata of groups acting on themselves have this form. A transitive group is regular exactly if the
permutations that commute with it are transitive too; those are determined by one image, so it is
enough to test one for each generator. That costs a few passes over the points where a stabiliser
chain would store one permutation for each point.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from krohn.algebra.permutation import Permutation

Points = npt.NDArray[np.int64]


def semiregular_order(generators: Sequence[Permutation], degree: int) -> int | None:
    """The order of the generated group if it acts semiregularly on ``range(degree)``, else ``None``."""
    actions = [np.array(generator) for generator in generators]
    tree = _breadth_first(generators, 0)
    orbit = np.array([point for point, _, _ in tree])
    place = np.full(degree, -1)
    place[orbit] = np.arange(len(orbit))
    steps = [place[action[orbit]] for action in actions]
    seen = place >= 0
    bases = [int(action[0]) for action in actions]
    while True:
        for base in bases:
            copy = _transport(generators, tree, base)
            if any((copy[step] != action[copy]).any() for step, action in zip(steps, actions, strict=True)):
                return None
            if len(np.unique(copy)) < len(orbit):
                return None
            seen[copy] = True
        rest = np.flatnonzero(~seen)
        if not len(rest):
            return len(orbit)
        bases = [int(rest[0])]


def _breadth_first(generators: Sequence[Permutation], start: int) -> list[tuple[int, int, int]]:
    """The orbit of ``start`` as (point, position of its parent, generator from the parent)."""
    tree = [(start, -1, -1)]
    seen = {start}
    for position, (point, _, _) in enumerate(tree):
        for number, generator in enumerate(generators):
            image = generator[point]
            if image not in seen:
                seen.add(image)
                tree.append((image, position, number))
    return tree


def _transport(generators: Sequence[Permutation], tree: Sequence[tuple[int, int, int]], base: int) -> Points:
    """The points reached from ``base`` by the words that reach the tree's points from its root."""
    copy = [base]
    for _, parent, number in tree[1:]:
        copy.append(generators[number][copy[parent]])
    return np.array(copy)
