"""Trained networks: what can be stated without a proof.

Nothing here is called certified: an exhaustive run up to a length, the share of right outputs on sampled
words with a confidence interval that holds for every true share (Clopper and Pearson 1934), and the first
wrong word found.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, lgamma, log, log1p
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Counterexample
from krohn.certify.search import MAX_WORDS, all_words, first_wrong
from krohn.errors import InvalidInput

Forward = Callable[[npt.NDArray[np.int64]], npt.NDArray[Any]]


@dataclass(frozen=True)
class Examination:
    """``right`` of ``words`` sampled words of ``length`` were right at every position.

    ``low`` and ``high`` enclose the true share with the stated ``confidence``; all words of length
    ``exhaustive`` were run and ``exhaustive_wrong`` of them were wrong.
    """

    exhaustive: int
    exhaustive_wrong: int
    length: int
    words: int
    right: int
    low: float
    high: float
    confidence: float
    counterexample: Counterexample | None


def examine(
    forward: Forward,
    automaton: Semiautomaton,
    length: int,
    *,
    samples: int = 1000,
    max_words: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Examination:
    """Runs a network given as a function from words ``[batch, length]`` to states of the same shape."""
    if length < 1 or samples < 1 or not 0 < confidence < 1:
        raise InvalidInput(
            f"length, samples must be positive, confidence in (0, 1); got {length}, {samples}, {confidence}"
        )
    letters, longest = automaton.num_letters, 0
    while longest < length and letters ** (longest + 1) <= min(max_words, MAX_WORDS):
        longest += 1
        if letters == 1 and longest == length:
            break
    short, wrong_short = first_wrong(forward, automaton, all_words(letters, longest))
    words = np.random.default_rng(seed).integers(letters, size=(samples, length))
    long, wrong = first_wrong(forward, automaton, words)
    low, high = clopper_pearson(samples - wrong, samples, confidence)
    return Examination(
        longest, wrong_short, length, samples, samples - wrong, low, high, confidence, short or long
    )


def clopper_pearson(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    """The exact binomial interval: each end leaves (1 − confidence)/2 to its tail."""
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else _solve(lambda p: _upper_tail(successes, trials, p), tail)
    high = 1.0 if successes == trials else _solve(lambda p: 1 - _upper_tail(successes + 1, trials, p), tail)
    return low, high


def _solve(function: Callable[[float], float], wanted: float) -> float:
    """The p at which a monotone function takes the value, by bisection."""
    left, right = 0.0, 1.0
    rising = function(0.0) < function(1.0)
    for _ in range(100):
        middle = (left + right) / 2
        if (function(middle) < wanted) == rising:
            left = middle
        else:
            right = middle
    return (left + right) / 2


def _upper_tail(least: int, trials: int, p: float) -> float:
    """P[X ≥ least] for X binomial."""
    if p <= 0.0 or p >= 1.0:
        return float(p >= 1.0 or least <= 0)
    total = 0.0
    for count in range(least, trials + 1):
        ways = lgamma(trials + 1) - lgamma(count + 1) - lgamma(trials - count + 1)
        total += exp(ways + count * log(p) + (trials - count) * log1p(-p))
    return min(total, 1.0)
