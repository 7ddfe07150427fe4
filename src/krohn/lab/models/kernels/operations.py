"""The operations of a network as one value, and their choice: Triton if available, else plain torch."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from krohn.lab.models.kernels import plain
from krohn.lab.models.kernels.plain import Dropout, Heads, one_hot


@dataclass(frozen=True)
class Operations:
    """One implementation of the operations; ``plain`` documents what each computes."""

    lookup: Callable[[Tensor, Tensor], Tensor]
    linear: Callable[[Tensor, Tensor], Tensor]
    add_norm: Callable[
        [Tensor, Tensor | None, Tensor | None, Tensor, Tensor, Dropout | None], tuple[Tensor, Tensor]
    ]
    attention: Callable[[Tensor, Tensor, Heads], Tensor]
    bias_gelu: Callable[[Tensor, Tensor], Tensor]
    cross_entropy: Callable[[Tensor, Tensor | None, Tensor, Tensor, int], Tensor]
    add_positions: Callable[[Tensor, Tensor, int], Tensor]
    add_rows: Callable[[Tensor, Tensor], Tensor]
    drop: Callable[[Tensor, Dropout], Tensor]


def _lookup(linear: Callable[[Tensor, Tensor], Tensor], tokens: Tensor, table: Tensor) -> Tensor:
    """Rows of ``table`` [R, V, d] for tokens [R, B, T], as a product: [R, B·T, d]."""
    return linear(one_hot(tokens, table.shape[1], table.dtype), table)


PLAIN = Operations(
    lookup=partial(_lookup, plain.linear),
    linear=plain.linear,
    add_norm=plain.add_norm,
    attention=plain.attention,
    bias_gelu=plain.bias_gelu,
    cross_entropy=plain.cross_entropy,
    add_positions=plain.add_positions,
    add_rows=plain.add_rows,
    drop=plain.drop,
)


# On a GPU a stacked matrix product writes its weight gradient into the flat gradient buffer, without a copy.


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


def choose(weights: Tensor) -> Operations:
    """The Triton kernels for bf16 weights on a GPU, plain torch for everything else."""
    if weights.is_cuda and weights.dtype == torch.bfloat16 and find_spec("triton") is not None:
        return load_fused()
    return PLAIN


@cache
def load_fused() -> Operations:
    """The Triton kernels."""
    # Lazy import: Triton comes only with CUDA builds of torch.
    from krohn.lab.models.kernels import add_norm, attention, bias_gelu, cross_entropy

    return Operations(
        lookup=partial(_lookup, buffered_linear),
        linear=buffered_linear,
        add_norm=add_norm.add_norm,
        attention=attention.attention,
        bias_gelu=bias_gelu.bias_gelu,
        cross_entropy=cross_entropy.cross_entropy,
        add_positions=buffered_positions,
        add_rows=plain.add_rows,
        drop=plain.drop,
    )
