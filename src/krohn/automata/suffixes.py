"""Machines that know which of some words a word ends with, and no more of it than these words need."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Word = tuple[int, ...]

BEGIN = -1
"""Stands before the first letter of a word."""


@dataclass(frozen=True, eq=False)
class Contexts:
    """The contexts, and the machine that follows them.

    ``after[node, letter]`` is the next node, ``of[node]`` the number of its context, ``known[node]`` what the
    word is known to end with; node 0 is the start.
    """

    words: tuple[Word, ...]
    known: tuple[Word, ...]
    after: Integers
    of: Integers

    @property
    def longest(self) -> int:
        """The letters of the longest context."""
        return max(map(len, self.words))


def follow_contexts(words: tuple[Word, ...], letters: int, tier: Sequence[int]) -> Contexts:
    """The machine that keeps the longest suffix that may become a context (Aho and Corasick)."""
    nodes = sorted({word[:end] for word in words for end in range(len(word) + 1)}, key=lambda w: (len(w), w))
    number = {word: index for index, word in enumerate(nodes)}
    after = np.zeros((len(nodes), letters), dtype=np.int64)
    shorter, of = [0] * len(nodes), [-1] * len(nodes)
    known = {word: index for index, word in enumerate(words)}
    for index, word in enumerate(nodes):
        if word:
            last = word[-1]
            parent = number[word[:-1]]
            # The longest proper suffix is found one letter before; BEGIN never comes again.
            shorter[index] = 0 if last == BEGIN or not parent else int(after[shorter[parent], last])
        after[index] = after[shorter[index]] if word else 0
        for letter in tier:
            after[index, letter] = number.get((*word, letter), after[index, letter])
        of[index] = known.get(word, of[shorter[index]] if word else -1)
    rest = [letter for letter in range(letters) if letter not in tier]
    after[:, rest] = np.arange(len(nodes))[:, None]
    start = number.get((BEGIN,), 0)
    swap = np.arange(len(nodes))
    swap[[0, start]] = start, 0
    shown = tuple(nodes[node] for node in swap.tolist())
    return Contexts(words, shown, swap[after][swap], np.array(of, dtype=np.int64)[swap])
