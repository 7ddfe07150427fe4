"""The operations a network is made of, and the choice between their three implementations."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

from krohn.models.kernels import host, host_attention, plain
from krohn.models.kernels.plain import Dropout, Heads


@dataclass(frozen=True)
class Operations:
    """One implementation of the operations; ``plain`` documents what each computes."""

    linear: Callable[[Tensor, Tensor], Tensor]
    add_norm: Callable[
        [Tensor, Tensor | None, Tensor | None, Tensor, Tensor, Dropout | None], tuple[Tensor, Tensor]
    ]
    attention: Callable[[Tensor, Tensor, Heads], Tensor]
    bias_gelu: Callable[[Tensor, Tensor], Tensor]
    cross_entropy: Callable[[Tensor, Tensor, Tensor, Tensor, int], Tensor]
    add_positions: Callable[[Tensor, Tensor, int], Tensor]


PLAIN = Operations(
    linear=plain.linear,
    add_norm=plain.add_norm,
    attention=plain.attention,
    bias_gelu=plain.bias_gelu,
    cross_entropy=plain.cross_entropy,
    add_positions=plain.add_positions,
)
HOST = Operations(
    linear=host.linear,
    add_norm=host.add_norm,
    attention=host_attention.attention,
    bias_gelu=host.bias_gelu,
    cross_entropy=host.cross_entropy,
    add_positions=host.add_positions,
)


def choose(weights: Tensor) -> Operations:
    """The Triton kernels for bf16 weights on a GPU; on a CPU, for weights with a place for their gradient,
    gradients written out; plain torch for everything else."""
    if weights.is_cuda and weights.dtype == torch.bfloat16 and find_spec("triton") is not None:
        return _fused()
    return HOST if trains_on_host(weights) else PLAIN


def trains_on_host(weights: Tensor) -> bool:
    """True for leaves of a layout on a CPU while gradients are asked for."""
    wanted = torch.is_grad_enabled() and weights.is_leaf and weights.grad is not None
    return wanted and weights.device.type == "cpu" and weights.dtype in (torch.float32, torch.float64)


@cache
def _fused() -> Operations:
    # Triton exists only beside CUDA builds of torch, so it is imported when first used.
    from krohn.models.kernels import add_norm, attention, bias_gelu, cross_entropy, linear

    return Operations(
        linear=linear.linear,
        add_norm=add_norm.add_norm,
        attention=attention.attention,
        bias_gelu=bias_gelu.bias_gelu,
        cross_entropy=cross_entropy.cross_entropy,
        add_positions=linear.add_positions,
    )
