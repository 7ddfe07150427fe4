"""Judging replicates on held-out sequences, in one pass or, with a scratchpad, step by step."""

import torch
from torch import Tensor

from krohn.models.layout import Weights
from krohn.models.network import Network
from krohn.tasks.batches import Task
from krohn.training.metrics import Scores, right_answers, scores_of

_CACHE_ROWS = 4096  # sequences × replicates read at once step by step: bounds the key–value cache


class HeldOut:
    """A fixed set of sequences of a task, and the accuracy on it."""

    def __init__(self, task: Task, *, seed: int, count: int) -> None:
        self.task = task
        self.words, self.batch = task.held_out(seed, count)

    def judge(self, network: Network, weights: Weights) -> Scores:
        """Accuracy of every replicate; with a scratchpad the network reads its own states back."""
        right, loss = self._right(network, weights)
        if self.task.config.scratchpad:
            predicted = read_step_by_step(network, weights, self.words, self.task.automaton.num_letters)
            right = predicted == self.batch.targets[..., 0::2]
        return scores_of(right, loss)

    def watch(self, network: Network, weights: Weights) -> Scores:
        """The same in one pass; with a scratchpad a lower bound.

        Until its first mistake a network that reads its own states back reads the true ones. So the letters
        before the first mistake of a pass over the true states are right step by step too, and the share of
        sequences without mistake is the same.
        """
        right, loss = self._right(network, weights)
        return scores_of(right.cumprod(-1) if self.task.config.scratchpad else right, loss)

    def _right(self, network: Network, weights: Weights) -> tuple[Tensor, Tensor]:
        replicates = len(next(iter(weights.values())))
        per_pass = max(1, min(256, 8192 // replicates))
        return right_answers(network, weights, self.batch, per_pass=per_pass)


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
