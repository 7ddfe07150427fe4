"""Causal attention for short sequences: one program per sequence and head, the whole score tile on the chip.

At 128 positions the T × T tile fits in registers, so there is no online softmax, nothing but qkv is saved for
the backward pass, and the bias of qkv is added on the way in and summed on the way out.
"""

# Bodies under triton.jit are Triton, not Python: they carry no annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd import Function
from triton import language as tl

from krohn.models.kernels import plain
from krohn.models.kernels.column_sum import column_sum, partial_sums
from krohn.models.kernels.plain import Heads

LONGEST = 128
_WARPS = 8


@triton.jit
def _rows(base, bias, offsets, column, inside):
    shift = tl.load(bias + column).to(tl.float32)[None, :]
    return (tl.load(base + offsets, mask=inside, other=0.0).to(tl.float32) + shift).to(tl.bfloat16)


@triton.jit
def _weights(q, k, slopes, head, position, scale, RECENT: tl.constexpr):
    scores = tl.dot(q, tl.trans(k)) * scale
    distance = position[:, None] - position[None, :]
    if RECENT:
        scores -= tl.load(slopes + head) * distance
    scores = tl.where(distance >= 0, scores, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    return weights / tl.sum(weights, axis=1)[:, None]


@triton.jit
def _forward(
    qkv, bias, out, slopes, batch, length, stride, scale,
    HEADS: tl.constexpr, HEAD: tl.constexpr, TILE: tl.constexpr, RECENT: tl.constexpr,
):  # fmt: skip
    WIDTH: tl.constexpr = HEADS * HEAD
    head = tl.program_id(0)
    sequence = tl.program_id(1)
    position = tl.arange(0, TILE)
    column = tl.arange(0, HEAD)
    inside = position[:, None] < length
    base = qkv + sequence.to(tl.int64) * length * 3 * WIDTH + head * HEAD
    shift = bias + (sequence // batch).to(tl.int64) * stride + head * HEAD
    offsets = position[:, None] * (3 * WIDTH) + column[None, :]
    q = _rows(base, shift, offsets, column, inside)
    k = _rows(base + WIDTH, shift + WIDTH, offsets, column, inside)
    v = _rows(base + 2 * WIDTH, shift + 2 * WIDTH, offsets, column, inside)
    weights = _weights(q, k, slopes, head, position, scale, RECENT)
    result = tl.dot(weights.to(tl.bfloat16), v)
    place = out + sequence.to(tl.int64) * length * WIDTH + head * HEAD
    tl.store(place + position[:, None] * WIDTH + column[None, :], result, mask=inside)


@triton.jit
def _backward(
    dout, qkv, bias, dqkv, partial, slopes, batch, length, stride, scale,
    HEADS: tl.constexpr, HEAD: tl.constexpr, TILE: tl.constexpr, RECENT: tl.constexpr,
):  # fmt: skip
    WIDTH: tl.constexpr = HEADS * HEAD
    head = tl.program_id(0)
    sequence = tl.program_id(1)
    position = tl.arange(0, TILE)
    column = tl.arange(0, HEAD)
    inside = position[:, None] < length
    start = sequence.to(tl.int64) * length * 3 * WIDTH + head * HEAD
    shift = bias + (sequence // batch).to(tl.int64) * stride + head * HEAD
    offsets = position[:, None] * (3 * WIDTH) + column[None, :]
    q = _rows(qkv + start, shift, offsets, column, inside)
    k = _rows(qkv + start + WIDTH, shift + WIDTH, offsets, column, inside)
    v = _rows(qkv + start + 2 * WIDTH, shift + 2 * WIDTH, offsets, column, inside)
    weights = _weights(q, k, slopes, head, position, scale, RECENT)
    place = dout + sequence.to(tl.int64) * length * WIDTH + head * HEAD
    gradient = tl.load(place + position[:, None] * WIDTH + column[None, :], mask=inside, other=0.0)
    # Rows past the end have a zero gradient, so they add nothing to any sum below.
    dv = tl.dot(tl.trans(weights.to(tl.bfloat16)), gradient)
    dweights = tl.dot(gradient, tl.trans(v))
    inner = tl.sum(weights * dweights, axis=1)[:, None]
    dscores = (weights * (dweights - inner) * scale).to(tl.bfloat16)
    dq = tl.dot(dscores, k)
    dk = tl.dot(tl.trans(dscores), q)
    total = partial + sequence * 3 * WIDTH + head * HEAD + column
    tl.store(dqkv + start + offsets, dq, mask=inside)
    tl.store(total, tl.sum(dq, axis=0))
    tl.store(dqkv + start + WIDTH + offsets, dk, mask=inside)
    tl.store(total + WIDTH, tl.sum(dk, axis=0))
    tl.store(dqkv + start + 2 * WIDTH + offsets, dv, mask=inside)
    tl.store(total + 2 * WIDTH, tl.sum(dv, axis=0))


def _constants(width: int, heads: Heads) -> dict[str, Any]:
    head_dim = width // heads.count
    return {
        "scale": plain.head_scale(head_dim),
        "HEADS": heads.count,
        "HEAD": head_dim,
        "TILE": max(16, triton.next_power_of_2(heads.length)),
        "RECENT": heads.slopes is not None,
        "num_warps": _WARPS if heads.length > 64 else 4,
    }


def _run_forward(qkv: Tensor, bias: Tensor, heads: Heads) -> Tensor:
    replicates, rows, width = qkv.shape
    out = torch.empty(replicates, rows, width // 3, dtype=qkv.dtype, device=qkv.device)
    slopes = bias if heads.slopes is None else heads.slopes
    _forward[(heads.count, replicates * heads.batch)](
        qkv, bias, out, slopes, heads.batch, heads.length, bias.stride(0), **_constants(width // 3, heads)
    )
    return out


class _Attention(Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, bias: Tensor, heads: Heads) -> Tensor:
        ctx.save_for_backward(qkv)
        ctx.bias, ctx.heads = bias, heads
        return _run_forward(qkv, bias, heads)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (qkv,) = ctx.saved_tensors
        (dout,) = gradients
        bias, heads = ctx.bias, ctx.heads
        replicates, _, width = qkv.shape
        dqkv = torch.empty_like(qkv)
        partial = partial_sums(replicates, heads.batch, 1, width, qkv.device)
        slopes = bias if heads.slopes is None else heads.slopes
        _backward[(heads.count, replicates * heads.batch)](
            dout, qkv, bias, dqkv, partial, slopes, heads.batch, heads.length, bias.stride(0),
            **_constants(width // 3, heads),
        )  # fmt: skip
        column_sum(partial, [bias.grad])
        return dqkv, None, None


class _AddBias(Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, bias: Tensor) -> Tensor:
        ctx.bias = bias
        return qkv + bias[:, None]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        ctx.bias.grad.copy_(gradients[0].sum(1, dtype=torch.float32))
        return gradients[0], None


def attention(qkv: Tensor, bias: Tensor, heads: Heads) -> Tensor:
    """As ``plain.attention``; sequences longer than the tile, and odd head sizes, take the plain path."""
    head_dim = qkv.shape[2] // 3 // heads.count
    if heads.length > LONGEST or head_dim not in (16, 32, 64, 128):
        shifted: Tensor = _AddBias.apply(qkv, bias)
        return plain.attention(shifted, None, heads)
    if not torch.is_grad_enabled():
        return _run_forward(qkv, bias, heads)
    out: Tensor = _Attention.apply(qkv, bias, heads)
    return out
