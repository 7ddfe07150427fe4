"""The recurrence of an LSTM on a CPU, with its gradient written out.

One product a position, forward and backward, is all that must wait for its neighbour; everything else, the
gradient of the recurrent matrix above all, is done for all positions at once.
"""

import torch
from torch import Tensor

from krohn.models.kernels.host import gradient_of, turned, write_product
from krohn.models.kernels.tape import Gradients, OneThreadIfSmall, Tape


def recurrence(tape: Tape, product: Tensor, bias: Tensor, weight: Tensor, batch: int) -> Tensor:
    """States [R, B·T, h] from the inputs' part of the gates [R, T·B, 4·h]; this is written over."""
    replicates, rows, width = product.shape
    length = rows // batch
    gates = product.add_(bias.unsqueeze(1)).view(replicates, length, batch, width)
    parts = gates.view(replicates, length, batch, 4, width // 4)
    shape = (replicates, length + 1, batch, width // 4)
    cells, states = gates.new_zeros(shape), gates.new_zeros(shape)  # before the first letter: zero
    bent = gates.new_empty(replicates, length, batch, width // 4)
    work = batch * weight[0].numel()  # of one position
    with OneThreadIfSmall(work):
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
    out = states[:, 1:].transpose(1, 2).reshape(replicates, rows, width // 4)

    def back(gradients: Gradients) -> None:
        dstates = gradients.take(out).view(replicates, batch, length, -1).transpose(1, 2)
        with OneThreadIfSmall(work):
            dgates = _gate_gradients(dstates, parts, cells, bent, turned(weight))
        flat = dgates.view(replicates, length * batch, width)
        before = states[:, :-1].reshape(replicates, length * batch, width // 4)
        write_product(before, flat, weight)
        torch.sum(flat, 1, out=gradient_of(bias))
        gradients.give(product, dgates.view(product.shape))

    tape.record(back)
    return out


def _gate_gradients(dstates: Tensor, parts: Tensor, cells: Tensor, bent: Tensor, back: Tensor) -> Tensor:
    """Gradients of the gates before they are bent, from the last position to the first."""
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
    """By how much each gate moves the cell (i, f, g) or the state (o), and the cell the state."""
    i, _, g, o = parts.unbind(3)
    factors = torch.addcmul(parts, parts, parts, value=-1.0)  # σ' = σ − σ²
    factors[:, :, :, 0].mul_(g)
    factors[:, :, :, 1].mul_(cells[:, :-1])
    torch.addcmul(i, i, g * g, value=-1.0, out=factors[:, :, :, 2])
    factors[:, :, :, 3].mul_(bent)
    return factors, torch.addcmul(o, o, bent * bent, value=-1.0)
