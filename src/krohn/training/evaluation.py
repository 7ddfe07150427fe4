"""Judging replicates on held-out sequences, in one pass or, with a scratchpad, step by step."""

import torch
from torch import Tensor

from krohn.models.layout import Weights
from krohn.models.network import Network
from krohn.tasks.batches import Task
from krohn.training.metrics import Scores, score, scores_of

_CACHE_ROWS = 4096  # sequences × replicates read at once step by step: bounds the key–value cache


class HeldOut:
    """A fixed set of sequences of a task, and the accuracy on it."""

    def __init__(self, task: Task, *, seed: int, count: int) -> None:
        self.task = task
        self.words, self.batch = task.held_out(seed, count)

    def judge(self, network: Network, weights: Weights) -> Scores:
        """Accuracy of every replicate; with a scratchpad the network reads its own states back."""
        replicates = len(next(iter(weights.values())))
        batch = self.batch
        per_pass = max(1, min(256, 8192 // replicates))
        scores = score(network, weights, batch, per_pass=per_pass)
        if not self.task.config.scratchpad:
            return scores
        wanted = batch.targets[..., 0::2]
        predicted = read_step_by_step(network, weights, self.words, self.task.automaton.num_letters)
        return scores_of(predicted == wanted, scores.loss)


@torch.no_grad()
def read_step_by_step(network: Network, weights: Weights, words: Tensor, num_letters: int) -> Tensor:
    """States [R, sequences, T] predicted for ``words`` [1 or R, sequences, T], each fed back as a token."""
    replicates = len(next(iter(weights.values())))
    per_pass = max(1, _CACHE_ROWS // replicates)
    parts = []
    for first in range(0, words.shape[1], per_pass):
        part = words[:, first : first + per_pass].expand(replicates, -1, -1)
        decoder = network.decoder(weights, part.shape[1], 2 * part.shape[2] - 1)
        states: list[Tensor] = []
        for position, letter in enumerate(part.unbind(-1)):
            if position:
                decoder.step(states[-1] + num_letters)
            states.append(decoder.step(letter).argmax(-1))
        parts.append(torch.stack(states, -1))
    return torch.cat(parts, 1)
