"""The map of a letter as swaps and merges of two states, one step of a recurrent layer each.

Letters that permute the states are also permutations of fewer points on which the group acts faithfully.
"""

from collections.abc import Sequence

from krohn.algebra.permgroup import PermutationGroup, least_blocks
from krohn.algebra.permutation import Permutation

Step = tuple[str, int, int]
"""``("swap", i, j)`` exchanges i and j; ``("merge", i, j)`` sends j to i and leaves the rest."""


def components(images: Sequence[int]) -> int:
    """Connected components of the graph with an edge from each state to its image."""
    root = list(range(len(images)))

    def find(state: int) -> int:
        while root[state] != state:
            state = root[state]
        return state

    for state, image in enumerate(images):
        root[find(state)] = find(image)
    return sum(find(state) == state for state in range(len(images)))


def swaps_and_merges(images: Sequence[int]) -> list[Step]:
    """The map as n − components(map) steps, in order.

    Fewer do not suffice in the one-hot code: each step moves along one direction, and the map less the
    identity has that rank. Cycles come first, as swaps; then the trees that lead to them, from the root.
    """
    recurring = set(range(len(images)))
    for _ in images:
        recurring = {images[state] for state in recurring}
    steps: list[Step] = []
    seen: set[int] = set()
    for state in sorted(recurring):
        while state not in seen:
            seen.add(state)
            orbit = [images[state]]
            while orbit[-1] != state:
                orbit.append(images[orbit[-1]])
            seen.update(orbit)
            steps += [("swap", state, other) for other in orbit[:-1]]
    done, rest = set(recurring), set(range(len(images))) - recurring
    while rest:
        ready = sorted(state for state in rest if images[state] in done)
        steps += [("merge", images[state], state) for state in ready]
        done.update(ready)
        rest.difference_update(ready)
    return steps


_KEPT = 6  # number of actions, of different degrees, that are reduced further
_MAX_DEGREE = 400


def small_action(letters: Sequence[Permutation]) -> tuple[Permutation, ...]:
    """The letters on the blocks of a block system, if the group acts faithfully on them; the smallest found.

    A group that acts on itself, such as S5 on its 120 elements, acts on blocks: the cosets of a subgroup.
    Blocks of blocks are tried, always those that hold point 0 and one other; the least number is not proved.
    """
    best = tuple(letters)
    degree = len(best[0])
    order = PermutationGroup(best, degree).order if degree <= _MAX_DEGREE else 0
    front = {degree: best} if order else {}
    while front:
        result: dict[int, tuple[Permutation, ...]] = {}
        for action in front.values():
            for point in range(1, len(action[0])):
                labels = least_blocks(action, len(action[0]), point)
                size = max(labels) + 1
                if 1 < size < len(action[0]) and size not in result:
                    smaller = tuple(on_blocks(letter, labels) for letter in action)
                    if PermutationGroup(smaller, size).order == order:
                        result[size] = smaller
        front = {size: result[size] for size in sorted(result, reverse=True)[-_KEPT:]}
        best = min([best, *front.values()], key=lambda action: len(action[0]))
    return best


def on_blocks(letter: Permutation, labels: Sequence[int]) -> Permutation:
    """The action of a letter on the blocks of a partition that it respects."""
    images = [0] * (max(labels) + 1)
    for point, label in enumerate(labels):
        images[label] = labels[letter[point]]
    return tuple(images)
