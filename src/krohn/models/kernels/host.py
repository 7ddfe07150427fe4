"""The operations on a CPU, with gradients written out: few calls, and no graph between them.

A small network on a CPU spends its time starting operations, not in arithmetic. Here each weight's gradient
is written where it belongs in the flat buffer, as on the GPU, and nothing is selected, accumulated or copied
on the way; results that nobody else reads are worked on in place. Products never take a transposed matrix on
the right: torch's OpenBLAS needs 150 µs instead of 96 µs for 320 × 64 by 64 × 64 then (Neoverse N1, one
thread), and to turn a weight matrix around takes 20 µs.
"""

from math import pi, sqrt

import torch
from torch import Tensor

from krohn.models.kernels.plain import Dropout
from krohn.models.kernels.tape import Gradients, OneThreadIfSmall, Tape

_EPSILON = 1e-5
_SLOPE = 2.0 * sqrt(2.0 / pi)  # gelu(x) = x·σ(x·(_SLOPE + _CUBIC·x²)), as (1 + tanh z)/2 = σ(2z)
_CUBIC = _SLOPE * 0.044715
_GELU_WORK = 64  # as many multiplications in a product take the time of one element
_lookup_backward = torch.ops.aten.embedding_dense_backward
_norm = torch.ops.aten.native_layer_norm
_norm_backward = torch.ops.aten.native_layer_norm_backward


def turned(weight: Tensor) -> Tensor:
    """The matrices [R, in, out] as [R, out, in], row by row in memory."""
    return weight.transpose(1, 2).contiguous()


def gradient_of(weight: Tensor) -> Tensor:
    """Where the weight's gradient goes."""
    assert weight.grad is not None
    return weight.grad


def write_product(x: Tensor, dy: Tensor, weight: Tensor) -> None:
    """Writes the gradient of the matrices: the inputs' transpose [R, in, N] times ``dy`` [R, N, out]."""
    with OneThreadIfSmall(x[0].numel() * dy.shape[2]):
        torch.bmm(x.transpose(1, 2), dy, out=gradient_of(weight))


def lookup(tape: Tape, tokens: Tensor, table: Tensor) -> Tensor:
    """Rows of ``table`` [R, V, d] for tokens [R, B, T], one by one: no product is needed on a CPU."""
    replicates, size, width = table.shape
    rows = tokens.flatten(1)
    if replicates > 1:
        rows = rows + torch.arange(0, replicates * size, size, dtype=rows.dtype).unsqueeze(1)
    flat = table.reshape(-1, width).index_select(0, rows.flatten())
    out = flat.view(replicates, -1, width)

    def back(gradients: Gradients) -> None:
        dout = gradients.take(out).flatten(0, 1)
        found = _lookup_backward(dout, rows.flatten(), replicates * size, -1, False)
        gradient_of(table).copy_(found.view(table.shape))

    tape.record(back)
    return out


def linear(tape: Tape, x: Tensor, weight: Tensor) -> Tensor:
    """As ``plain.linear``."""
    out = torch.bmm(x, weight)

    def back(gradients: Gradients) -> None:
        dy = gradients.take(out)
        write_product(x, dy, weight)
        gradients.give(x, torch.bmm(dy, turned(weight)))

    tape.record(back)
    return out


def add_norm(
    tape: Tape,
    x: Tensor,
    y: Tensor | None,
    bias: Tensor | None,
    gain: Tensor,
    shift: Tensor,
    dropout: Dropout | None,
) -> tuple[Tensor, Tensor]:
    """As ``plain.add_norm``; ``y`` is written over."""
    if y is None or bias is None:
        return _normed(tape, x, gain, shift)
    y.add_(bias.unsqueeze(1))
    mask = None if dropout is None else dropout.mask(y)
    total = (y if mask is None else y.mul_(mask)).add_(x)

    def back(gradients: Gradients) -> None:
        dx = gradients.take(total)
        dy = dx if mask is None else dx * mask
        torch.sum(dy, 1, out=gradient_of(bias))
        gradients.give(x, dx)
        gradients.give(y, dy)

    tape.record(back)
    return _normed(tape, total, gain, shift)


