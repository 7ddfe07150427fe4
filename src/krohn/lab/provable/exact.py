"""A trained run compared with an automaton: all words of a length, and samples of longer ones.

Samples are uniform and repetitive words: networks that get all uniform words right fail on words that repeat
a letter. Each gives an interval for the share of right words (Clopper and Pearson 1934).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, lgamma, log, log1p
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.distributions import feasible_letters
from krohn.automata.semiautomaton import Semiautomaton
from krohn.lab.training.trained_network import TrainedNetwork
from krohn.proving.evidence import Counterexample
from krohn.proving.word_search import first_wrong, in_blocks

MULTIPLICATIONS = 10**10
"""What a count may cost at effort 1: a few seconds of one core."""
PER_PREFIX = 10_000
"""Overhead of a letter besides the matrix products, in multiplications."""

Allowed = npt.NDArray[np.bool_]
Words = npt.NDArray[np.int64]
Forward = Callable[[Words], Words]


@dataclass(frozen=True)
class ExactCount:
    """Of all ``words`` words of ``length`` letters, ``wrong`` have an error at some letter.

    Attributes:
        shortest: the shortest wrong word, lexicographically first; none if all are right.
        closest: smallest lead of an answer over the next; if tiny, other machines may disagree.
        seconds: of reading them.
    """

    length: int
    words: int
    wrong: int
    shortest: Counterexample | None
    closest: float
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "length": self.length,
            "words": self.words,
            "wrong": self.wrong,
            "right_share": 1.0 - self.wrong / self.words,
            "closest": self.closest if np.isfinite(self.closest) else None,
            "words_per_second": self.words_per_second,
        }

    @property
    def words_per_second(self) -> float:
        """How fast they were read."""
        return self.words / max(self.seconds, 1e-9)

    def text(self, which: str = "words") -> str:
        """One line; ``which``: what the words are. No share is rounded up to 100 %."""
        share = 100 * (1.0 - self.wrong / self.words)
        return (
            f"all {self.words:,} {which} of length {self.length}: {self.wrong:,} with an error, "
            f"{min(share, 99.9999) if self.wrong else share:.6g} % right "
            f"({self.words_per_second:,.0f} words/s)"
        )


def count(
    trained: TrainedNetwork, automaton: Semiautomaton, length: int, allowed: Allowed | None = None
) -> ExactCount:
    """Runs every word of ``length`` whose letters are all ``allowed`` [state, letter] in their states."""
    began, many, wrong, closest, errors = perf_counter(), 0, 0, float("inf"), []

    def run(words: Words) -> Words:
        nonlocal closest
        states, leads = trained.decide(words)
        closest = min(closest, float(leads.min()))
        return states

    for words in in_blocks(automaton.num_letters, length):
        kept = words if allowed is None else words[(legal(automaton, words, allowed) == words).all(1)]
        error, bad = first_wrong(run, automaton, kept)
        many, wrong = many + len(kept), wrong + bad
        errors += [] if error is None else [error]
    first = min(errors, key=lambda error: (len(error.word), error.word), default=None)
    return ExactCount(length, many, wrong, first, closest, perf_counter() - began)


def longest(trained: TrainedNetwork, most: int, effort: float) -> int:
    """The largest length, at most ``most``, whose words cost at most the effort; at least 1."""
    weights = sum(part.size for part in trained.network.layout.parameters if part.name != "wte")
    # A letter costs a product with every weight but the embedding, which is looked up; a scratchpad reads two
    # tokens for it.
    passes = trained.network.passes(most)
    each = (weights * trained.task.config.tokens_of(most) / most + PER_PREFIX) * passes
    letters, total, length = trained.automaton.num_letters, 0.0, 0
    while length < most:
        total += float(letters) ** (length + 1) * each
        if total > MULTIPLICATIONS * effort and length:
            break
        length += 1
    return length


UNIFORM, HABITUAL = 2000, 256
CONFIDENCE = 0.95
STICKINESS = (0.5, 0.9, 0.97)
"""Chances that a letter, or a step of an alternation, is repeated."""


@dataclass(frozen=True)
class SampledWords:
    """``right`` of ``words`` words of ``length`` were answered right at every letter.

    Attributes:
        drawn: whether words were drawn independently, and all alike: only then do they estimate a share.
    """

    length: int
    words: int
    right: int
    wrong: Counterexample | None
    drawn: bool = True

    def to_json(self) -> dict[str, Any]:
        """Plain values; the interval encloses the true share of right words."""
        counts = {"length": self.length, "words": self.words, "right": self.right}
        if not self.drawn:
            return counts
        low, high = clopper_pearson(self.right, self.words, CONFIDENCE)
        return {**counts, "low": low, "high": high, "confidence": CONFIDENCE}

    def text(self, which: str) -> str:
        """One line; ``which``: what the words are."""
        counts = f"{self.words:,} {which} of length {self.length}: {self.right:,} right at every position"
        if not self.drawn:
            return counts
        low, high = clopper_pearson(self.right, self.words, CONFIDENCE)
        return (
            f"{counts}; {100 * CONFIDENCE:g} % confidence that the share of such words is between "
            f"{low:.4f} and {high:.4f}"
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


def run_sample(
    forward: Forward, automaton: Semiautomaton, words: Words, *, drawn: bool = True
) -> SampledWords:
    """Runs the words; keeps the one with the earliest error."""
    result, wrong = first_wrong(forward, automaton, words)
    return SampledWords(words.shape[1], len(words), len(words) - wrong, result, drawn)


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


def legal(automaton: Semiautomaton, words: Words, allowed: npt.NDArray[np.bool_]) -> Words:
    """The words with every letter that is not allowed in its state replaced by one that is."""
    rng, result = np.random.default_rng(0), words.copy()
    state = np.full(len(words), automaton.start)
    for at in range(words.shape[1]):
        other = np.where(allowed[state], rng.random((len(words), automaton.num_letters)), -1).argmax(1)
        result[:, at] = np.where(allowed[state, result[:, at]], result[:, at], other)
        state = automaton.table[state, result[:, at]]
    return result


RECURRENT = ("lstm", "gru")
LONG = 300
"""Letters of sampled words on networks that carry a state: errors grow slowly there."""


@dataclass(frozen=True)
class Examined:
    """The results of running words.

    Attributes:
        exact: on all words of the largest length that the effort allows.
        legal: the same on the training distribution's support, where that avoids a sink.
        sample: random words of the training length.
        habits: repetitive and alternating words; long ones on recurrent networks.
    """

    exact: ExactCount
    legal: ExactCount | None
    sample: SampledWords
    habits: SampledWords

    @property
    def counterexample(self) -> Counterexample | None:
        """The shortest wrong word that is known, from running all short words or from the samples."""
        result = [self.exact.shortest, self.sample.wrong, self.habits.wrong]
        return min((one for one in result if one is not None), key=lambda one: len(one.word), default=None)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "exact": self.exact.to_json(),
            "exact_in_training": None if self.legal is None else self.legal.to_json(),
            "sample": self.sample.to_json(),
            "habits": self.habits.to_json(),
        }

    def text(self) -> str:
        """A line for each run of words."""
        training = [] if self.legal is None else [self.legal.text("words that training draws")]
        samples = self.sample.text("random words"), self.habits.text("repetitive and alternating words")
        lines = [self.exact.text(), *training, *samples]
        return "\n".join(lines if self.counterexample else [*lines, "no counterexample found"])


def examine_run(
    trained: TrainedNetwork, automaton: Semiautomaton, length: int | None = None, effort: float = 1.0
) -> Examined:
    """Runs all words of the largest length up to ``length`` that the effort allows, and samples."""
    wanted = length or trained.length
    reach = longest(trained, wanted, effort)
    may = words_of_training(trained)
    recurrent = kind_of(trained) in RECURRENT
    far = max(wanted, LONG) if recurrent and length is None else wanted
    random, repeating = uniform(automaton, wanted), habitual(automaton, far)
    if may is not None:
        random, repeating = (legal(automaton, words, may) for words in (random, repeating))
    return Examined(
        count(trained, automaton, reach),
        None if may is None else count(trained, automaton, reach, may),
        run_sample(trained.forward, automaton, random),
        run_sample(trained.forward, automaton, repeating, drawn=False),
    )


def kind_of(trained: TrainedNetwork) -> str:
    """The name of the network's architecture."""
    config = getattr(trained.network, "config", None)
    return str(getattr(config, "kind", ""))


def words_of_training(trained: TrainedNetwork) -> Allowed | None:
    """The letters that training draws in each state, if it avoids a sink; none if it draws all."""
    if not trained.task.distribution.follows_state:
        return None
    return feasible_letters(trained.automaton)
