"""The interface of evaluations, and accuracy along one axis: length, share of ones, count of ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from krohn.lab.tasks.batches import Task
from krohn.lab.training.metrics import HeldOut
from krohn.lab.training.trained_network import TrainedNetwork


class Evaluation(Protocol):
    """A measurement with a name; ``measure`` gives one JSON value for each replicate."""

    @property
    def name(self) -> str:
        """The key under which the result is stored."""

    def measure(self, trained: TrainedNetwork) -> list[Any]:
        """The results, replicate by replicate."""


# Stored digits of an accuracy: finer than the resolution of 2,048 words of 128 letters.
_DIGITS = 5


def accuracy_across(
    trained: TrainedNetwork, tasks: Iterable[tuple[float, Task]], *, sequences: int, seed: int
) -> list[dict[str, Any]]:
    """For each replicate the values in ``tasks`` and its token and sequence accuracy at each.

    With a scratchpad the network reads its own predicted states, never the true ones.
    """
    places, scores = [], []
    for value, task in tasks:
        places.append(value)
        held_out = HeldOut(task, seed=seed, count=sequences)
        scores.append(held_out.judge(trained.network, trained.weights))
    return [
        {
            "at": places,
            "token": [round(float(score.token[replicate]), _DIGITS) for score in scores],
            "sequence": [round(float(score.sequence[replicate]), _DIGITS) for score in scores],
        }
        for replicate in range(trained.replicates)
    ]


@dataclass(frozen=True, kw_only=True)
class _Sample:
    """How many held-out words, drawn from which seed."""

    sequences: int = 2048
    seed: int = 2**41


@dataclass(frozen=True, kw_only=True)
class AccuracyByLength(_Sample):
    """Words shorter and longer than in training, from the training distribution."""

    lengths: tuple[int, ...]
    name: str = "length"

    def measure(self, trained: TrainedNetwork) -> list[dict[str, Any]]:
        """See :class:`krohn.lab.interpret.evaluation.Evaluation`."""
        tasks = ((length, trained.task_with(length=length)) for length in self.lengths)
        return accuracy_across(trained, tasks, sequences=self.sequences, seed=self.seed)


@dataclass(frozen=True, kw_only=True)
class AccuracyByProbability(_Sample):
    """Words over {0, 1} with another probability of a 1 than in training."""

    probabilities: tuple[float, ...]
    name: str = "probability"

    def measure(self, trained: TrainedNetwork) -> list[dict[str, Any]]:
        """See :class:`krohn.lab.interpret.evaluation.Evaluation`."""
        tasks = ((p, trained.task_with(distribution=f"bernoulli:{p}")) for p in self.probabilities)
        return accuracy_across(trained, tasks, sequences=self.sequences, seed=self.seed)


@dataclass(frozen=True, kw_only=True)
class AccuracyByOnes(_Sample):
    """Words over {0, 1} with a given number of ones at uniformly chosen places."""

    counts: tuple[int, ...]
    name: str = "ones"

    def measure(self, trained: TrainedNetwork) -> list[dict[str, Any]]:
        """See :class:`krohn.lab.interpret.evaluation.Evaluation`."""
        tasks = ((count, trained.task_with(distribution=f"ones:{count}")) for count in self.counts)
        return accuracy_across(trained, tasks, sequences=self.sequences, seed=self.seed)
