"""How far a letter has been carried: two words that differ in one letter, and prefixes patched after it.

The k positions that start at the letter are taken from the other word. If the last answer is then the other
word's, these positions hold everything that the network still reads of the letter. In a scan the least such k
doubles with each layer.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from krohn.errors import InvalidInput
from krohn.lab.interpret.carrying import letter_pairs, patched
from krohn.lab.interpret.readings import Readings
from krohn.lab.interpret.subject import Subject

HALF = 0.5
AT_ONCE, STEP_BY_STEP, FROM_THE_LEFT = "at once", "step by step", "from the left"
UNDECIDED = "undecided"
LEAST_ROOM = 4


@dataclass(frozen=True)
class LetterPath:
    """How far the letter at ``place``, counted from 1, has been carried.

    Attributes:
        patched: the values of k: how many positions, starting at the letter, come from the other word.
        follow: for each layer and each k, the share of the answers that are the other word's.
        within: for each layer the least k from which on that share is at least one half.
    """

    place: int
    pairs: int
    patched: list[int]
    follow: list[list[float]]
    within: list[int | None]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def follow_letter(subject: Subject, place: int, *, pairs: int = 32, seed: int = 0) -> LetterPath:
    """Follows the letter at ``place`` (from 1) through the layers, on words as long as the network takes."""
    length = subject.length
    if not 1 <= place < length:
        raise InvalidInput(f"the letter must be one of 1–{length - 1}, so that another follows; got {place}")
    words = Readings(subject.automaton, subject.draw(seed, 4 * pairs, length))
    hybrids = letter_pairs(words, place - 1, pairs)
    counts = doubling(length - place)
    wanted = hybrids.source.states[:, -1]
    answers = patched(subject.stages, hybrids, [length - place + 1 - count for count in counts])
    follow = [[float((row == wanted).mean()) if len(wanted) else 0.0 for row in rows] for rows in answers]
    return LetterPath(place, len(wanted), counts, follow, [reached(counts, row) for row in follow])


def places_of(length: int) -> list[int]:
    """Letters to follow: the first one, and those a quarter, a half and three quarters of the way."""
    return [1 + part * length // 4 for part in range(4)]


def signature(paths: Sequence[LetterPath]) -> str:
    """How letters are carried, from the paths of the first letter and of others.

    A letter is *on its way* after an inner layer if it has reached more than its own position, but at most
    half of the positions after it. ``step by step``: at least half of the other letters are on their way at a
    place that the first letter has not reached yet, as in a scan. ``from the left``: they are on their way
    only later. ``at once``: they never are, as in a cascade. Letters that change no last state on these
    words, or that have fewer than four positions after them, are left out. ``undecided``: at most one letter
    is left, or some but fewer than half of the others are ahead of the first.
    """
    kept = [path for path in paths if path.pairs and path.patched[-1] >= LEAST_ROOM]
    if len(kept) < 2:
        return UNDECIDED
    first, *others = kept
    inner = range(1, len(first.within) - 1)
    moving = [[layer for layer in inner if _on_its_way(path, layer)] for path in others]
    ahead = [
        any(first.place + (first.within[layer] or path.place) <= path.place for layer in layers)
        for path, layers in zip(others, moving, strict=True)
    ]
    if 0 < 2 * sum(ahead) < len(others):
        return UNDECIDED
    if any(ahead):
        return STEP_BY_STEP
    return FROM_THE_LEFT if any(moving) else AT_ONCE


def _on_its_way(path: LetterPath, layer: int) -> bool:
    within = path.within[layer]
    return within is not None and 1 < within <= path.patched[-1] / 2


def doubling(most: int) -> list[int]:
    """Powers of two below ``most``, and ``most``."""
    return [*(2**n for n in range(most.bit_length()) if 2**n < most), most]


def reached(counts: Sequence[int], shares: Sequence[float]) -> int | None:
    """The least count from which every share is at least one half."""
    result = None
    for count, share in zip(reversed(counts), reversed(shares), strict=True):
        if share < HALF:
            break
        result = count
    return result
