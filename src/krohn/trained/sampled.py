"""Accuracy of a trained network on random and on repetitive words.

Uniform words hide errors: networks that get all of them right fail on words that repeat a letter.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Counterexample
from krohn.certify.examination import clopper_pearson
from krohn.certify.search import first_wrong

Words = npt.NDArray[np.int64]
Forward = Callable[[Words], Words]

UNIFORM, HABITUAL = 2000, 256
CONFIDENCE = 0.95
STICKINESS = (0.5, 0.9, 0.97)
"""Chances that a letter, or a step of an alternation, is repeated."""


@dataclass(frozen=True)
class Sample:
    """``right`` of ``words`` words of ``length`` were answered right at every letter."""

    length: int
    words: int
    right: int
    wrong: Counterexample | None

    def to_json(self) -> dict[str, Any]:
        """Plain values; the interval encloses the true share of right words."""
        low, high = clopper_pearson(self.right, self.words, CONFIDENCE)
        return {
            "length": self.length,
            "words": self.words,
            "right": self.right,
            "low": low,
            "high": high,
            "confidence": CONFIDENCE,
        }


def sampled(forward: Forward, automaton: Semiautomaton, words: Words) -> Sample:
    """Runs the words; keeps the one with the earliest error."""
    result, wrong = first_wrong(forward, automaton, words)
    return Sample(words.shape[1], len(words), len(words) - wrong, result)


def uniform(automaton: Semiautomaton, length: int, seed: int = 0) -> Words:
    """Letters drawn independently."""
    return np.random.default_rng(seed).integers(automaton.num_letters, size=(UNIFORM, length))


def habitual(automaton: Semiautomaton, length: int, seed: int = 0) -> Words:
    """Repetitive words: one letter throughout, alternations of two, letters that often repeat."""
    letters, rng = automaton.num_letters, np.random.default_rng(seed)
    pairs = [(a, b) for a in range(letters) for b in range(letters)][: HABITUAL // 2]
    words = np.empty((HABITUAL, length), dtype=np.int64)
    place = np.arange(length)
    for row, pair in enumerate(pairs):
        words[row] = np.array(pair)[place % 2]
    for row in range(len(pairs), HABITUAL):
        sticky, period = STICKINESS[row % len(STICKINESS)], 1 + row % 4
        words[row] = rng.integers(letters, size=length)
        for at in range(period, length):
            if rng.random() < sticky:
                words[row, at] = words[row, at - period]
    return words


def legal(automaton: Semiautomaton, words: Words, allowed: npt.NDArray[np.bool_], seed: int = 0) -> Words:
    """The words with every letter that is not allowed in its state replaced by one that is."""
    rng, result = np.random.default_rng(seed), words.copy()
    state = np.full(len(words), automaton.start)
    for at in range(words.shape[1]):
        other = np.where(allowed[state], rng.random((len(words), automaton.num_letters)), -1).argmax(1)
        result[:, at] = np.where(allowed[state, result[:, at]], result[:, at], other)
        state = automaton.table[state, result[:, at]]
    return result
