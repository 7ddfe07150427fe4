"""The tensors a run consists of: one row per replicate in each flat buffer."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from krohn import streams
from krohn.models.layout import Layout
from krohn.training.config import RunConfig

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
    def start(cls, config: RunConfig, layout: Layout, device: torch.device, precision: str) -> "TrainState":
        """First weights from the replicates' keys; moments zero."""
        keys = streams.derive(replicate_keys(config, device), WEIGHTS)
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

    def rows(self, count: int) -> "TrainState":
        """The first ``count`` rows, sharing memory with this state."""
        weight = self.weight[:count]
        return TrainState(
            weight=weight,
            compute=weight if self.compute is self.weight else self.compute[:count],
            gradient=self.gradient[:count],
            first=self.first[:count],
            second=self.second[:count],
            average=self.average[:count],
            best=self.best[:count],
            alive=self.alive[:count],
        )

    def reorder(self, rows: Sequence[int]) -> None:
        """Puts row ``rows[i]`` into place i; one buffer at a time, so that memory holds one copy at most."""
        for value in self.tensors().values():
            value.copy_(value[list(rows)])
        self._follow_master()

    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint must hold: the rest follows from it."""
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
    return streams.replicate_keys(config.seed, config.replicates, device=device)
