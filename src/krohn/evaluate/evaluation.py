"""The interface of evaluations, and the trained networks that they are given."""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.models.network import Network, Weights
from krohn.tasks.batches import Task
from krohn.tasks.task_config import TaskConfig


@dataclass(frozen=True, kw_only=True)
class Trained:
    """R replicates with their weights, and the task they were trained on."""

    network: Network
    weights: Weights
    task: TaskConfig
    automaton: Semiautomaton

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(iter(self.weights.values())).device

    @property
    def replicates(self) -> int:
        """How many networks there are."""
        return len(next(iter(self.weights.values())))

    def task_with(self, **changes: object) -> Task:
        """The same task on words of another length or distribution."""
        return Task(replace(self.task, **changes), self.automaton, self.device)  # type: ignore[arg-type]


class Evaluation(Protocol):
    """A measurement with a name; ``measure`` gives one JSON value for each replicate."""

    @property
    def name(self) -> str:
        """The key under which the result is stored."""

    def measure(self, trained: Trained) -> list[Any]:
        """The results, replicate by replicate."""
