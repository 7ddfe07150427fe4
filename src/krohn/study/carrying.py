"""How far a letter has been carried: two words that differ in one letter, and prefixes patched after it.

If the positions from the letter on, so many, are taken from the other word, and the last answer is the other
word's, then these positions hold all that the network still reads of the letter. In a scan their number
doubles with each layer.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from krohn.errors import InvalidInput
from krohn.study.hybrids import Hybrids
from krohn.study.readings import Numbers, Readings
from krohn.study.stages import Stages
from krohn.study.subject import Subject

HALF = 0.5


@dataclass(frozen=True)
class LetterPath:
    """How far the letter at ``place``, counted from 1, has been carried.

    Attributes:
        patched: numbers of positions, from the letter on, that were taken from the other word.
        follow: for each layer and each of these numbers, the share of the answers that are the other word's.
        within: for each layer the least of these numbers from which at least half of the answers are.
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


def letter_pairs(base: Readings, place: int, count: int) -> Hybrids:
    """The base's words and the same with another letter at ``place`` (from 0), if the last states differ."""
    letters, number = base.letters, base.automaton.num_letters
    words = np.repeat(letters, number - 1, axis=0)
    others = words.copy()
    others[:, place] = (words[:, place] + np.tile(np.arange(1, number), len(letters))) % number
    one, other = Readings(base.automaton, words), Readings(base.automaton, others)
    order = np.argsort(
        np.tile(np.arange(number - 1), len(letters)), kind="stable"
    )  # each word once, then again
    chosen = order[(one.states[:, -1] != other.states[:, -1])[order]][:count]
    return Hybrids(*(Readings(base.automaton, side.letters[chosen]) for side in (one, other)))


def patched(stages: Stages, hybrids: Hybrids, kept: Sequence[int]) -> Numbers:
    """[layer, kept, pair]: the predicted state at the last letter."""
    base, source = (stages.run(side.letters) for side in (hybrids.base, hybrids.source))
    return np.array(
        [
            [stages.answer(layer, stream[:, -count:], source).cpu().numpy() for count in kept]
            for layer, stream in enumerate(base.streams)
        ]
    )
