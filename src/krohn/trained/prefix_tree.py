"""All words of a length on a trained network, as a prefix tree: each prefix is read once.

A prefix of l letters has |Σ| continuations, so all words of length n have about |Σ|^n·|Σ|/(|Σ| − 1) prefixes
and not n·|Σ|^n. A level is one batch; if too large it is split, and the parts are followed one after the
other. Networks that carry a state or a cache of keys and values fork it (``Decoder.fork``).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from krohn.evaluate.trained_states import TrainedStates
from krohn.models.network import Decoder

LEAVES = {"cpu": 1 << 10, "cuda": 1 << 15}
"""Prefixes read at once: bounds what the caches hold."""


@dataclass(frozen=True, eq=False)
class Level:
    """Prefixes of one length: their letters [N, l], what the network answers [N] and by which lead [N]."""

    decoder: Decoder
    words: Tensor
    answers: Tensor
    leads: Tensor

    def __len__(self) -> int:
        return len(self.words)

    def chosen(self, rows: Tensor) -> "Level":
        """Those prefixes alone."""
        return Level(self.decoder.fork(rows), self.words[rows], self.answers[rows], self.leads[rows])


Keep = Callable[[Level], Tensor | None]


def walk(trained: TrainedStates, length: int, keep: Keep) -> None:
    """Calls ``keep`` on every level down to ``length``; it returns the rows to follow (none: all)."""
    with torch.no_grad():
        _follow(trained, _root(trained, length), length, keep)


def _root(trained: TrainedStates, length: int) -> Level:
    decoder = trained.network.decoder(trained.weights, 1, trained.task.config.tokens_of(length))
    device = trained.task.device
    nothing = torch.zeros(1, 0, dtype=torch.int64, device=device)
    return Level(decoder, nothing, torch.zeros(1, dtype=torch.int64, device=device), nothing.double())


def _follow(trained: TrainedStates, level: Level, length: int, keep: Keep) -> None:
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


def _extended(trained: TrainedStates, level: Level) -> Level:
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
    return Level(decoder, torch.cat((level.words[rows], letter[:, None]), 1), best.indices[:, 0], leads)