def _normed(tape: Tape, x: Tensor, gain: Tensor, shift: Tensor) -> tuple[Tensor, Tensor]:
    """x itself, to be used once more, and its LayerNorm."""
    width = x.shape[2:]
    alone = x.shape[0] == 1  # then the gain can be left to the LayerNorm itself
    scale = (gain.squeeze(0), shift.squeeze(0)) if alone else (None, None)
    normal, mean, inverse = _norm(x, width, *scale, _EPSILON)
    h = normal if alone else torch.addcmul(shift.unsqueeze(1), normal, gain.unsqueeze(1))

    def back(gradients: Gradients) -> None:
        dh, dresidual = gradients.take(h), gradients.take_if_used(x)
        if alone:
            dx, dgain, dshift = _norm_backward(dh, x, width, mean, inverse, *scale, [True, True, True])
            gradient_of(gain).copy_(dgain)
            gradient_of(shift).copy_(dshift)
        else:
            torch.sum(dh, 1, out=gradient_of(shift))
            torch.sum(dh * normal, 1, out=gradient_of(gain))
            dnormal = dh * gain.unsqueeze(1)
            dx = _norm_backward(dnormal, x, width, mean, inverse, None, None, [True, False, False])[0]
        gradients.give(x, dx if dresidual is None else dx.add_(dresidual))

    tape.record(back)
    return x, h


def bias_gelu(tape: Tape, u: Tensor, bias: Tensor) -> Tensor:
    """As ``plain.bias_gelu``; ``u`` is written over."""
    with OneThreadIfSmall(_GELU_WORK * u.numel()):
        x = u.add_(bias.unsqueeze(1))
        square = x * x
        gate = torch.mul(square, _CUBIC).add_(_SLOPE).mul_(x).sigmoid_()
        out = x * gate
        # σ + x·σ·(1 − σ)·(_SLOPE + 3·_CUBIC·x²), now that all of it is at hand
        inner = square.mul_(3.0 * _CUBIC).add_(_SLOPE).mul_(out)
        derivative = inner.addcmul_(inner, gate, value=-1.0).add_(gate)

    def back(gradients: Gradients) -> None:
        du = gradients.take(out) * derivative
        torch.sum(du, 1, out=gradient_of(bias))
        gradients.give(u, du)

    tape.record(back)
    return out


def cross_entropy(
    tape: Tape, logits: Tensor, bias: Tensor, targets: Tensor, shown: Tensor, classes: int
) -> Tensor:
    """As ``plain.cross_entropy``."""
    logs = torch.log_softmax(torch.add(logits, bias.unsqueeze(1))[..., :classes], -1)
    wanted = targets.unsqueeze(2).long()
    weight = shown.to(logs.dtype)
    weight /= weight.sum(1, keepdim=True).clamp_(min=1.0)
    loss: Tensor = -(logs.gather(-1, wanted).squeeze(2) * weight).sum(1)

    def back(gradients: Gradients) -> None:
        share = (weight * gradients.take(loss).unsqueeze(1)).unsqueeze(2)
        dlogits = torch.zeros_like(logits)
        torch.mul(logs.exp(), share, out=dlogits[..., :classes])
        dlogits.scatter_add_(-1, wanted, -share)
        torch.sum(dlogits, 1, out=gradient_of(bias))
        gradients.give(logits, dlogits)

    tape.record(back)
    return loss


def add_positions(tape: Tape, x: Tensor, table: Tensor, length: int) -> Tensor:
    """As ``plain.add_positions``."""
    sequences = (x.shape[0], -1, length, x.shape[2])
    out = (x.view(sequences) + table[:, None, :length]).view_as(x)

    def back(gradients: Gradients) -> None:
        dx, gradient = gradients.take(out), gradient_of(table)
        torch.sum(dx.view(sequences), 1, out=gradient[:, :length])
        gradient[:, length:] = 0.0
        gradients.give(x, dx)

    tape.record(back)
    return out


def add_rows(tape: Tape, x: Tensor, rows: Tensor) -> Tensor:
    """As ``plain.add_rows``; ``x`` is written over, and its gradient is that of the sum."""
    x.view(x.shape[0], -1, *rows.shape[1:]).add_(rows.unsqueeze(1))
    return x


def drop(tape: Tape, x: Tensor, dropout: Dropout) -> Tensor:
    """As ``plain.drop``; ``x`` is written over."""
    mask = dropout.mask(x)

    def back(gradients: Gradients) -> None:
        gradients.give(x, gradients.take(x).mul_(mask))

    tape.record(back)
    return x.mul_(mask)
