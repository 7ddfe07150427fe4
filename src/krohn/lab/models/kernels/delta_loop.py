"""The gated delta rule on a GPU: one program for each memory, which stays in registers for the whole word.

Forward keeps e = v − kᵀS of every step. Then the memory is S ← S + k (β e)ᵀ with nothing left to solve, and
its gradient D, from the last step to the first, is D ← D − k (β Dᵀk)ᵀ, in which S does not occur. So the
backward pass is a loop over the steps in reverse for D and one forwards for S, and no memory is ever stored.
"""

# Bodies under triton.jit are Triton, not Python: they carry no annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd import Function
from triton import language as tl


@triton.jit
def _forward(
    query, key, value, beta, log_gate, memory, read, missing, after, length,
    DK: tl.constexpr, DV: tl.constexpr, STEPS: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
):  # fmt: skip
    own = tl.program_id(0).to(tl.int64)
    i, j = tl.arange(0, BK), tl.arange(0, BV)
    square = (own * DK + i[:, None]) * DV + j[None, :]
    inside = (i[:, None] < DK) & (j[None, :] < DV)
    state = tl.load(memory + square, mask=inside, other=0.0)
    for t in range(length):
        letter = own * length + t
        state *= tl.exp(tl.load(log_gate + letter))
        for s in range(STEPS):
            step = letter * STEPS + s
            k = tl.load(key + step * DK + i, mask=i < DK, other=0.0)
            v = tl.load(value + step * DV + j, mask=j < DV, other=0.0)
            e = v - tl.sum(k[:, None] * state, axis=0)
            tl.store(missing + step * DV + j, e, mask=j < DV)
            state += k[:, None] * (tl.load(beta + step) * e)[None, :]
        q = tl.load(query + letter * DK + i, mask=i < DK, other=0.0)
        tl.store(read + letter * DV + j, tl.sum(q[:, None] * state, axis=0), mask=j < DV)
    tl.store(after + square, state, mask=inside)


@triton.jit
def _backward_in_time(
    query, key, beta, log_gate, missing, dread, dafter, dkey, dvalue, dbeta, dmemory, length,
    DK: tl.constexpr, DV: tl.constexpr, STEPS: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
):  # fmt: skip
    own = tl.program_id(0).to(tl.int64)
    i, j = tl.arange(0, BK), tl.arange(0, BV)
    square = (own * DK + i[:, None]) * DV + j[None, :]
    inside = (i[:, None] < DK) & (j[None, :] < DV)
    flow = tl.load(dafter + square, mask=inside, other=0.0)
    for back in range(length):
        letter = own * length + length - 1 - back
        q = tl.load(query + letter * DK + i, mask=i < DK, other=0.0)
        do = tl.load(dread + letter * DV + j, mask=j < DV, other=0.0)
        flow += q[:, None] * do[None, :]
        for s in range(STEPS):
            step = letter * STEPS + STEPS - 1 - s
            k = tl.load(key + step * DK + i, mask=i < DK, other=0.0)
            e = tl.load(missing + step * DV + j, mask=j < DV, other=0.0)
            b = tl.load(beta + step)
            du = tl.sum(k[:, None] * flow, axis=0)
            tl.store(dvalue + step * DV + j, b * du, mask=j < DV)
            tl.store(dbeta + step, tl.sum(e * du, axis=0))
            tl.store(dkey + step * DK + i, tl.sum(flow * (b * e)[None, :], axis=1), mask=i < DK)
            flow -= k[:, None] * (b * du)[None, :]
        flow *= tl.exp(tl.load(log_gate + letter))
    tl.store(dmemory + square, flow, mask=inside)


@triton.jit
def _forward_in_time(
    key, beta, log_gate, memory, missing, dread, dvalue, dquery, dkey, length,
    DK: tl.constexpr, DV: tl.constexpr, STEPS: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
):  # fmt: skip
    own = tl.program_id(0).to(tl.int64)
    i, j = tl.arange(0, BK), tl.arange(0, BV)
    square = (own * DK + i[:, None]) * DV + j[None, :]
    state = tl.load(memory + square, mask=(i[:, None] < DK) & (j[None, :] < DV), other=0.0)
    for t in range(length):
        letter = own * length + t
        state *= tl.exp(tl.load(log_gate + letter))
        for s in range(STEPS):
            step = letter * STEPS + s
            k = tl.load(key + step * DK + i, mask=i < DK, other=0.0)
            e = tl.load(missing + step * DV + j, mask=j < DV, other=0.0)
            du = tl.load(dvalue + step * DV + j, mask=j < DV, other=0.0)
            dk = tl.load(dkey + step * DK + i, mask=i < DK, other=0.0)
            tl.store(dkey + step * DK + i, dk - tl.sum(state * du[None, :], axis=1), mask=i < DK)
            state += k[:, None] * (tl.load(beta + step) * e)[None, :]
        do = tl.load(dread + letter * DV + j, mask=j < DV, other=0.0)
        tl.store(dquery + letter * DK + i, tl.sum(state * do[None, :], axis=1), mask=i < DK)


def _launch(kernel: Any, key: Tensor, value: Tensor, *tensors: Tensor) -> None:
    """One program for each memory; the tensors are contiguous, as the kernels require."""
    count, length, steps, dk = key.shape
    dv = value.shape[-1]
    block = triton.next_power_of_2(dk), triton.next_power_of_2(dv)
    warps = min(8, max(1, block[0] * block[1] // 1024))
    kernel[(count,)](
        *tensors, length, DK=dk, DV=dv, STEPS=steps, BK=block[0], BV=block[1], num_warps=warps
    )  # fmt: skip


class _DeltaLoop(Function):
    @staticmethod
    def forward(ctx: Any, *given: Tensor) -> tuple[Tensor, Tensor]:
        query, key, value, beta, log_gate, memory = (part.contiguous() for part in given)
        read = query.new_empty(*query.shape[:2], value.shape[-1])
        missing, after = torch.empty_like(value), torch.empty_like(memory)
        _launch(
            _forward, key, value, query, key, value, beta, log_gate, memory, read, missing, after
        )  # fmt: skip
        ctx.save_for_backward(query, key, value, beta, log_gate, memory, read, missing, after)
        return read, after

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, beta, log_gate, memory, read, missing, after = ctx.saved_tensors
        dread, dafter = (gradient.contiguous() for gradient in gradients)
        dquery, dkey, dvalue, dbeta, dmemory = map(torch.empty_like, (query, key, value, beta, memory))
        _launch(
            _backward_in_time, key, value,
            query, key, beta, log_gate, missing, dread, dafter, dkey, dvalue, dbeta, dmemory,
        )  # fmt: skip
        _launch(
            _forward_in_time, key, value,
            key, beta, log_gate, memory, missing, dread, dvalue, dquery, dkey,
        )  # fmt: skip
        rates = None
        if ctx.needs_input_grad[4]:
            # ⟨D, S⟩ does not change at a gate, loses v·dv at a step and gains o·do at a read, backwards.
            gained = (read * dread).sum(-1) - (value * dvalue).sum((-2, -1))
            rates = gained.flip(1).cumsum(1).flip(1) + (after * dafter).sum((1, 2))[:, None]
        return dquery, dkey, dvalue, dbeta, rates, dmemory


def delta_loop(
    query: Tensor, key: Tensor, value: Tensor, beta: Tensor, log_gate: Tensor, memory: Tensor
) -> tuple[Tensor, Tensor]:
    """As ``delta_scan.delta_scan``."""
    read, after = _DeltaLoop.apply(query, key, value, beta, log_gate, memory)
    return read, after
