"""Words with the automaton's run on them, and pairs of words for swaps."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Readings:
    """Words ``letters`` [word, t] of an automaton."""

    automaton: Semiautomaton
    letters: Numbers

    @property
    def length(self) -> int:
        """Letters of a word."""
        return int(self.letters.shape[1])

    @cached_property
    def table(self) -> Numbers:
        """δ[state, letter]."""
        return self.automaton.table.astype(np.int64)

    @cached_property
    def states(self) -> Numbers:
        """The state after each letter."""
        return self.automaton.simulate(self.letters).astype(np.int64)

    @cached_property
    def before(self) -> Numbers:
        """The state before each letter."""
        start = np.full((len(self.letters), 1), self.automaton.start, dtype=np.int64)
        return np.concatenate([start, self.states[:, :-1]], axis=1)


def latest(marked: npt.NDArray[np.bool_]) -> Numbers:
    """For each position [word, t] the latest marked one up to it; −1 where there is none."""
    out: Numbers = np.maximum.accumulate(np.where(marked, np.arange(marked.shape[-1]), -1), axis=-1)
    return out


def window_maps(table: Numbers, letters: Numbers, width: int) -> Numbers:
    """[word, t, state]: where the last ``width`` letters, a power of two, or all up to t, take each state."""
    maps, span = table.T[letters], 1
    while span < width:
        joined = maps.copy()
        joined[:, span:] = np.take_along_axis(maps[:, span:], maps[:, :-span], axis=2)
        maps, span = joined, 2 * span
    return maps


@dataclass(frozen=True, eq=False)
class Pairs:
    """Positions ``at`` where something of the word ``source`` goes into the word ``base``."""

    base: Numbers
    source: Numbers
    at: Numbers

    def __len__(self) -> int:
        return len(self.at)

    def where(self, chosen: npt.NDArray[np.bool_] | Numbers) -> "Pairs":
        """Some of the pairs."""
        return Pairs(self.base[chosen], self.source[chosen], self.at[chosen])


Predict = Callable[[Readings, Pairs], Numbers]
"""The state that the algebra predicts after a swap; −1 where it predicts nothing."""


def draw_pairs(readings: Readings, rng: np.random.Generator, count: int) -> Pairs:
    """Two different words and a position, all uniform."""
    words = len(readings.letters)
    base = rng.integers(words, size=count)
    source = (base + rng.integers(1, words, size=count)) % words
    return Pairs(base, source, rng.integers(readings.length, size=count))
