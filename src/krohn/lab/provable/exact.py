"""Exact accuracy: all words of a length, not a sample, as a prefix tree in which each prefix is read once.

A prefix of l letters has |Σ| continuations, so all words of length n have about |Σ|^n·|Σ|/(|Σ| − 1) prefixes
and not n·|Σ|^n. A level is one batch; if too large it is split, and the parts are followed one after the
other. Networks that carry a state or a cache of keys and values fork it (``Decoder.fork``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from krohn.automata.semiautomaton import Semiautomaton
from krohn.lab.models.network import StackedDecoder
from krohn.lab.tasks.batches import feasible_letters
from krohn.lab.training.trained_network import TrainedNetwork
from krohn.proving.outcome import Counterexample
from krohn.proving.word_search import clopper_pearson, first_wrong

LEAVES = {"cpu": 1 << 10, "cuda": 1 << 15}
"""Prefixes read at once: bounds what the caches hold."""


@dataclass(frozen=True, eq=False)
class WordLevel:
    """Prefixes of one length: their letters [N, l], what the network answers [N] and by which lead [N]."""

    decoder: StackedDecoder
    words: Tensor
    answers: Tensor
    leads: Tensor

    def __len__(self) -> int:
        return len(self.words)

    def chosen(self, rows: Tensor) -> "WordLevel":
        """Those prefixes alone."""
        return WordLevel(self.decoder.fork(rows), self.words[rows], self.answers[rows], self.leads[rows])


Keep = Callable[[WordLevel], Tensor | None]


def walk(trained: TrainedNetwork, length: int, keep: Keep) -> None:
    """Calls ``keep`` on every level down to ``length``; it returns the rows to follow (``None``: all)."""
    with torch.no_grad():
        _follow(trained, _root(trained, length), length, keep)


def _root(trained: TrainedNetwork, length: int) -> WordLevel:
    decoder = trained.network.decoder(trained.weights, 1, trained.task.config.tokens_of(length))
    device = trained.task.device
    nothing = torch.zeros(1, 0, dtype=torch.int64, device=device)
    return WordLevel(decoder, nothing, torch.zeros(1, dtype=torch.int64, device=device), nothing.double())


def _follow(trained: TrainedNetwork, level: WordLevel, length: int, keep: Keep) -> None:
    letters, most = trained.automaton.num_letters, LEAVES[trained.task.device.type]
    while level.words.shape[1] < length and (len(level) * letters <= most or len(level) == 1):
        level = _extended(trained, level)
        rows = keep(level)
        if rows is not None:
            if not len(rows):
                return
            level = level.chosen(rows)
    if level.words.shape[1] == length:
        return
    size = max(1, most // letters)
    for first in range(0, len(level), size):
        rows = torch.arange(first, min(first + size, len(level)), device=level.words.device)
        _follow(trained, level.chosen(rows), length, keep)


def _extended(trained: TrainedNetwork, level: WordLevel) -> WordLevel:
    """Every prefix with every letter after it, in lexicographic order."""
    config, letters, count = trained.task.config, trained.automaton.num_letters, len(level)
    rows = torch.arange(count, device=level.words.device).repeat_interleave(letters)
    letter = torch.arange(letters, device=rows.device).repeat(count)
    read = [letter]
    if level.words.shape[1] == 0 and config.bos:
        read = [torch.full_like(letter, letters), letter]
    elif level.words.shape[1] and config.scratchpad:
        read = [level.answers[rows] + letters, letter]
    decoder = level.decoder.fork(rows)
    best = decoder.step(torch.stack(read, -1)[None])[0].topk(min(2, trained.task.classes))
    leads = (
        best.values[:, 0] - best.values[:, 1] if trained.task.classes > 1 else best.values[:, 0] + torch.inf
    )
    return WordLevel(decoder, torch.cat((level.words[rows], letter[:, None]), 1), best.indices[:, 0], leads)


MULTIPLICATIONS = 10**10
"""What a count may cost at effort 1: a few seconds of one core."""
PER_PREFIX = 10_000
"""Overhead of a prefix besides the matrix products, in multiplications."""

Allowed = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ExactCount:
    """Of all ``words`` words of ``length`` letters, ``wrong`` have an error at some letter.

    Attributes:
        shortest: the shortest wrong word, lexicographically first; none if all are right.
        closest: smallest lead of an answer over the next; if tiny, other machines may disagree.
        prefixes: number read; nothing is read after an error.
        seconds: of reading them.
    """

    length: int
    words: int
    wrong: int
    shortest: Counterexample | None
    closest: float
    prefixes: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "length": self.length,
            "words": self.words,
            "wrong": self.wrong,
            "right_share": 1.0 - self.wrong / self.words,
            "closest": self.closest if np.isfinite(self.closest) else None,
            "words_per_second": self.words / max(self.seconds, 1e-9),
        }


def count(
    trained: TrainedNetwork, automaton: Semiautomaton, length: int, allowed: Allowed | None = None
) -> ExactCount:
    """Runs every word of ``length`` whose letters are all ``allowed`` [state, letter] in their states."""
    device = trained.task.device
    table = torch.tensor(automaton.table.astype(np.int64), device=device)
    mask = np.ones(table.shape, bool) if allowed is None else allowed
    may, ways = torch.tensor(mask, device=device), ways_of(automaton, mask, length)
    tally = _Tally(automaton, table, may, ways, length)
    began = perf_counter()
    walk(trained, length, tally.keep)
    seconds = perf_counter() - began
    words = ways[length][automaton.start]
    return ExactCount(length, words, tally.wrong, tally.shortest, tally.closest, tally.prefixes, seconds)


def longest(trained: TrainedNetwork, most: int, effort: float) -> int:
    """The largest length, at most ``most``, whose words cost at most the effort; at least 1."""
    weights = sum(part.size for part in trained.network.layout.parameters if part.name != "wte")
    each = weights * trained.task.config.tokens_of(most) / most + PER_PREFIX
    letters, total, length = trained.automaton.num_letters, 0.0, 0
    while length < most:
        total += float(letters) ** (length + 1) * each
        if total > MULTIPLICATIONS * effort and length:
            break
        length += 1
    return length


class _Tally:
    """Compares each level with the automaton; only prefixes that are right so far are followed."""

    def __init__(
        self, automaton: Semiautomaton, table: Tensor, may: Tensor, ways: list[list[int]], length: int
    ) -> None:
        self._automaton, self._table, self._may, self._ways, self._length = (
            automaton,
            table,
            may,
            ways,
            length,
        )
        self.wrong, self.prefixes = 0, 0
        self.closest = float("inf")
        self.shortest: Counterexample | None = None

    def keep(self, level: WordLevel) -> Tensor:
        """Counts the wrong words below every wrong prefix; returns the rows of the right ones."""
        depth = level.words.shape[1]
        # All letters but the last were right: the previous answer is the automaton's state.
        before = self._state_before(level.words)
        letter = level.words[:, -1]
        wanted, allowed = self._table[before, letter], self._may[before, letter]
        self.prefixes += int(allowed.sum())
        right = level.answers == wanted
        if bool(allowed.any()):
            self.closest = min(self.closest, float(level.leads[allowed].min()))
        wrong = torch.nonzero(allowed & ~right).flatten()
        below = self._ways[self._length - depth]
        for state, number in zip(*torch.unique(wanted[wrong], return_counts=True), strict=True):
            self.wrong += int(number) * below[int(state)]
        if len(wrong):
            self._note(level, int(wrong[0]), int(wanted[wrong[0]]))
        return torch.nonzero(allowed & right).flatten()

    def _state_before(self, words: Tensor) -> Tensor:
        state = torch.full_like(words[:, 0], self._automaton.start)
        for place in range(words.shape[1] - 1):
            state = self._table[state, words[:, place]]
        return state

    def _note(self, level: WordLevel, row: int, wanted: int) -> None:
        result = Counterexample(tuple(level.words[row].tolist()), wanted, int(level.answers[row]))
        best = self.shortest
        if best is None or (len(result.word), result.word) < (len(best.word), best.word):
            self.shortest = result


def ways_of(automaton: Semiautomaton, allowed: Allowed, length: int) -> list[list[int]]:
    """``ways[l][q]``: number of allowed words of l letters from state q, as Python integers."""
    table, ways = automaton.table.tolist(), [[1] * automaton.num_states]
    for _ in range(length):
        last = ways[-1]
        ways.append(
            [
                sum(last[target] for target, may in zip(row, free, strict=True) if may)
                for row, free in zip(table, allowed.tolist(), strict=True)
            ]
        )
    return ways


# A trained run compared with an automaton: all words up to a length, and samples of longer ones.
#
# Samples are uniform and repetitive words: networks that get all uniform words right fail on words that
# repeat a letter.


Words = npt.NDArray[np.int64]
Forward = Callable[[Words], Words]

UNIFORM, HABITUAL = 2000, 256
CONFIDENCE = 0.95
STICKINESS = (0.5, 0.9, 0.97)
"""Chances that a letter, or a step of an alternation, is repeated."""


@dataclass(frozen=True)
class SampledWords:
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


def sampled(forward: Forward, automaton: Semiautomaton, words: Words) -> SampledWords:
    """Runs the words; keeps the one with the earliest error."""
    result, wrong = first_wrong(forward, automaton, words)
    return SampledWords(words.shape[1], len(words), len(words) - wrong, result)


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

    @property
    def right_in_training(self) -> bool:
        """Whether no wrong word was found in the support of the training distribution, samples included."""
        short = self.exact if self.legal is None else self.legal
        return short.wrong == 0 and self.sample.wrong is None and self.habits.wrong is None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "exact": self.exact.to_json(),
            "exact_in_training": None if self.legal is None else self.legal.to_json(),
            "sample": self.sample.to_json(),
            "habits": self.habits.to_json(),
        }


def examine_run(
    trained: TrainedNetwork, automaton: Semiautomaton, length: int | None = None, effort: float = 1.0
) -> Examined:
    """Runs all words of the largest length up to ``length`` that the effort allows, and samples."""
    asked = length or trained.length
    reach = longest(trained, asked, effort)
    may = words_of_training(trained)
    recurrent = kind_of(trained) in RECURRENT
    far = max(asked, LONG) if recurrent and length is None else asked
    random, repeating = uniform(automaton, asked), habitual(automaton, far)
    if may is not None:
        random, repeating = (legal(automaton, words, may) for words in (random, repeating))
    return Examined(
        count(trained, automaton, reach),
        None if may is None else count(trained, automaton, reach, may),
        sampled(trained.forward, automaton, random),
        sampled(trained.forward, automaton, repeating),
    )


def kind_of(trained: TrainedNetwork) -> str:
    """The name of the network's architecture."""
    config = getattr(trained.network, "config", None)
    return str(getattr(config, "kind", ""))


def words_of_training(trained: TrainedNetwork) -> Allowed | None:
    """The letters that training draws in each state, if it avoids a sink; none if it draws all."""
    if not trained.task.distribution.follows_state:
        return None
    allowed = np.zeros(trained.automaton.table.shape, dtype=bool)
    for state, letters in enumerate(feasible_letters(trained.automaton)):
        allowed[state, letters] = True
    return allowed
