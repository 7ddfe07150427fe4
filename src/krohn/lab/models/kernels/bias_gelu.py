"""GELU of u + bias, and its gradient with the bias's row sums, one pass each."""

# Bodies under triton.jit are Triton, not Python: they carry no annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd import Function
from triton import language as tl

from krohn.lab.models.kernels.column_sum import column_sum, partial_sums

_ROWS = 2  # one warp each
_CHUNKS = 100
_CUBIC = tl.constexpr(0.044715)
_ROOT = tl.constexpr(0.7978845608028654)  # √(2/π)


@triton.jit
def _tanh(value):
    # exact limits for large |value|: exp overflows to inf and 2/inf = 0
    return 1.0 - 2.0 / (tl.exp(2.0 * value) + 1.0)


@triton.jit
def _bias_gelu_forward(
    u, bias, out, rows, stride, WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr
):  # fmt: skip
    replicate = tl.program_id(0)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    inside = (row[:, None] < rows) & (column[None, :] < WIDTH)
    place = (replicate.to(tl.int64) * rows + row[:, None]) * WIDTH + column[None, :]
    value = tl.load(u + place, mask=inside, other=0.0).to(tl.float32)
    offset = replicate.to(tl.int64) * stride + column
    value += tl.load(bias + offset, mask=column < WIDTH, other=0.0).to(tl.float32)[None, :]
    result = 0.5 * value * (1.0 + _tanh(_ROOT * (value + _CUBIC * value * value * value)))
    tl.store(out + place, result, mask=inside)


@triton.jit
def _bias_gelu_backward(
    dout, u, bias, du, partial, rows, per_chunk, stride,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    replicate = tl.program_id(0)
    chunk = tl.program_id(1)
    column = tl.arange(0, BLOCK)
    width = column < WIDTH
    shift = tl.load(bias + replicate.to(tl.int64) * stride + column, mask=width, other=0.0).to(tl.float32)[
        None, :
    ]
    total = tl.zeros([ROWS, BLOCK], tl.float32)
    last = tl.minimum((chunk + 1) * per_chunk, rows)
    for start in range(chunk * per_chunk, last, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row[:, None] < last) & width[None, :]
        place = (replicate.to(tl.int64) * rows + row[:, None]) * WIDTH + column[None, :]
        value = tl.load(u + place, mask=inside, other=0.0).to(tl.float32) + shift
        square = value * value
        tanh = _tanh(_ROOT * value * (1.0 + _CUBIC * square))
        slope = 0.5 * (1.0 + tanh) + 0.5 * value * (1.0 - tanh * tanh) * _ROOT * (1.0 + 3.0 * _CUBIC * square)
        result = tl.load(dout + place, mask=inside, other=0.0).to(tl.float32) * slope
        tl.store(du + place, result, mask=inside)
        total += result
    tl.store(
        partial + (replicate * tl.num_programs(1) + chunk) * WIDTH + column, tl.sum(total, axis=0), mask=width
    )


def _run_forward(u: Tensor, bias: Tensor) -> Tensor:
    replicates, rows, width = u.shape
    out = torch.empty_like(u)
    block = triton.next_power_of_2(width)
    _bias_gelu_forward[(replicates, triton.cdiv(rows, _ROWS))](
        u, bias, out, rows, bias.stride(0), WIDTH=width, BLOCK=block, ROWS=_ROWS, num_warps=_ROWS
    )
    return out


class _BiasGelu(Function):
    @staticmethod
    def forward(ctx: Any, u: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(u)
        ctx.bias = bias
        return _run_forward(u, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (u,) = ctx.saved_tensors
        (dout,) = gradients
        replicates, rows, width = u.shape
        du = torch.empty_like(u)
        chunks = min(_CHUNKS, triton.cdiv(rows, _ROWS))
        partial = partial_sums(replicates, chunks, 1, width, u.device)
        _bias_gelu_backward[(replicates, chunks)](
            dout, u, ctx.bias, du, partial, rows, triton.cdiv(rows, chunks), ctx.bias.stride(0),
            WIDTH=width, BLOCK=triton.next_power_of_2(width), ROWS=_ROWS, num_warps=_ROWS,
        )  # fmt: skip
        column_sum(partial, [ctx.bias.grad])
        return du, None


def bias_gelu(u: Tensor, bias: Tensor) -> Tensor:
    """``plain.bias_gelu`` as one fused kernel."""
    if not torch.is_grad_enabled():
        return _run_forward(u, bias)
    out: Tensor = _BiasGelu.apply(u, bias)
    return out
