"""The interface of evaluations, and accuracy along one axis: length, share of ones, count of ones."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

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


@dataclass(frozen=True, kw_only=True)
class _Accuracy(ABC):
    """Accuracy on held-out words of other tasks than that of training, along one axis."""

    sequences: int = 2048
    seed: int = 2**41

    @abstractmethod
    def tasks(self) -> dict[float, dict[str, object]]:
        """What differs from the task of training, at each place of the axis."""

    def measure(self, trained: TrainedNetwork) -> list[dict[str, Any]]:
        """For each replicate the places and its token and sequence accuracy at each.

        With a scratchpad the network reads its own predicted states, never the true ones.
        """
        tasks, scores = self.tasks(), []
        for changes in tasks.values():
            held_out = HeldOut(trained.task_with(**changes), seed=self.seed, count=self.sequences)
            scores.append(held_out.judge(trained.network, trained.weights))
        return [
            {
                "at": list(tasks),
                "token": [round(float(score.token[replicate]), _DIGITS) for score in scores],
                "sequence": [round(float(score.sequence[replicate]), _DIGITS) for score in scores],
            }
            for replicate in range(trained.replicates)
        ]


@dataclass(frozen=True, kw_only=True)
class AccuracyByLength(_Accuracy):
    """Words shorter and longer than in training, from the training distribution."""

    lengths: tuple[int, ...]
    name: str = "length"

    def tasks(self) -> dict[float, dict[str, object]]:
        """Other lengths."""
        return {length: {"length": length} for length in self.lengths}


@dataclass(frozen=True, kw_only=True)
class AccuracyByProbability(_Accuracy):
    """Words over {0, 1} with another probability of a 1 than in training."""

    probabilities: tuple[float, ...]
    name: str = "probability"

    def tasks(self) -> dict[float, dict[str, object]]:
        """Other coins."""
        return {p: {"distribution": f"bernoulli:{p}"} for p in self.probabilities}


@dataclass(frozen=True, kw_only=True)
class AccuracyByOnes(_Accuracy):
    """Words over {0, 1} with a given number of ones at uniformly chosen places."""

    counts: tuple[int, ...]
    name: str = "ones"

    def tasks(self) -> dict[float, dict[str, object]]:
        """Numbers of ones."""
        return {count: {"distribution": f"ones:{count}"} for count in self.counts}
