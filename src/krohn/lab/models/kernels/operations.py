"""The operations of a network as one value, and their choice: Triton if available, else plain torch."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec

import torch
from torch import Tensor

from krohn.lab.models.kernels import plain
from krohn.lab.models.kernels.buffered import buffered_linear, buffered_positions
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
