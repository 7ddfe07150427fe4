"""The operations on a CPU, with gradients written out: few and large torch calls.

A small network on a CPU spends its time starting operations, not in arithmetic. Here each weight's gradient
is written where it belongs in the flat buffer, as on the GPU, and nothing is selected, accumulated or copied
on the way. Products never take a transposed matrix on the right: torch's OpenBLAS needs 670 µs instead of
140 µs for 320 × 64 by 64 × 64 then (Neoverse N1, one thread), and to turn a weight matrix around takes 20 µs.
"""

from math import pi, sqrt
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from krohn.models.kernels.plain import Dropout

_EPSILON = 1e-5
_SLOPE = 2.0 * sqrt(2.0 / pi)  # gelu(x) = x·σ(x·(_SLOPE + _CUBIC·x²)), as (1 + tanh z)/2 = σ(2z)
_CUBIC = _SLOPE * 0.044715
_aten = torch.ops.aten


def turned(weight: Tensor) -> Tensor:
    """The matrices [R, in, out] as [R, out, in], row by row in memory."""
    return weight.detach().transpose(1, 2).contiguous()


class _Linear(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.weight = weight
        return torch.bmm(x, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None]:
        (x,), (dy,) = ctx.saved_tensors, gradients
        torch.bmm(x.transpose(1, 2), dy, out=ctx.weight.grad)
        return torch.bmm(dy, turned(ctx.weight)) if ctx.needs_input_grad[0] else None, None


def linear(x: Tensor, weight: Tensor) -> Tensor:
    """As ``plain.linear``."""
    out: Tensor = _Linear.apply(x, weight)  # type: ignore[no-untyped-call]
    return out


class _AddNorm(Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        y: Tensor | None,
        bias: Tensor | None,
        gain: Tensor,
        shift: Tensor,
        dropout: Dropout | None,
    ) -> tuple[Tensor, Tensor]:
        mask = None
        if y is not None:
            assert bias is not None
            branch = y + bias[:, None]
            if dropout is not None:
                mask = dropout.mask(branch)
                branch.mul_(mask)
            x = branch.add_(x)
        scaled = len(x) == 1  # one replicate: the gain can be left to the LayerNorm itself
        scale = (gain[0], shift[0]) if scaled else (None, None)
        h, mean, inverse = _aten.native_layer_norm(x, (x.shape[-1],), *scale, _EPSILON)
        normal = None if scaled else h
        h = h if scaled else torch.addcmul(shift[:, None], h, gain[:, None])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, mean, inverse, mask, normal)
        ctx.parameters = bias, gain, shift
        return (x.view_as(x) if y is None else x), h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        dresidual, dh = gradients
        assert dh is not None
        x, mean, inverse, mask, normal = ctx.saved_tensors
        bias, gain, shift = ctx.parameters
        state = (x, (x.shape[-1],), mean, inverse)
        if normal is None:
            wanted = (gain.detach()[0], shift.detach()[0], [True, True, True])
            dx, dgain, dshift = _aten.native_layer_norm_backward(dh, *state, *wanted)
            gain.grad.copy_(dgain[None])
            shift.grad.copy_(dshift[None])
        else:
            torch.sum(dh, 1, out=shift.grad)
            torch.sum(dh * normal, 1, out=gain.grad)
            scaled = dh * gain.detach()[:, None]
            dx = _aten.native_layer_norm_backward(scaled, *state, None, None, [True, False, False])[0]
        if dresidual is not None:
            dx.add_(dresidual)
        dy = None if bias is None else dx if mask is None else dx * mask
        if dy is not None:
            torch.sum(dy, 1, out=bias.grad)
        return dx, dy, None, None, None, None


def add_norm(
    x: Tensor, y: Tensor | None, bias: Tensor | None, gain: Tensor, shift: Tensor, dropout: Dropout | None
) -> tuple[Tensor, Tensor]:
    """As ``plain.add_norm``."""
    out: tuple[Tensor, Tensor] = _AddNorm.apply(x, y, bias, gain, shift, dropout)  # type: ignore[no-untyped-call]
    return out


class _BiasGelu(Function):
    @staticmethod
    def forward(ctx: Any, u: Tensor, bias: Tensor) -> Tensor:
        x = u + bias[:, None]
        square = x * x
        gate = (square * _CUBIC).add_(_SLOPE).mul_(x).sigmoid_()
        out = x * gate
        # σ + x·σ·(1 − σ)·(_SLOPE + 3·_CUBIC·x²), now that all of it is at hand
        inner = square.mul_(3.0 * _CUBIC).add_(_SLOPE).mul_(out)
        ctx.save_for_backward(inner.addcmul_(inner, gate, value=-1.0).add_(gate))
        ctx.bias = bias
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (derivative,), (dout,) = ctx.saved_tensors, gradients
        du = dout * derivative
        torch.sum(du, 1, out=ctx.bias.grad)
        return du, None


def bias_gelu(u: Tensor, bias: Tensor) -> Tensor:
    """As ``plain.bias_gelu``."""
    out: Tensor = _BiasGelu.apply(u, bias)  # type: ignore[no-untyped-call]
    return out


class _CrossEntropy(Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, bias: Tensor, targets: Tensor, shown: Tensor, classes: int
    ) -> Tensor:
        logs = torch.log_softmax((logits + bias[:, None])[..., :classes], -1)
        wanted = targets[..., None].long()
        weight = shown.to(logs.dtype)
        weight /= weight.sum(1, keepdim=True).clamp(min=1.0)
        losses = logs.gather(-1, wanted).squeeze(-1)
        dlogits = torch.zeros_like(logits)
        chances = torch.exp(logs, out=logs)
        chances.scatter_add_(-1, wanted, chances.new_full((1, 1, 1), -1.0).expand(wanted.shape))
        torch.mul(chances, weight[..., None], out=dlogits[..., :classes])
        ctx.save_for_backward(dlogits)
        ctx.bias = bias
        return -(losses * weight).sum(1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        (dlogits,), (dloss,) = ctx.saved_tensors, gradients
        scaled = dlogits * dloss[:, None, None]
        torch.sum(scaled, 1, out=ctx.bias.grad)
        return scaled, None, None, None, None


def cross_entropy(logits: Tensor, bias: Tensor, targets: Tensor, shown: Tensor, classes: int) -> Tensor:
    """As ``plain.cross_entropy``."""
    out: Tensor = _CrossEntropy.apply(logits, bias, targets, shown, classes)  # type: ignore[no-untyped-call]
    return out


class _AddPositions(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, table: Tensor, length: int) -> Tensor:
        ctx.table, ctx.length = table, length
        rows = x.view(len(x), -1, length, x.shape[-1]) + table[:, None, :length]
        return rows.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (dx,) = gradients
        gradient, length = ctx.table.grad, ctx.length
        gradient[:, :length] = dx.view(len(dx), -1, length, dx.shape[-1]).sum(1)
        gradient[:, length:] = 0.0
        return dx, None, None


def add_positions(x: Tensor, table: Tensor, length: int) -> Tensor:
    """As ``plain.add_positions``."""
    out: Tensor = _AddPositions.apply(x, table, length)  # type: ignore[no-untyped-call]
    return out
