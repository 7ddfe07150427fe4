"""Gradient norm and AdamW over the flat buffers: one pass each.

The update reads gradient (2 bytes), weight, both moments and the average (4 each) and writes weight, moments,
average (4 each) and the bf16 copy (2): 36 bytes per parameter, 28 in steps without averaging.
"""

# Bodies under triton.jit are Triton, not Python: they carry no annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

import torch
import triton
from torch import Tensor
from triton import language as tl

_BLOCK = 1024
_NORM_BLOCK = 16384


@triton.jit
def _adamw_squares(gradient, partial, size, BLOCK: tl.constexpr):
    replicate = tl.program_id(1)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(gradient + replicate.to(tl.int64) * size + place, mask=place < size, other=0.0).to(
        tl.float32
    )
    tl.store(partial + replicate * tl.num_programs(0) + tl.program_id(0), tl.sum(value * value))


@triton.jit
def _adamw_update(
    weight, compute, gradient, first, second, average, rates, position, scale, size, row_length, replicates,
    beta1, beta2, epsilon, decay, keep, BLOCK: tl.constexpr, AVERAGE: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    replicate = tl.program_id(1)
    factor = tl.load(scale + replicate)
    if factor < 0.0:  # frozen: not a byte is touched
        return
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < size
    place += replicate.to(tl.int64) * row_length
    rate = rates + (tl.load(position) * replicates + replicate) * 3
    step, root, shrink = tl.load(rate), tl.load(rate + 1), 1.0 - tl.load(rate + 2) * decay
    g = tl.load(gradient + place, mask=inside, other=0.0).to(tl.float32) * factor
    m = tl.load(first + place, mask=inside, other=0.0).to(tl.float32)
    v = tl.load(second + place, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + place, mask=inside, other=0.0) * shrink
    m += (g - m) * (1.0 - beta1)
    v = v * beta2 + g * g * (1.0 - beta2)
    w -= step * m / (tl.sqrt(v) * root + epsilon)
    tl.store(first + place, m, mask=inside)
    tl.store(second + place, v, mask=inside)
    tl.store(weight + place, w, mask=inside)
    if SPLIT:
        tl.store(compute + place, w, mask=inside)
    if AVERAGE:
        e = tl.load(average + place, mask=inside, other=0.0)
        tl.store(average + place, e + (w - e) * (1.0 - keep), mask=inside)


def squared_norms(gradient: Tensor) -> Tensor:
    """Sum of squares of each row, in float32 and in a fixed order."""
    replicates, size = gradient.shape
    blocks = triton.cdiv(size, _NORM_BLOCK)
    partial = torch.empty(replicates, blocks, dtype=torch.float32, device=gradient.device)
    _adamw_squares[(blocks, replicates)](gradient, partial, size, BLOCK=_NORM_BLOCK, num_warps=8)
    return partial.sum(1)


def update(
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
    """As ``krohn.lab.training.adamw.plain_update``, on whole buffers or the same columns of each."""
    replicates, size = weight.shape
    beta1, beta2, epsilon, decay, keep = constants
    _adamw_update[(triton.cdiv(size, _BLOCK), replicates)](
        weight, compute, gradient, *moments, weight if average is None else average, rates, position, scale,
        size, weight.stride(0), replicates, beta1, beta2, epsilon, decay, keep,
        BLOCK=_BLOCK, AVERAGE=average is not None, SPLIT=compute is not weight, num_warps=4,
    )  # fmt: skip
