"""The tensors of a run, one row per replicate, and which replicates are active."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from krohn.lab import random_streams
from krohn.lab.models.parameters import ParameterLayout
from krohn.lab.training.config import RunConfig

# Independent streams of a replicate's key.
DATA, WEIGHTS, NOISE = 1, 2, 3


@dataclass
class TrainState:
    """Weights and optimiser state of all replicates.

    Attributes:
        weight: master weights, fp32 (fp64 on request).
        compute: weights in the precision of the matrix products; the master itself where they agree.
        gradient: gradients in that precision.
        first: first moments.
        second: second moments.
        average: exponential moving average of the weights.
        best: the average at each replicate's best evaluation.
        alive: False once a replicate is frozen: solved, or stopped by a non-finite gradient.
    """

    weight: Tensor
    compute: Tensor
    gradient: Tensor
    first: Tensor
    second: Tensor
    average: Tensor
    best: Tensor
    alive: Tensor

    @classmethod
    def start(
        cls, config: RunConfig, layout: ParameterLayout, device: torch.device, precision: str
    ) -> "TrainState":
        """First weights from the replicates' keys; moments zero."""
        keys = random_streams.derive(replicate_keys(config, device), WEIGHTS)
        master = torch.float64 if precision == "fp64" else torch.float32
        weight = layout.initial(keys).to(master)
        compute = weight.to(torch.bfloat16) if precision == "bf16" else weight
        return cls(
            weight=weight,
            compute=compute,
            gradient=torch.zeros_like(compute),
            first=torch.zeros_like(weight),
            second=torch.zeros_like(weight),
            average=weight.clone(),
            best=weight.clone(),
            alive=torch.ones(config.replicates, dtype=torch.bool, device=device),
        )

    def part(self, rows: slice, columns: slice = slice(None)) -> "TrainState":
        """Some rows and columns of every buffer, sharing memory with this state."""
        names = ("weight", "compute", "gradient", "first", "second", "average", "best")
        parts = {name: getattr(self, name)[rows, columns] for name in names}
        if self.compute is self.weight:
            parts["compute"] = parts["weight"]
        return TrainState(**parts, alive=self.alive[rows])

    def reorder(self, rows: Sequence[int]) -> None:
        """Puts row ``rows[i]`` into place i; one buffer at a time, so that memory holds one copy at most."""
        for value in self.tensors().values():
            value.copy_(value[list(rows)])
        self._follow_master()

    def weights(self) -> list[Tensor]:
        """The buffers that hold weights, each once."""
        copies = [] if self.compute is self.weight else [self.compute]
        return [self.weight, *copies, self.average, self.best]

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of a checkpoint: the rest is derived from them."""
        names = ("weight", "first", "second", "average", "best", "alive")
        return {name: getattr(self, name) for name in names}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Inverse of ``tensors``, in place."""
        for name, value in self.tensors().items():
            value.copy_(tensors[name])
        self._follow_master()

    def _follow_master(self) -> None:
        if self.compute is not self.weight:
            self.compute.copy_(self.weight)


def replicate_keys(config: RunConfig, device: torch.device) -> Tensor:
    """One key per replicate, from (seed, r) alone."""
    return random_streams.replicate_keys(config.seed, config.replicates, device=device)
