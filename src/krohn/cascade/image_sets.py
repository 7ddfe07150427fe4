"""The image sets of an automaton: what remains possible after some word, Q·w, and every single state."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from krohn.automata.semiautomaton import Transformation
from krohn.base.portable import Budget, BudgetSpent, unlimited
from krohn.errors import LimitExceeded

DEFAULT_MAX_SETS = 200_000
_MOST_STATES = 30_000  # memory grows with its square: one set per state, one bit per state in a set
_BLOCK = 6  # states in a table of images: larger tables are quicker to use, smaller ones to build
WIDE = 200  # from this many states on, tables would take too much memory: sets are mapped as arrays


@dataclass(frozen=True, slots=True, eq=False)
class ImageSets:
    """The family: every image Q·w of all states, and every singleton, image or not.

    The semigroup of all words is never listed: sets are few where maps are many.

    Attributes:
        masks: bit mask of each set: number 0 is Q, number 1 + q is {q}, then the rest breadth-first.
            A single state is its own Q, number 0.
        images: ``images[a][i]`` is the number of the set i · a.
        number: mask → number.
    """

    masks: list[int]
    images: list[list[int]]
    number: dict[int, int]


def image_sets(
    letters: Sequence[Transformation], max_sets: int = DEFAULT_MAX_SETS, budget: Budget | None = None
) -> ImageSets:
    """Lists the family; stops with a one-line error when it exceeds ``max_sets`` or the budget."""
    budget = unlimited() if budget is None else budget
    cost = 4 + len(letters) * (1 + len(letters[0]) // WIDE)
    allowed = budget.pieces(cost, max_sets)
    if len(letters[0]) > _MOST_STATES:
        raise LimitExceeded(
            f"image sets are listed for at most {_MOST_STATES:,} states; got {len(letters[0]):,}; reduce the "
            "automaton"
        )
    try:
        family = _family(letters, allowed)
    except LimitExceeded:
        if allowed == max_sets:
            raise
        budget.spend(allowed * cost)
        raise BudgetSpent("the family of image sets takes more work than is left; raise --effort") from None
    budget.spend(min(len(family.masks), allowed) * cost)
    return family


def _family(letters: Sequence[Transformation], max_sets: int) -> ImageSets:
    """Breadth-first closure of Q and the singletons under the letters; the list of masks is its own queue."""
    num_states = len(letters[0])
    full = (1 << num_states) - 1
    if num_states == 1:
        return ImageSets([full], [[0] for _ in letters], {full: 0})
    masks = [full, *[1 << state for state in range(num_states)]]
    number = dict(zip(masks, range(num_states + 1), strict=True))
    images: list[list[int]] = []
    for letter in letters:
        image = sum([1 << state for state in set(letter)])
        if number.setdefault(image, len(masks)) == len(masks):
            masks.append(image)
        images.append([number[image], *[1 + state for state in letter]])
    # Singletons lead to singletons: only larger sets are mapped from here on.
    count = len(masks)
    position = num_states + 1
    functions: list[tuple[Callable[[int], int], Callable[[int], None]]] = []
    if position < count:
        functions = [(image_function(a), row.append) for a, row in zip(letters, images, strict=True)]
    while position < count <= max_sets:
        mask = masks[position]
        position += 1
        for function, append in functions:
            image = function(mask)
            known = number.get(image)
            if known is None:
                known = number[image] = count
                masks.append(image)
                count += 1
            append(known)
    if position == count:
        return ImageSets(masks, images, number)
    raise LimitExceeded(
        f"the family of image sets must have at most {max_sets} members; {count} were reached and there "
        "are more; raise --effort (effort= in Python) or reduce the automaton"
    )


def image_function(letter: Transformation) -> Callable[[int], int]:
    """The action of a letter on masks: a union of table entries, one table per block of states."""
    size = len(letter)
    if size > WIDE:
        return _wide_image_function(letter)
    tables = [_block_table(letter[start : start + _BLOCK]) for start in range(0, size, _BLOCK)]
    low = (1 << _BLOCK) - 1

    def image(mask: int) -> int:
        result = 0
        for table in tables:
            result |= table[mask & low]
            mask >>= _BLOCK
        return result

    return image


def _wide_image_function(letter: Transformation) -> Callable[[int], int]:
    targets = np.array(letter, dtype=np.intp)
    size = len(letter)
    num_bytes = (size + 7) // 8

    def image(mask: int) -> int:
        packed = np.frombuffer(mask.to_bytes(num_bytes, "little"), dtype=np.uint8)
        hit = np.zeros(size, dtype=np.uint8)
        hit[targets[np.flatnonzero(np.unpackbits(packed, count=size, bitorder="little"))]] = 1
        return int.from_bytes(np.packbits(hit, bitorder="little").tobytes(), "little")

    return image


def _block_table(targets: Sequence[int]) -> list[int]:
    """The images of all sets of a block: entry m is the union of the targets of the states in m."""
    table = [0]
    for target in targets:
        table += [entry | 1 << target for entry in table]
    return table
