"""Learning rates: warm-up and shape are functions of the step, cuts on a plateau are a replicate's state."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from krohn.lab.training.config import OptimizerConfig


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
