"""The recurrence of an LSTM on a CPU, with its gradient written out: a third faster than torch's own graph.

Only one product per position, forward and backward, is sequential; everything else, notably the gradient of
the recurrent matrix, is done for all positions at once.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function


def recurrence(product: Tensor, bias: Tensor, weight: Tensor, batch: int) -> Tensor:
    """States [R, B·T, h] from the inputs' part of the gates [R, T·B, 4·h]: position by position in memory."""
    out: Tensor = _Recurrence.apply(product, bias, weight, batch)  # type: ignore[no-untyped-call]
    return out


class _Recurrence(Function):
    @staticmethod
    def forward(ctx: Any, product: Tensor, bias: Tensor, weight: Tensor, batch: int) -> Tensor:
        replicates, rows, width = product.shape
        length = rows // batch
        gates = (product + bias.unsqueeze(1)).view(replicates, length, batch, width)
        parts = gates.view(replicates, length, batch, 4, width // 4)
        shape = (replicates, length + 1, batch, width // 4)
        cells, states = gates.new_zeros(shape), gates.new_zeros(shape)  # before the first letter: zero
        bent = gates.new_empty(replicates, length, batch, width // 4)
        for t in range(length):
            if t:
                gates[:, t].baddbmm_(states[:, t], weight)
            now = parts[:, t]
            now[:, :, :2].sigmoid_()
            i, f, g, o = now.unbind(2)
            g.tanh_()
            o.sigmoid_()
            torch.addcmul(f * cells[:, t], i, g, out=cells[:, t + 1])
            torch.tanh(cells[:, t + 1], out=bent[:, t])
            torch.mul(o, bent[:, t], out=states[:, t + 1])
        ctx.save_for_backward(parts, cells, bent, states, weight)
        return states[:, 1:].transpose(1, 2).reshape(replicates, rows, width // 4)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        parts, cells, bent, states, weight = ctx.saved_tensors
        replicates, length, batch = parts.shape[:3]
        dstates = gradients[0].view(replicates, batch, length, -1).transpose(1, 2)
        dgates = _gate_gradients(dstates, parts, cells, bent, weight.transpose(1, 2).contiguous())
        flat = dgates.view(replicates, length * batch, -1)
        before = states[:, :-1].reshape(replicates, length * batch, -1)
        return flat, flat.sum(1), torch.bmm(before.transpose(1, 2), flat), None


def _gate_gradients(dstates: Tensor, parts: Tensor, cells: Tensor, bent: Tensor, back: Tensor) -> Tensor:
    """Gradients of the gates before their activations, from the last position to the first."""
    factors, through = _derivatives(parts, cells, bent)
    length = parts.shape[1]
    dgates = torch.empty_like(parts)
    carried = torch.zeros_like(cells[:, 0])
    for t in reversed(range(length)):
        dh = dstates[:, t]
        if t + 1 < length:
            dh = torch.baddbmm(dh, dgates[:, t + 1].flatten(2), back)
        dc = torch.addcmul(carried, dh, through[:, t])
        torch.mul(factors[:, t, :, :3], dc[:, :, None], out=dgates[:, t, :, :3])
        torch.mul(factors[:, t, :, 3], dh, out=dgates[:, t, :, 3])
        carried = dc.mul_(parts[:, t, :, 1])
    return dgates


def _derivatives(parts: Tensor, cells: Tensor, bent: Tensor) -> tuple[Tensor, Tensor]:
    """Derivatives of the cell (by i, f, g), of the state by o, and of the state by the cell."""
    i, _, g, o = parts.unbind(3)
    factors = torch.addcmul(parts, parts, parts, value=-1.0)  # σ' = σ − σ²
    factors[:, :, :, 0].mul_(g)
    factors[:, :, :, 1].mul_(cells[:, :-1])
    torch.addcmul(i, i, g * g, value=-1.0, out=factors[:, :, :, 2])
    factors[:, :, :, 3].mul_(bent)
    return factors, torch.addcmul(o, o, bent * bent, value=-1.0)
