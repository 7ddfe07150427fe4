"""How often a network is right at each position of random words, and up to which length it is worth a look.

Networks of others read longer words than those they were trained on, and beyond these they guess: what is
measured on all positions together says little about either part.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton

Words = npt.NDArray[np.int64]

GOOD = (0.99, 0.9)
"""Shares of letters right that make a length worth a look: the first that some length has."""
MEASURED = 128
"""Letters of the words that are tried, at most."""
TRIED = 256
"""How many words are tried."""
AT_ONCE = 64
SEED = 1 << 32
"""Added to a seed: the words of this measurement are not those of the next."""


@dataclass(frozen=True)
class ByPosition:
    """Of ``words`` random words, in how many each letter, from the first on, is right."""

    right: tuple[int, ...]
    words: int

    @property
    def length(self) -> int:
        """Letters of these words."""
        return len(self.right)

    def share(self, first: int, last: int) -> float:
        """Of the letters ``first`` to ``last``, counted from 1, the share that is right."""
        return sum(self.right[first - 1 : last]) / (self.words * (last - first + 1))

    def reach(self, share: float) -> int:
        """The most letters of which this share is right, of the last alone and of all together; 0 if none."""
        fits = (
            n for n in range(self.length, 0, -1) if self.share(n, n) >= share and self.share(1, n) >= share
        )
        return next(fits, 0)

    def best(self, least: int = 1) -> tuple[int, float | None]:
        """The longest length worth a look and the share that it has; the whole length if there is none."""
        reached = ((self.reach(share), share) for share in GOOD)
        return next(((n, share) for n, share in reached if n >= least), (self.length, None))

    def text(self) -> str:
        """``letters 1–8: 99.80%, 9–16: 61.02%, 17–32: 50.10%``: up to the best length, then in steps."""
        edge, share = self.best()
        edge = 1 if share is None else edge
        ends = [0, *(end for end in (edge, 2 * edge, 4 * edge) if end < self.length), self.length]
        parts = (f"{_span(a + 1, b)}: {percent(self.share(a + 1, b))}" for a, b in pairwise(ends))
        return f"letters {', '.join(parts)}"

    def to_json(self) -> dict[str, Any]:
        """The share that is right at each position, in how many words, and the same as text."""
        shares = [round(count / self.words, 6) for count in self.right]
        return {"words": self.words, "right": shares, "reach": self.reach(GOOD[0]), "text": self.text()}


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


def percent(share: float) -> str:
    """A percentage that is 100 only where all are right."""
    return f"{100 * share if share == 1 else min(100 * share, 99.99):.2f}%"


def measure(
    run: Callable[[Words], Words],
    automaton: Semiautomaton,
    longest: int | None,
    draw: Callable[[int], Words] | None = None,
) -> ByPosition:
    """Runs random words, as long as the network reads, up to ``MEASURED`` letters.

    ``run`` maps words to outputs; ``draw``, of a length, gives the words it is meant for: by default uniform.
    """
    length = MEASURED if longest is None else min(longest, MEASURED)
    if draw is None:
        words = np.random.default_rng(SEED).integers(automaton.num_letters, size=(TRIED, length))
    else:
        words = draw(length)
    right = np.zeros(words.shape[1], dtype=np.int64)
    for at in range(0, len(words), AT_ONCE):
        some = words[at : at + AT_ONCE]
        right += (run(some) == automaton.right_outputs(some)).sum(axis=0)
    return ByPosition(tuple(map(int, right)), len(words))
