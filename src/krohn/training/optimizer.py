"""AdamW for all replicates at once, and the schedules of their learning rates."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from krohn.training.config import OptimizerConfig
from krohn.training.state import TrainState

# Learning rates: warm-up and shape are functions of the step, cuts on a plateau a state of the replicate.


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
    """Cuts a replicate's rate when its held-out loss has not improved for ``patience`` evaluations."""

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
        """Takes the held-out losses [R] of one evaluation."""
        better = loss < self.lowest
        self.lowest = torch.where(better, loss, self.lowest)
        self.waited = torch.where(better, 0, self.waited + 1)
        due = self.waited >= self.config.patience
        if self.config.schedule == "plateau":
            cut = (self.cuts * self.config.factor).clamp(min=self.config.floor)
            self.cuts = torch.where(due, cut, self.cuts)
        self.waited = torch.where(due, 0, self.waited)


# AdamW with a learning rate, a clipping scale and a switch per replicate, on flat buffers.


class AdamW:
    """Applies one step to a ``TrainState``; the mathematics of ``torch.optim.AdamW`` per row."""

    def __init__(self, config: OptimizerConfig, state: TrainState, table_length: int) -> None:
        self.config, self.state = config, state
        replicates, device = len(state.weight), state.weight.device
        # Learning rates of the coming steps and which is next, on the device: a step needs no host.
        self.rates = torch.zeros(table_length, replicates, 3, dtype=state.weight.dtype, device=device)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self._constants = (*config.betas, config.eps, config.weight_decay, config.ema)

    def step(self, loss: Tensor, *, average: bool) -> None:
        """One update from ``state.gradient``; a non-finite loss or gradient freezes its replicate."""
        state, clip = self.state, self.config.clip
        norm = squared_norms(state.gradient).sqrt()
        state.alive &= torch.isfinite(norm) & torch.isfinite(loss)
        scale = torch.ones_like(norm) if clip is None else (clip / (norm + 1e-6)).clamp(max=1.0)
        scale = torch.where(state.alive, scale, -1.0)
        moments = (state.first, state.second)
        ema = state.average if average else None
        apply = _fused_update() if state.weight.is_cuda else plain_update
        apply(
            state.weight, state.compute, state.gradient, moments, ema,
            self.rates, self.position, scale, self._constants,
        )  # fmt: skip
        self.position += 1


def ema_window(decay: float) -> int:
    """Steps after which the weight of everything older in the average is below half a unit of float32.

    Averaging only that many steps before an evaluation gives the same average to rounding, for less traffic.
    """
    return 1 if decay == 0.0 else math.ceil(-24.0 * math.log(2.0) / math.log(decay))


def squared_norms(gradient: Tensor) -> Tensor:
    """Sum of squares of each row."""
    if gradient.is_cuda:
        from krohn.training.kernels import adamw  # Triton exists only beside CUDA builds of torch

        return adamw.squared_norms(gradient)
    return torch.stack([torch.dot(row, row) for row in gradient.to(at_least_float(gradient))])


def plain_update(
    weight: Tensor,
    compute: Tensor,
    gradient: Tensor,
    moments: tuple[Tensor, Tensor],
    average: Tensor | None,
    rates: Tensor,
    position: Tensor,
    scale: Tensor,
    constants: tuple[float, float, float, float, float],
) -> None:
    """AdamW row by row: what the Triton kernel computes, and the way on the CPU. Scale < 0 skips a row."""
    beta1, beta2, epsilon, decay, keep = constants
    row_rates = rates[int(position)].tolist()
    for row, factor in enumerate(scale.tolist()):
        if factor < 0.0:
            continue
        step, root, rate = row_rates[row]
        g = gradient[row].to(weight.dtype)
        g = g * factor if factor != 1.0 else g
        m, v, w = moments[0][row], moments[1][row], weight[row]
        m.lerp_(g, 1.0 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1.0 - beta2)
        w.mul_(1.0 - rate * decay).addcdiv_(m, v.sqrt().mul_(root).add_(epsilon), value=-step)
        if compute is not weight:
            compute[row].copy_(w)
        if average is not None:
            average[row].lerp_(w, 1.0 - keep)


def _fused_update() -> Callable[..., None]:
    from krohn.training.kernels import adamw  # Triton exists only beside CUDA builds of torch

    return adamw.update


def at_least_float(tensor: Tensor) -> torch.dtype:
    """The tensor's own type, or float32 if that is wider: what sums are taken in."""
    return torch.promote_types(tensor.dtype, torch.float32)
