"""Causal attention on a CPU, with its gradient written out.

torch's flash kernels take the exponential of every score twice, once more in the backward pass. On one thread
it is faster from ``_SHORT`` tokens on to keep the weights, and to leave out the scores that causality
forbids a block of rows at a time. Beyond ``_LONG`` keeping them would take too much memory.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from krohn.models.kernels.host import gradient_of
from krohn.models.kernels.plain import Heads, head_scale
from krohn.models.kernels.tape import Gradients, Tape

_SHORT, _LONG = 64, 256
_BLOCK = 64
_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
_softmax_backward = torch.ops.aten._softmax_backward_data

Backward = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]  # gradients of queries, keys and values


def attention(tape: Tape, qkv: Tensor, bias: Tensor, heads: Heads) -> Tensor:
    """As ``plain.attention``; ``qkv`` is written over."""
    qkv.add_(bias.unsqueeze(1))
    shape = (-1, heads.length, 3, heads.count, qkv.shape[2] // 3 // heads.count)
    split = qkv.view(shape).permute(2, 0, 3, 1, 4)  # [3, R·B, heads, T, head_dim]
    alone = torch.get_num_threads() == 1  # flash shares its sequences among threads, blocks cannot
    way = _in_blocks if alone and _SHORT < heads.length <= _LONG else _by_flash
    mixed, backward = way(split, heads)
    out = mixed.transpose(1, 2).reshape(*qkv.shape[:2], -1)

    def back(gradients: Gradients) -> None:
        dmixed = gradients.take(out).view(-1, heads.length, *shape[3:]).transpose(1, 2)
        dqkv = torch.stack([part.transpose(1, 2) for part in backward(dmixed)], 2).view(qkv.shape)
        torch.sum(dqkv, 1, out=gradient_of(bias))
        gradients.give(qkv, dqkv)

    tape.record(back)
    return out


def _by_flash(split: Tensor, heads: Heads) -> tuple[Tensor, Backward]:
    q, k, v = split.unbind(0)
    mask = heads.mask(split.dtype)
    mixed, total = _flash(q, k, v, 0.0, mask is None, attn_mask=mask)

    def backward(dmixed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        found: tuple[Tensor, Tensor, Tensor] = _flash_backward(
            dmixed, q, k, v, mixed, total, 0.0, mask is None, attn_mask=mask
        )
        return found

    return mixed, backward


def _in_blocks(split: Tensor, heads: Heads) -> tuple[Tensor, Backward]:
    shape = split.shape[1:]
    q, k, v = split.contiguous().flatten(1, 2).unbind(0)
    scaled, turned = q.mul_(head_scale(shape[3])), k.transpose(1, 2).contiguous()
    mixed, weights = torch.empty_like(v), []
    for start, end in _blocks(heads.length):
        scores = torch.bmm(scaled[:, start:end], turned[:, :, :end])
        _forbid(scores.view(*shape[:2], end - start, end), heads, start)
        weights.append(torch.softmax(scores, -1))
        torch.bmm(weights[-1], v[:, :end], out=mixed[:, start:end])

    def backward(dmixed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        dout, facing = dmixed.flatten(0, 1), v.transpose(1, 2).contiguous()
        dq, dk, dv = (torch.zeros_like(v) for _ in range(3))
        for (start, end), weight in zip(_blocks(heads.length), weights, strict=True):
            now = dout[:, start:end]
            dv[:, :end].baddbmm_(weight.transpose(1, 2), now)
            dweight = torch.bmm(now, facing[:, :, :end])
            dscores = _softmax_backward(dweight, weight, -1, weight.dtype)
            torch.bmm(dscores, k[:, :end], out=dq[:, start:end])
            dk[:, :end].baddbmm_(dscores.transpose(1, 2), scaled[:, start:end])
        dq *= head_scale(shape[3])
        return dq.view(shape), dk.view(shape), dv.view(shape)

    return mixed.view(shape), backward


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
