"""A wrong input, looked for where a proof stays open: one letter is changed at a time while the lead falls.

It starts from inputs at the ends of open classes and from the random ones with the smallest leads; every lead
is that of the object itself.
"""

from collections.abc import Callable, Iterator

import numpy as np

from krohn.check.graph.columns import Case
from krohn.check.ground import Array, Integers
from krohn.proving.graph_search import OpenClass
from krohn.proving.inputs import at_the_end, letters_on, neighbours, read_edges, sampled_paths

Leads = Callable[[Integers, Integers, int], Array]
"""Words, right tokens [word] and a position: by how much the right logit leads there [word]."""
STARTS, CLASSES, RANDOM = 4, 24, 400
"""Inputs of each answer that are climbed from; they are among the ends of open classes and random inputs."""
MOST_RUNS = 40_000
"""Runs of the object for each answer."""


def climbed(
    leads: Leads, case: Case, asked: tuple[int, int], opened: list[OpenClass], dice: np.random.Generator
) -> Iterator[Integers]:
    """For the starts of one answer with the smallest leads: the path [column] that each ends at."""
    place, column = asked
    left = MOST_RUNS

    def lead(paths: Integers) -> Array:
        nonlocal left
        left -= len(paths)
        words, right = read_edges(case, paths)
        return leads(words, right[:, column], place)

    starts = np.concatenate([sampled_paths(case, RANDOM, dice), *map(ends_of_class, opened[:CLASSES])])
    first = lead(starts)
    seen: set[bytes] = set()
    for number in np.argsort(first, kind="stable")[:STARTS].tolist():
        path, best = starts[number], first[number]
        while best > 0 and left > 0 and path.tobytes() not in seen:
            seen.add(path.tobytes())
            near = neighbours(case, letters_on(case, path[None])[0])[:left]
            found = lead(near) if len(near) else np.full(1, np.inf)
            least = int(found.argmin())
            if not found[least] < best:
                break
            path, best = near[least], found[least]
        yield path


def ends_of_class(one: OpenClass) -> Integers:
    """Paths of inputs at the ends of the axes of a class."""
    tables, sums, ends = one.sums.tables, one.sums, one.ends
    place = -1 if tables.cut.position in one.case.fixed else tables.cut.position
    paths = []
    for axis in range(tables.cut.axes):
        for end, sign in ((0, -1.0), (1, 1.0)):
            weight = sum(
                sums.pull(head, axis, ends.split[:, axis, end, head], sign) for head in tables.heads_of(axis)
            )
            pivot = np.array([one.pivot])
            paths.append(
                at_the_end(one.case, np.asarray(weight), sums.column, sums.classes.edges, place, pivot)
            )
    return np.concatenate(paths)
