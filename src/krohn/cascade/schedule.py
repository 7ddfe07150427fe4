"""When each class of a cascade can be computed, in layers, and how many layers that takes.

A class costs one layer per section of its group's derived series (a modular counter each) and one more
if it is ever reset (a memory look-up). In step with the levels, the layers of a cascade are the sum
over levels of the dearest class. Asynchronously, a class starts as soon as every class above it is
finished: the layers are the longest weighted path. The covering check accepts any such schedule,
because every non-equivalent image and every tile still starts after its set is finished.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from krohn.cascade.skeleton import Skeleton


@dataclass(frozen=True, slots=True)
class Schedule:
    """Start and finish of every class, and the layers of both ways to run the cascade."""

    start: tuple[int, ...]
    finish: tuple[int, ...]
    layers: int
    layers_in_step: int

    def of_sets(self, frame: Skeleton) -> tuple[list[int], list[int]]:
        """Start and finish per set, singletons last, in the form the covering check takes."""
        start = [self.start[index] if index >= 0 else self.layers for index in frame.class_of]
        finish = [self.finish[index] if index >= 0 else self.layers + 1 for index in frame.class_of]
        return start, finish


def schedule(frame: Skeleton, costs: Sequence[int]) -> Schedule:
    """The asynchronous schedule for classes of the given costs; classes stand in order of level."""
    start = [0] * len(frame.classes)
    finish = [0] * len(frame.classes)
    dearest = [0] * frame.num_levels
    for part in frame.classes:
        index = part.number
        finish[index] = start[index] + max(costs[index], 1)
        dearest[part.level] = max(dearest[part.level], max(costs[index], 1))
        for below in classes_below(frame, index):
            start[below] = max(start[below], finish[index])
    return Schedule(tuple(start), tuple(finish), max(finish, default=0), sum(dearest))


def classes_below(frame: Skeleton, index: int) -> set[int]:
    """The classes of tiles and of non-equivalent images of one class."""
    part = frame.classes[index]
    below = {frame.class_of[tile] for member in part.members for tile in frame.tiles[member]}
    below.update(frame.class_of[row[member]] for row in frame.images for member in part.members)
    return below - {-1, index}
