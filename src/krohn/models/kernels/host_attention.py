"""Causal attention on a CPU, with its gradient written out.

Short sequences go to torch's flash kernels. These take the exponential of every score twice, once more in the
backward pass; from ``_SHORT`` tokens on it is faster to keep the weights, and to leave out the scores that
causality forbids a block of rows at a time. Beyond ``_LONG`` keeping them would take too much memory.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from krohn.models.kernels.plain import Heads, head_scale

_SHORT, _LONG = 64, 256
_BLOCK = 64
_aten = torch.ops.aten


class _Flash(Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, bias: Tensor, heads: Heads) -> Tensor:
        q, k, v = _split(qkv, bias, heads).unbind(0)
        mask = heads.mask(qkv.dtype)
        mixed, total = _aten._scaled_dot_product_flash_attention_for_cpu(
            q, k, v, 0.0, mask is None, attn_mask=mask
        )
        ctx.save_for_backward(q, k, v, mixed, total, mask)
        ctx.bias, ctx.shape = bias, qkv.shape
        out: Tensor = mixed.transpose(1, 2).reshape(*qkv.shape[:2], -1)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (dmixed,) = gradients
        q, k, v, mixed, total, mask = ctx.saved_tensors
        batch, count, length, head_dim = q.shape
        dout = dmixed.view(batch, length, count, head_dim).transpose(1, 2)
        parts = _aten._scaled_dot_product_flash_attention_for_cpu_backward(
            dout, q, k, v, mixed, total, 0.0, mask is None, attn_mask=mask
        )
        dqkv = torch.stack([part.transpose(1, 2) for part in parts], 2).view(ctx.shape)
        torch.sum(dqkv, 1, out=ctx.bias.grad)
        return dqkv, None, None


class _Blocks(Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, bias: Tensor, heads: Heads) -> Tensor:
        split = _split(qkv, bias, heads)
        shape = split.shape[1:]  # [R·B, heads, T, head_dim]
        q, k, v = split.contiguous().flatten(1, 2).unbind(0)
        scaled, turned = q * head_scale(shape[3]), k.transpose(1, 2).contiguous()
        mixed, weights = torch.empty_like(v), []
        for start, end in _blocks(heads.length):
            scores = torch.bmm(scaled[:, start:end], turned[:, :, :end])
            _forbid(scores.view(*shape[:2], end - start, end), heads, start)
            weights.append(torch.softmax(scores, -1))
            torch.bmm(weights[-1], v[:, :end], out=mixed[:, start:end])
        ctx.save_for_backward(scaled, k, v, *weights)
        ctx.bias, ctx.heads, ctx.shape = bias, heads, qkv.shape
        return mixed.view(shape).transpose(1, 2).reshape(*qkv.shape[:2], -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (dmixed,), heads = gradients, ctx.heads
        scaled, k, v, *weights = ctx.saved_tensors
        shape = (-1, heads.count, heads.length, k.shape[-1])
        dout = dmixed.view(-1, heads.length, heads.count, k.shape[-1]).transpose(1, 2).flatten(0, 1)
        turned = v.transpose(1, 2).contiguous()
        dq, dk, dv = (torch.zeros_like(v) for _ in range(3))
        for (start, end), weight in zip(_blocks(heads.length), weights, strict=True):
            now = dout[:, start:end]
            dv[:, :end].baddbmm_(weight.transpose(1, 2), now)
            dweight = torch.bmm(now, turned[:, :, :end])
            dscores = _aten._softmax_backward_data(dweight, weight, -1, weight.dtype)
            torch.bmm(dscores, k[:, :end], out=dq[:, start:end])
            dk[:, :end].baddbmm_(dscores.transpose(1, 2), scaled[:, start:end])
        dq *= head_scale(k.shape[-1])
        dqkv = torch.stack([part.view(shape).transpose(1, 2) for part in (dq, dk, dv)], 2).view(ctx.shape)
        torch.sum(dqkv, 1, out=ctx.bias.grad)
        return dqkv, None, None


def _split(qkv: Tensor, bias: Tensor, heads: Heads) -> Tensor:
    """Queries, keys and values [3, R·B, heads, T, head_dim]."""
    whole = qkv + bias[:, None]
    return whole.view(-1, heads.length, 3, heads.count, whole.shape[2] // 3 // heads.count).permute(
        2, 0, 3, 1, 4
    )


def _blocks(length: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + _BLOCK, length)) for start in range(0, length, _BLOCK))


def _forbid(scores: Tensor, heads: Heads, start: int) -> None:
    """Adds the mask to the scores [R·B, heads, rows, keys] of the rows from ``start`` on."""
    rows, keys = scores.shape[2:]
    mask = heads.mask(scores.dtype)
    if mask is not None:
        scores += mask[:, :, start:keys, :keys]
    else:
        scores[..., start:] += torch.full((rows, rows), float("-inf"), dtype=scores.dtype).triu_(1)


def attention(qkv: Tensor, bias: Tensor, heads: Heads) -> Tensor:
    """As ``plain.attention``."""
    way = _Blocks if _SHORT < heads.length <= _LONG else _Flash
    out: Tensor = way.apply(qkv, bias, heads)  # type: ignore[no-untyped-call]
    return out
