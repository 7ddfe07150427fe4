"""What a run gives back."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from krohn.models.layout import Weights
from krohn.models.network import Network
from krohn.tasks.batches import Task
from krohn.training.config import RunConfig


@dataclass(frozen=True)
class TrainResult:
    """What a run gives back.

    Attributes:
        config: the run.
        task: its task, on the run's device.
        network: its architecture.
        weights: best averaged weights [R, …] by name, fp32.
        replicates: one dictionary per replicate: status, learning rate, and the numbers of its best and of
            its last evaluation (accuracy, sequence_accuracy, position_accuracy, loss, step).
        curves: one row per evaluation, as in metrics.jsonl.
        seconds: time spent training, resumed parts included; start-up is not counted.
        sequences_per_second: of all replicates together.
        extra: what the caller's ``evaluate`` returned.
        finished: False if the deadline came first; the same call with the same directory goes on.
    """

    config: RunConfig
    task: Task
    network: Network
    weights: Weights
    replicates: list[dict[str, Any]]
    curves: list[dict[str, Any]]
    seconds: float
    sequences_per_second: float
    extra: dict[str, Any]
    finished: bool = True

    @property
    def best(self) -> int:
        """Index of the replicate with the highest token accuracy."""
        return max(range(len(self.replicates)), key=lambda index: self.replicates[index]["accuracy"])

    def replicate(self, index: int) -> dict[str, Tensor]:
        """Best weights of one replicate by name, on the CPU, without the replicate axis."""
        return {name: value[index].cpu() for name, value in self.weights.items()}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "run": self.config.run_id,
            "replicates": self.replicates,
            "seconds": self.seconds,
            "sequences_per_second": self.sequences_per_second,
            "extra": self.extra,
            "finished": self.finished,
        }
