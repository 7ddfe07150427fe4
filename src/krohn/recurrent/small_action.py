"""The map of a letter as swaps and merges of two states, and letters as permutations of fewer points."""

from collections.abc import Sequence
from functools import lru_cache

from krohn.algebra.permgroup import PermutationGroup, block_images
from krohn.algebra.transformation import Permutation, cycles
from krohn.automata.quotients import finest_congruence

Step = tuple[str, int, int]
"""``("swap", i, j)`` exchanges i and j; ``("merge", i, j)`` sends j to i and leaves the rest."""


def swaps_and_merges(images: Sequence[int]) -> list[Step]:
    """The map as steps, in order: n less the connected components of the graph from each state to its image.

    Fewer do not suffice in the one-hot code: each step moves along one direction, and the map less the
    identity has that rank. Cycles come first, as swaps; then the trees that lead to them, from the root.
    """
    # Once a step leaves as many states as before, only those on cycles are left.
    recurring, before = set(images), len(images)
    while len(recurring) < before:
        recurring, before = {images[state] for state in recurring}, len(recurring)
    turned = [images[state] if state in recurring else state for state in range(len(images))]
    steps: list[Step] = [("swap", first, other) for first, *rest in cycles(turned) for other in rest]
    done, left = set(recurring), set(range(len(images))) - recurring
    while left:
        ready = sorted(state for state in left if images[state] in done)
        steps += [("merge", images[state], state) for state in ready]
        done.update(ready)
        left.difference_update(ready)
    return steps


_FRONT = 6  # number of actions, of different degrees, that are reduced further


_MAX_DEGREE = 400


@lru_cache(maxsize=8)  # a verdict asks for the number of points, then builds on them
def small_action(letters: tuple[Permutation, ...]) -> tuple[Permutation, ...]:
    """The letters on the blocks of a block system, if the group acts faithfully on them; the smallest found.

    A group that acts on itself, such as S5 on its 120 elements, acts on blocks: the cosets of a subgroup.
    Blocks of blocks are tried, always those that hold point 0 and one other; the least number is not proved.
    """
    best = letters
    degree = len(best[0])
    order = PermutationGroup(best, degree).order if degree <= _MAX_DEGREE else 0
    front = {degree: best} if order else {}
    while front:
        result: dict[int, tuple[Permutation, ...]] = {}
        for action in front.values():
            # Blocks of the generators are blocks of the group, so the other letters need not be tried.
            few = PermutationGroup(action, len(action[0])).few_generators or action[:1]
            for point in range(1, len(action[0])):
                labels = finest_congruence(few, [(0, point)])
                size = max(labels) + 1
                if 1 < size < len(action[0]) and size not in result:
                    blocks = PermutationGroup([block_images(letter, labels) for letter in few], size)
                    if blocks.order == order:
                        result[size] = tuple(block_images(letter, labels) for letter in action)
        front = {size: result[size] for size in sorted(result, reverse=True)[-_FRONT:]}
        best = min([best, *front.values()], key=lambda action: len(action[0]))
    return best
