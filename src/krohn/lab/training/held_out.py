"""Evaluating replicates on held-out sequences, in one pass or, with a scratchpad, step by step."""

from collections.abc import Sequence
from copy import copy

import torch
from torch import Tensor

from krohn.lab.models.network import Network
from krohn.lab.models.parameters import Weights
from krohn.lab.tasks.batches import Batch, Task
from krohn.lab.training.metrics import Scores, right_answers, scores_of

_MOST_ROWS = 65_535


_CACHE_ROWS = 4096  # sequences × replicates read at once step by step: bounds the key–value cache


class HeldOut:
    """A fixed set of sequences of a task, and the accuracy on it."""

    def __init__(self, task: Task, *, seed: int, count: int) -> None:
        self.task = task
        self.words, self.batch = task.held_out(seed, count)

    def of(self, replicates: Sequence[int]) -> "HeldOut":
        """The sequences of these replicates; all have the same unless they learn different automata."""
        task = self.task.of(replicates)
        if task is self.task:
            return self
        part, rows = copy(self), list(replicates)
        part.task, part.words = task, self.words[rows]
        part.batch = Batch(self.batch.tokens[rows], self.batch.targets[rows], self.batch.shown[rows])
        return part

    def judge(self, network: Network, weights: Weights) -> Scores:
        """Accuracy of every replicate; with a scratchpad the network reads its own states back."""
        right, loss = self._right(network, weights)
        if self.task.config.scratchpad:
            predicted = read_step_by_step(network, weights, self.words, self.task.automaton.num_letters)
            right = predicted == self.batch.targets[..., 0::2]
        return scores_of(right, loss)

    def watch(self, network: Network, weights: Weights) -> Scores:
        """As ``judge``, in one pass; with a scratchpad a lower bound.

        Until its first error, a network that reads its own states back reads the true ones. So positions
        before the first error with teacher forcing are right step by step too, and the fraction of sequences
        without error is the same.
        """
        right, loss = self._right(network, weights)
        return scores_of(right.cumprod(-1) if self.task.config.scratchpad else right, loss)

    def _right(self, network: Network, weights: Weights) -> tuple[Tensor, Tensor]:
        replicates = len(next(iter(weights.values())))
        return right_answers(network, weights, self.batch, per_pass=self.at_once(replicates))

    def at_once(self, replicates: int) -> int:
        """Sequences in one pass: a bounded number of rows, since a grid of programs has fewer than 65,536."""
        return max(1, min(256, 8192 // replicates, _MOST_ROWS // self.batch.tokens.shape[-1]))


@torch.no_grad()
def read_step_by_step(network: Network, weights: Weights, words: Tensor, num_letters: int) -> Tensor:
    """States [R, sequences, T] predicted for ``words`` [1 or R, sequences, T], each fed back as a token.

    A state is read together with the letter that follows it: T steps, not 2T − 1.
    """
    replicates = len(next(iter(weights.values())))
    per_pass = max(1, _CACHE_ROWS // replicates)
    parts = []
    for first in range(0, words.shape[1], per_pass):
        part = words[:, first : first + per_pass].expand(replicates, -1, -1)
        decoder = network.decoder(weights, part.shape[1], 2 * part.shape[2] - 1)
        states: list[Tensor] = []
        for letter in part.unbind(-1):
            read = [states[-1] + num_letters, letter] if states else [letter]
            states.append(decoder.step(torch.stack(read, -1)).argmax(-1))
        parts.append(torch.stack(states, -1))
    return torch.cat(parts, 1)
