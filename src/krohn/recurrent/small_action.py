"""Letters that permute the states, as permutations of fewer points on which the group acts faithfully."""

from collections.abc import Sequence

from krohn.algebra.generated_group import GeneratedGroup, least_blocks
from krohn.algebra.permutation import Permutation

_KEPT = 6  # number of actions, of different degrees, that are reduced further
_MAX_DEGREE = 400


def small_action(letters: Sequence[Permutation]) -> tuple[Permutation, ...]:
    """The letters on the blocks of a block system, if the group acts faithfully on them; the smallest found.

    A group that acts on itself, such as S5 on its 120 elements, acts on blocks: the cosets of a subgroup.
    Blocks of blocks are tried, always those that hold point 0 and one other; the least number is not proved.
    """
    best = tuple(letters)
    degree = len(best[0])
    order = GeneratedGroup(best, degree).order if degree <= _MAX_DEGREE else 0
    front = {degree: best} if order else {}
    while front:
        result: dict[int, tuple[Permutation, ...]] = {}
        for action in front.values():
            for point in range(1, len(action[0])):
                labels = least_blocks(action, len(action[0]), point)
                size = max(labels) + 1
                if 1 < size < len(action[0]) and size not in result:
                    smaller = tuple(on_blocks(letter, labels) for letter in action)
                    if GeneratedGroup(smaller, size).order == order:
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
