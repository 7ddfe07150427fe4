"""Matrix products on a GPU whose weight gradient goes into the flat gradient buffer, without a copy."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from krohn.lab.models.kernels.plain import one_hot


class _Linear(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.weight = weight
        return torch.bmm(x, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None]:
        (x,) = ctx.saved_tensors
        (dy,) = gradients
        # The product is written over the old gradient: no zeroing, no temporary, no accumulation pass.
        torch.bmm(x.transpose(1, 2), dy, out=ctx.weight.grad)
        dx = torch.bmm(dy, ctx.weight.detach().transpose(1, 2)) if ctx.needs_input_grad[0] else None
        return dx, None


def buffered_linear(x: Tensor, weight: Tensor) -> Tensor:
    """As ``plain.linear``."""
    if not torch.is_grad_enabled():
        return torch.bmm(x, weight)
    out: Tensor = _Linear.apply(x, weight)  # type: ignore[no-untyped-call]
    return out


def buffered_positions(x: Tensor, table: Tensor, length: int) -> Tensor:
    """As ``plain.add_positions``, as a product: the sum over the sequences needs no atomics."""
    batch = x.shape[1] // length
    where = torch.arange(length, device=x.device).expand(len(x), batch, length)
    return x + buffered_linear(one_hot(where, table.shape[1], table.dtype), table)
