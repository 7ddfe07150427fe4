"""Softmax cross-entropy of a padded, stacked head: loss and gradient from one read of the logits."""

# Bodies under triton.jit are Triton, not Python: they carry no annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd import Function
from triton import language as tl

from krohn.lab.models.kernels import plain

_ROWS, _TILE = 32, 4096  # rows of a program, fewer where a row is long


@triton.jit
def _cross_entropy_rows(
    logits, bias, targets, shown, count, loss, dlogits, rows, stride, classes,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr, BIAS: tl.constexpr,
):  # fmt: skip
    replicate = tl.program_id(0)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    line = replicate.to(tl.int64) * rows + row
    inside = (row[:, None] < rows) & (column[None, :] < WIDTH)
    place = line[:, None] * WIDTH + column[None, :]
    exists = column < classes
    scores = tl.load(logits + place, mask=inside, other=0.0).to(tl.float32)
    if BIAS:
        shift = tl.load(bias + replicate.to(tl.int64) * stride + column, mask=exists, other=0.0)
        scores += shift.to(tl.float32)[None, :]
    scores = tl.where(exists[None, :], scores, float("-inf"))
    highest = tl.max(scores, axis=1)
    exponentials = tl.exp(scores - highest[:, None])
    total = tl.sum(exponentials, axis=1)
    target = tl.load(targets + line, mask=row < rows, other=0)
    weight = tl.load(shown + line, mask=row < rows, other=0).to(tl.float32) / tl.load(count + replicate)
    hit = column[None, :] == target[:, None]
    chosen = tl.sum(tl.where(hit, scores, 0.0), axis=1)
    tl.store(loss + line, (tl.log(total) + highest - chosen) * weight, mask=row < rows)
    gradient = (exponentials / total[:, None] - tl.where(hit, 1.0, 0.0)) * weight[:, None]
    tl.store(dlogits + place, tl.where(exists[None, :], gradient, 0.0), mask=inside)


class _CrossEntropy(Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, bias: Tensor | None, targets: Tensor, shown: Tensor, classes: int
    ) -> Tensor:
        replicates, rows, width = logits.shape
        count = shown.sum(1, dtype=torch.float32).clamp(min=1.0)
        losses = torch.empty(replicates, rows, dtype=torch.float32, device=logits.device)
        dlogits = torch.empty_like(logits)
        block = triton.next_power_of_2(width)
        at_once = max(1, min(_ROWS, _TILE // block))
        given = logits if bias is None else bias
        _cross_entropy_rows[(replicates, triton.cdiv(rows, at_once))](
            logits, given, targets, shown, count, losses, dlogits, rows, given.stride(0), classes,
            WIDTH=width, BLOCK=block, ROWS=at_once, BIAS=bias is not None,
        )  # fmt: skip
        ctx.save_for_backward(dlogits)
        ctx.bias = bias
        return losses.sum(1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        (dlogits,) = ctx.saved_tensors
        (dloss,) = gradients
        scaled = dlogits * dloss[:, None, None].to(dlogits.dtype)
        if ctx.bias is not None:
            ctx.bias.grad.copy_(scaled.sum(1, dtype=torch.float32))
        return scaled, None, None, None, None


def cross_entropy(
    logits: Tensor, bias: Tensor | None, targets: Tensor, shown: Tensor, classes: int
) -> Tensor:
    """``plain.cross_entropy`` as one fused kernel."""
    if not torch.is_grad_enabled():
        return plain.cross_entropy(logits, bias, targets, shown, classes)
    out: Tensor = _CrossEntropy.apply(logits, bias, targets, shown, classes)
    return out
