"""AdamW with a learning rate, a clipping scale and a switch per replicate, on flat buffers."""

from collections.abc import Callable

import torch
from torch import Tensor

from krohn.lab.training.config import OptimizerConfig
from krohn.lab.training.state import TrainState


class AdamW:
    """Applies one step to a ``TrainState``; the mathematics of ``torch.optim.AdamW`` per row."""

    def __init__(self, config: OptimizerConfig, state: TrainState, table_length: int) -> None:
        self.config, self.state = config, state
        replicates, device = len(state.weight), state.weight.device
        # Upcoming learning rates and the index of the next one, on the device: no host sync in a step.
        self.rates = torch.zeros(table_length, replicates, 3, dtype=state.weight.dtype, device=device)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self._constants = (*config.betas, config.eps, config.weight_decay, config.ema)

    def step(self, loss: Tensor, *, average: bool) -> None:
        """One update from ``state.gradient``; a non-finite loss or gradient freezes its replicate."""
        state, clip = self.state, self.config.clip
        norm = squared_norms(state.gradient).sqrt()
        state.alive &= torch.isfinite(norm) & torch.isfinite(loss)
        scale = torch.ones_like(norm) if clip is None else (clip / (norm + 1e-6)).clamp(max=1.0)
        self.update(torch.where(state.alive, scale, -1.0), average=average)
        self.position += 1

    def update(self, scale: Tensor, *, average: bool) -> None:
        """Moves every row whose gradient has a ``scale`` of at least 0."""
        self.update_columns(self.state, scale, average=average)

    def update_columns(self, state: TrainState, scale: Tensor, *, average: bool) -> None:
        """The same for a state that holds some columns of the buffers."""
        apply = _fused_update() if state.weight.is_cuda else plain_update
        apply(
            state.weight, state.compute, state.gradient, (state.first, state.second),
            state.average if average else None, self.rates, self.position, scale, self._constants,
        )  # fmt: skip


def squared_norms(gradient: Tensor) -> Tensor:
    """Sum of squares of each row."""
    if gradient.is_cuda:
        from krohn.lab.training.kernels import adamw  # Triton exists only beside CUDA builds of torch

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
    """AdamW row by row: reference for the Triton kernel, and the CPU path. Scale < 0 skips a row."""
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
    from krohn.lab.training.kernels import adamw  # Triton exists only beside CUDA builds of torch

    return adamw.update


def at_least_float(tensor: Tensor) -> torch.dtype:
    """The accumulation type: the tensor's own, or float32 if that is wider."""
    return torch.promote_types(tensor.dtype, torch.float32)
