"""The family of image sets of an automaton: every Q·w, and every single state.

A set of states is an integer bit mask; its image under a letter is a union of entries of small
tables, one table per block of at most eight states. The semigroup is never listed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from krohn.automata.semiautomaton import Transformation
from krohn.base.budget import Budget, BudgetSpent, unlimited
from krohn.errors import LimitExceeded

DEFAULT_MAX_SETS = 200_000
# Tables of 2⁸ entries are fastest to use, tables of 2⁵ to build: the former only for large families.
_BLOCK, _SMALL_BLOCK, _SMALL_FAMILY = 8, 5, 400
_MOST_STATES = 30_000  # memory grows with its square: one set per state, one bit per state in a set
WIDE = 200  # from this many states on, sets are mapped as arrays

Image = Callable[[int], int]


@dataclass(frozen=True, slots=True, eq=False)
class ImageSets:
    """The orbit of Q under the letters, and every singleton, image or not.

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
    num_states = len(letters[0])
    full = (1 << num_states) - 1
    if num_states == 1:
        return ImageSets([full], [[0] for _ in letters], {full: 0})
    masks = [full, *[1 << state for state in range(num_states)]]
    number = dict(zip(masks, range(num_states + 1), strict=True))
    images = []
    for letter in letters:
        states = set(letter)
        image = full if len(states) == num_states else sum([1 << state for state in states])
        result = number.get(image)
        if result is None:
            result = number[image] = len(masks)
            masks.append(image)
        images.append([result, *[1 + state for state in letter]])
    if len(masks) > num_states + 1:
        _close(masks, number, images, letters, max_sets)
    return ImageSets(masks, images, number)


def _close(
    masks: list[int],
    number: dict[int, int],
    images: list[list[int]],
    letters: Sequence[Transformation],
    max_sets: int,
) -> None:
    """Breadth-first closure; the list of masks is its own queue."""
    if len(letters[0]) > WIDE:
        return _close_wide(masks, number, images, letters, max_sets)
    position = len(letters[0]) + 1
    for block, stop in ((_SMALL_BLOCK, min(_SMALL_FAMILY, max_sets)), (_BLOCK, max_sets)):
        functions = [
            (image_function(letter, block), row.append) for letter, row in zip(letters, images, strict=True)
        ]
        count = len(masks)
        while position < count <= stop:
            mask = masks[position]
            position += 1
            for image, append in functions:
                target = image(mask)
                result = number.get(target)
                if result is None:
                    result = number[target] = count
                    masks.append(target)
                    count += 1
                append(result)
        if position == count:
            return
    raise limit_reached(count, max_sets)


def _close_wide(
    masks: list[int],
    number: dict[int, int],
    images: list[list[int]],
    letters: Sequence[Transformation],
    max_sets: int,
) -> None:
    """The same closure for many states: all letters act on an array of the set's states at once."""
    table = np.array(letters, dtype=np.intp)
    rows = np.arange(len(letters))[:, None]
    num_states = table.shape[1]
    num_bytes = (num_states + 7) // 8
    position = num_states + 1
    while position < len(masks):
        packed = np.frombuffer(masks[position].to_bytes(num_bytes, "little"), dtype=np.uint8)
        states = np.flatnonzero(np.unpackbits(packed, count=num_states, bitorder="little"))
        position += 1
        hit = np.zeros(table.shape, dtype=np.uint8)
        hit[rows, table[:, states]] = 1
        for target, row in zip(np.packbits(hit, axis=1, bitorder="little"), images, strict=True):
            mask = int.from_bytes(target.tobytes(), "little")
            result = number.get(mask)
            if result is None:
                result = number[mask] = len(masks)
                masks.append(mask)
            row.append(result)
        if len(masks) > max_sets:
            raise limit_reached(len(masks), max_sets)


def limit_reached(count: int, max_sets: int) -> LimitExceeded:
    """The error for a family that is too large."""
    return LimitExceeded(
        f"the family of image sets must have at most {max_sets} members; {count} were reached and there "
        "are more; raise the limit with --max-sets (max_sets= in Python) or reduce the automaton"
    )


def image_function(letter: Transformation, block: int = _BLOCK) -> Image:
    """The action of a letter on masks, through tables of balanced blocks of at most ``block`` states."""
    size = len(letter)
    count = -(-size // block)
    width = -(-size // count)
    tables = [_block_table(letter[start : start + width]) for start in range(0, size, width)]
    if len(tables) <= 4:
        return _unrolled(tables, width)
    if len(tables) <= 8:
        shift = 4 * width
        low, first, second = (1 << shift) - 1, _unrolled(tables[:4], width), _unrolled(tables[4:], width)
        return lambda mask: first(mask & low) | second(mask >> shift)
    part = (1 << width) - 1

    def image(mask: int) -> int:
        result = 0
        for table in tables:
            result |= table[mask & part]
            mask >>= width
            if not mask:
                break
        return result

    return image


def _unrolled(tables: list[list[int]], width: int) -> Image:
    """One to four blocks with the loop unrolled: the hot path for small automata."""
    low = (1 << width) - 1
    double, triple = 2 * width, 3 * width
    match tables:
        case [one]:
            return one.__getitem__
        case [one, two]:
            return lambda mask: one[mask & low] | two[mask >> width]
        case [one, two, three]:
            return lambda mask: one[mask & low] | two[mask >> width & low] | three[mask >> double]
        case _:
            one, two, three, four = tables
            return lambda mask: (
                one[mask & low]
                | two[mask >> width & low]
                | three[mask >> double & low]
                | four[mask >> triple]
            )


def _block_table(targets: Sequence[int]) -> list[int]:
    table = [0]
    for target in targets:
        bit = 1 << target
        table += [entry | bit for entry in table]
    return table
