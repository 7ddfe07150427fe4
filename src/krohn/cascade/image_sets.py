"""The family of image sets of an automaton: every Q·w, and every single state.

A set of states is an integer bit mask; its image under a letter is a union of entries of small
tables, one table per block of at most eight states. The semigroup is never listed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from krohn.automata.semiautomaton import Transformation
from krohn.errors import LimitExceeded

DEFAULT_MAX_SETS = 200_000
_BLOCK = 8

Image = Callable[[int], int]


@dataclass(frozen=True, slots=True, eq=False)
class ImageSets:
    """The orbit of Q under the letters, then the singletons that are not images.

    Attributes:
        masks: bit mask of each set; number 0 is Q itself; in breadth-first order.
        images: ``images[a][i]`` is the number of the set i · a.
        number: mask → number.
    """

    masks: list[int]
    images: list[list[int]]
    number: dict[int, int]


def image_sets(letters: Sequence[Transformation], max_sets: int = DEFAULT_MAX_SETS) -> ImageSets:
    """Lists the family; stops with one line when it grows past ``max_sets``."""
    num_states = len(letters[0])
    full = (1 << num_states) - 1
    masks, number = [full], {full: 0}
    images: list[list[int]] = [[] for _ in letters]
    for letter, row in zip(letters, images, strict=True):
        row.append(_number_of(_image_of_all(letter), masks, number))
    if len(masks) > 1:
        _close(masks, number, images, letters, max_sets)
    _add_singletons(masks, number, images, letters, max_sets)
    return ImageSets(masks, images, number)


def _image_of_all(letter: Transformation) -> int:
    mask = 0
    for state in set(letter):
        mask |= 1 << state
    return mask


def _number_of(mask: int, masks: list[int], number: dict[int, int]) -> int:
    found = number.get(mask)
    if found is None:
        found = number[mask] = len(masks)
        masks.append(mask)
    return found


def _close(
    masks: list[int],
    number: dict[int, int],
    images: list[list[int]],
    letters: Sequence[Transformation],
    max_sets: int,
) -> None:
    """Breadth-first closure; the list of masks is its own queue."""
    pairs = [(image_function(letter), row.append) for letter, row in zip(letters, images, strict=True)]
    position = 1
    while position < len(masks):
        mask = masks[position]
        position += 1
        for image, append in pairs:
            target = image(mask)
            found = number.get(target)
            if found is None:
                found = number[target] = len(masks)
                masks.append(target)
            append(found)
        if len(masks) > max_sets:
            raise limit_reached(len(masks), max_sets)


def _add_singletons(
    masks: list[int],
    number: dict[int, int],
    images: list[list[int]],
    letters: Sequence[Transformation],
    max_sets: int,
) -> None:
    """Every state must be a set of its own, so that tile chains end in states; images or not."""
    first = len(masks)
    states = [state for state in range(len(letters[0])) if (1 << state) not in number]
    for offset, state in enumerate(states):
        number[1 << state] = first + offset
        masks.append(1 << state)
    for letter, row in zip(letters, images, strict=True):
        row.extend([number[1 << letter[state]] for state in states])
    if len(masks) > max(max_sets, len(letters[0]) + 1):
        raise limit_reached(len(masks), max_sets)


def limit_reached(count: int, max_sets: int) -> LimitExceeded:
    """The one line about a family that is too large."""
    return LimitExceeded(
        f"the family of image sets must have at most {max_sets} members; {count} were reached and there "
        "are more; raise the limit with --max-sets (max_sets= in Python) or reduce the automaton"
    )


def image_function(letter: Transformation) -> Image:
    """The action of a letter on masks, through tables of balanced blocks of states."""
    size = len(letter)
    count = -(-size // _BLOCK)
    width = -(-size // count)
    tables = [_block_table(letter[start : start + width]) for start in range(0, size, width)]
    if count == 1:
        return tables[0].__getitem__
    low = (1 << width) - 1
    if count == 2:
        first, second = tables
        return lambda mask: first[mask & low] | second[mask >> width]
    if count == 3:
        one, two, three = tables
        double = 2 * width
        return lambda mask: one[mask & low] | two[mask >> width & low] | three[mask >> double]

    def image(mask: int) -> int:
        result = 0
        for table in tables:
            result |= table[mask & low]
            mask >>= width
            if not mask:
                break
        return result

    return image


def _block_table(targets: Sequence[int]) -> list[int]:
    table = [0]
    for target in targets:
        bit = 1 << target
        table += [entry | bit for entry in table]
    return table
