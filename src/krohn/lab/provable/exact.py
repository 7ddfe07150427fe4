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
from krohn.lab.training.trained_network import TrainedNetwork
from krohn.proving.outcome import Counterexample

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
