"""States of a diagonal recurrence, h ← a·h + b, for all positions in about 2√T operations instead of T.

Blocks of √T positions are run side by side from zero, then joined from left to right. No logarithms and no
divisions: gates may be 0, negative or complex, and where they are 0, ±1 or ±i nothing is rounded. The
gradient runs the same recurrence backwards.
"""

from math import isqrt
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function


def linear_scan(gate: Tensor, write: Tensor, first: Tensor) -> Tensor:
    """h_t = gate_t·h_(t−1) + write_t for gates and writes [..., T, d], from h_0 = ``first`` [..., d]."""
    states: Tensor = _Scan.apply(gate, write, first)  # type: ignore[no-untyped-call]
    return states


def states_in_order(gate: Tensor, write: Tensor, first: Tensor) -> Tensor:
    """As ``linear_scan``, one letter after the other on any device."""
    states = []
    for t in range(gate.shape[-2]):
        first = gate[..., t, :] * first + write[..., t, :]
        states.append(first)
    return torch.stack(states, -2)


class _Scan(Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, write: Tensor, first: Tensor) -> Tensor:
        states = _states(gate, write, first)
        ctx.save_for_backward(gate, states, first)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gate, states, first = ctx.saved_tensors
        flow = _flow(gate, gradients[0])
        before = torch.cat([first.unsqueeze(-2), states[..., :-1, :]], -2)
        return flow * before.conj(), flow, flow[..., 0, :] * gate[..., 0, :].conj()


def _flow(gate: Tensor, gradient: Tensor) -> Tensor:
    """f_t = gradient_t + conj(gate_(t+1))·f_(t+1), as the recurrence on the reversed word."""
    later = torch.cat([gate[..., 1:, :], torch.zeros_like(gate[..., :1, :])], -2).conj().flip(-2)
    return _states(later, gradient.flip(-2), torch.zeros_like(gate[..., 0, :])).flip(-2)


def _states(gate: Tensor, write: Tensor, first: Tensor) -> Tensor:
    length = gate.shape[-2]
    block = isqrt(length - 1) + 1
    gate, states = (_blocks(part, block) for part in (gate, write))
    for place in range(1, block):
        states[..., place, :].addcmul_(gate[..., place, :], states[..., place - 1, :])
        gate[..., place, :].mul_(gate[..., place - 1, :])
    starts = [first]
    for index in range(states.shape[-3] - 1):
        starts.append(torch.addcmul(states[..., index, -1, :], gate[..., index, -1, :], starts[-1]))
    whole = states.addcmul_(gate, torch.stack(starts, -2).unsqueeze(-2))
    return whole.flatten(-3, -2)[..., :length, :]


def _blocks(part: Tensor, block: int) -> Tensor:
    """A copy [..., T, d] -> [..., blocks, block, d], zeros after the end."""
    spare = -part.shape[-2] % block
    padding = part.new_zeros(*part.shape[:-2], spare, part.shape[-1])
    return torch.cat([part, padding], -2).view(*part.shape[:-2], -1, block, part.shape[-1])
