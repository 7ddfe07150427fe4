"""The tensors of a run, one row per replicate, and which replicates are active."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from krohn.lab import random_streams
from krohn.lab.models.network import ParameterLayout
from krohn.lab.training.config import OptimizerConfig, RunConfig

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


# Learning rates: warm-up and shape are functions of the step; plateau cuts are replicate state.


def shape(config: OptimizerConfig, step: int, steps: int) -> float:
    """Factor on the learning rate of step ``step`` = 0, 1, … of ``steps``."""
    warm = min(1.0, (step + 1) / config.warmup) if config.warmup else 1.0
    if config.schedule != "cosine":
        return warm
    progress = min(1.0, step / max(1, steps - 1))
    return warm * (config.floor + (1.0 - config.floor) * 0.5 * (1.0 + math.cos(math.pi * progress)))


def rate_table(
    config: OptimizerConfig, rates: Tensor, cuts: Tensor, first: int, count: int, steps: int
) -> Tensor:
    """Per step and replicate [count, R, 3]: step size with bias correction, root correction, learning rate.

    AdamW's update is w ← w(1 − lr·decay) − [lr/(1 − β₁ᵗ)]·m/(√v·[1/√(1 − β₂ᵗ)] + ε) with t = step + 1.
    """
    beta1, beta2 = config.betas
    rows = []
    for step in range(first, first + count):
        rate = rates * cuts * shape(config, step, steps)
        root = 1.0 / math.sqrt(1.0 - beta2 ** (step + 1))
        rows.append(torch.stack((rate / (1.0 - beta1 ** (step + 1)), torch.full_like(rate, root), rate), -1))
    return torch.stack(rows)


@dataclass
class Plateau:
    """Cuts a replicate's rate when its validation loss has not improved for ``patience`` evaluations."""

    config: OptimizerConfig
    cuts: Tensor
    lowest: Tensor
    waited: Tensor

    @classmethod
    def start(cls, config: OptimizerConfig, replicates: int) -> "Plateau":
        """No cut yet."""
        infinite = torch.full((replicates,), float("inf"), dtype=torch.float64)
        ones = torch.ones(replicates, dtype=torch.float64)
        return cls(config, ones, infinite, torch.zeros(replicates, dtype=torch.int64))

    def observe(self, loss: Tensor) -> None:
        """Takes the validation losses [R] of one evaluation."""
        better = loss < self.lowest
        self.lowest = torch.where(better, loss, self.lowest)
        self.waited = torch.where(better, 0, self.waited + 1)
        due = self.waited >= self.config.patience
        if self.config.schedule == "plateau":
            cut = (self.cuts * self.config.factor).clamp(min=self.config.floor)
            self.cuts = torch.where(due, cut, self.cuts)
        self.waited = torch.where(due, 0, self.waited)


def ema_window(decay: float) -> int:
    """Steps after which the total weight of older terms in the average is below half a float32 ulp.

    Averaging only that many steps before an evaluation gives the same average up to rounding, with less
    memory traffic.
    """
    return 1 if decay == 0.0 else math.ceil(-24.0 * math.log(2.0) / math.log(decay))


# The steps between two evaluations.


@dataclass(frozen=True)
class Interval:
    """The steps ``first`` … ``end − 1``, from one evaluation to the next.

    Determined by the configuration and the previous evaluation alone, so that a run can stop after any step
    and resume as if it had not.

    Attributes:
        first: the step of the previous evaluation.
        averaged: the step from which weights are averaged, as late as rounding allows.
        end: the step of the next evaluation.
    """

    first: int
    averaged: int
    end: int

    @classmethod
    def after(cls, first: int, config: RunConfig) -> "Interval":
        """The interval after the evaluation at step ``first``."""
        end = min(first + config.evaluation.every, config.steps)
        return cls(first, max(first, end - ema_window(config.optimizer.ema)), end)

    def restarts_average(self, step: int) -> bool:
        """Whether the average is reset before ``step``; it never is if every step is averaged."""
        return step == self.averaged > self.first

    def piece(self, step: int, most: int) -> tuple[int, bool]:
        """Steps to the start of averaging or else to the end, at most ``most``; whether they are averaged."""
        average = step >= self.averaged
        return min(most, (self.end if average else self.averaged) - step), average


# Placement of replicates in the buffers, so that those that are done cost nothing.


MANY_ROWS = 128


@dataclass(frozen=True)
class Slots:
    """The replicate in each row of the buffers; only the first ``width`` rows are active.

    Attributes:
        order: ``order[row]`` is the replicate in a row.
        width: the number of active rows. Some of their replicates may be done already: a new width needs new
            step graphs, which must be worth it.
    """

    order: tuple[int, ...]
    width: int

    @classmethod
    def start(cls, replicates: int) -> "Slots":
        """Every replicate in its own row."""
        return cls(tuple(range(replicates)), replicates)

    @property
    def working(self) -> tuple[int, ...]:
        """The replicates in the active rows."""
        return self.order[: self.width]

    @property
    def rows(self) -> list[int]:
        """The row of each replicate."""
        return sorted(range(len(self.order)), key=self.order.__getitem__)

    def narrow(self, training: Sequence[bool]) -> "Slots":
        """Compacted, those in training first, once few enough of the active rows train; else unchanged.

        That is at most half of them, or three quarters of many: new graphs take a second or two.

        Args:
            training: for each replicate, whether it is still in training.
        """
        active = [replicate for replicate in self.working if training[replicate]]
        most = self.width * 3 // 4 if self.width >= MANY_ROWS else self.width // 2
        if not 0 < len(active) <= most:
            return self
        rest = [replicate for replicate in self.order if replicate not in active]
        return Slots((*active, *rest), len(active))
