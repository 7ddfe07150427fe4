"""The interface of evaluations, and accuracy along one axis: length, share of ones, count of ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from krohn.lab.training.held_out import HeldOut
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


AXES: dict[str, Callable[[float], dict[str, object]]] = {
    "length": lambda letters: {"length": letters},
    "probability": lambda share: {"distribution": f"bernoulli:{share}"},
    "ones": lambda count: {"distribution": f"ones:{count}"},
}
"""What differs from the task of training at a place: the length, or the share or number of ones in {0, 1}."""


@dataclass(frozen=True, kw_only=True)
class AccuracyAlong:
    """Accuracy on held-out words of other tasks than that of training, at places of one axis."""

    name: str
    at: tuple[float, ...]
    sequences: int = 2048
    seed: int = 2**41

    def measure(self, trained: TrainedNetwork) -> list[dict[str, Any]]:
        """For each replicate the places and its token and sequence accuracy at each.

        With a scratchpad the network reads its own predicted states, never the true ones.
        """
        scores = []
        for place in self.at:
            task = trained.task_with(**AXES[self.name](place))
            held_out = HeldOut(task, seed=self.seed, count=self.sequences)
            scores.append(held_out.judge(trained.network, trained.weights))
        return [
            {
                "at": list(self.at),
                "token": [round(float(score.token[replicate]), _DIGITS) for score in scores],
                "sequence": [round(float(score.sequence[replicate]), _DIGITS) for score in scores],
            }
            for replicate in range(trained.replicates)
        ]
