"""Groups in which only the identity fixes a point: their order is read off one orbit.

Automata of groups acting on themselves have this form. A transitive group is regular exactly if the
permutations that commute with it are transitive too; those are determined by one image, so it is
enough to test one for each generator. That costs a few passes over the points where a stabiliser
chain would store one permutation for each point.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from krohn.algebra.transformation import Permutation
from krohn.automata.graph import explore

Points = npt.NDArray[np.int64]


def semiregular_order(generators: Sequence[Permutation], degree: int) -> int | None:
    """The order of the generated group if it acts semiregularly on ``range(degree)``, else ``None``."""
    actions = [np.array(generator) for generator in generators]
    orbit, rows = explore(0, lambda point: [generator[point] for generator in generators])
    steps = np.array(rows).T
    # The parent of each further point of the orbit, and the generator that first leads there.
    tree: list[tuple[int, Permutation]] = []
    for parent, row in enumerate(rows):
        for generator, number in zip(generators, row, strict=True):
            if number > len(tree):
                tree.append((parent, generator))
    seen = np.isin(np.arange(degree), orbit)
    bases, unseen = [generator[0] for generator in generators], 0
    while True:
        for base in bases:
            copy = _transport(tree, base)
            if any((copy[step] != action[copy]).any() for step, action in zip(steps, actions, strict=True)):
                return None
            if len(np.unique(copy)) < len(orbit):
                return None
            seen[copy] = True
        while unseen < degree and seen[unseen]:
            unseen += 1
        if unseen == degree:
            return len(orbit)
        bases = [unseen]


def _transport(tree: Sequence[tuple[int, Permutation]], base: int) -> Points:
    """The points reached from ``base`` by the words that reach the tree's points from its root."""
    copy = [base]
    for parent, generator in tree:
        copy.append(generator[copy[parent]])
    return np.array(copy)
