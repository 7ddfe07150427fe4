"""A diagonal recurrence on a GPU: each program runs a few channels of one word from letter to letter."""

# Bodies under triton.jit are Triton, not Python: they carry no annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

import torch
import triton
from torch import Tensor
from triton import language as tl

_CHANNELS = 32  # one warp


@triton.jit
def _real(gate, write, first, out, length, width, BACK: tl.constexpr, BLOCK: tl.constexpr):
    own = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < width
    h = tl.load(first + own * width + channel, mask=inside, other=0.0)
    for step in range(length):
        t = length - 1 - step if BACK else step
        place = (own * length + t) * width + channel
        if BACK:  # the gate of the next letter; after the last one h is zero
            a = tl.load(gate + place + width, mask=inside & (step > 0), other=0.0)
        else:
            a = tl.load(gate + place, mask=inside, other=0.0)
        h = a * h + tl.load(write + place, mask=inside, other=0.0)
        tl.store(out + place, h, mask=inside)


@triton.jit
def _complex(gate, write, first, out, length, width, BACK: tl.constexpr, BLOCK: tl.constexpr):
    own = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < width
    start = 2 * (own * width + channel)
    x = tl.load(first + start, mask=inside, other=0.0)
    y = tl.load(first + start + 1, mask=inside, other=0.0)
    for step in range(length):
        t = length - 1 - step if BACK else step
        place = 2 * ((own * length + t) * width + channel)
        if BACK:  # the conjugate gate of the next letter
            a = tl.load(gate + place + 2 * width, mask=inside & (step > 0), other=0.0)
            b = -tl.load(gate + place + 2 * width + 1, mask=inside & (step > 0), other=0.0)
        else:
            a = tl.load(gate + place, mask=inside, other=0.0)
            b = tl.load(gate + place + 1, mask=inside, other=0.0)
        real = a * x - b * y + tl.load(write + place, mask=inside, other=0.0)
        y = a * y + b * x + tl.load(write + place + 1, mask=inside, other=0.0)
        x = real
        tl.store(out + place, x, mask=inside)
        tl.store(out + place + 1, y, mask=inside)


def states_in_order(gate: Tensor, write: Tensor, first: Tensor) -> Tensor:
    """h_t = gate_t·h_(t−1) + write_t for [..., T, d], from ``first`` [..., d]."""
    return _run(gate, write, first, back=False)


def flow_in_reverse(gate: Tensor, gradient: Tensor) -> Tensor:
    """f_t = gradient_t + conj(gate_(t+1))·f_(t+1): the gradient of what is written at t."""
    return _run(gate, gradient, torch.zeros_like(gate[..., 0, :]), back=True)


def _run(gate: Tensor, write: Tensor, first: Tensor, *, back: bool) -> Tensor:
    gate, write, first = (part.resolve_conj().contiguous() for part in (gate, write, first))
    out = torch.empty_like(write)
    length, width = gate.shape[-2:]
    parts = gate, write, first, out
    flat = [torch.view_as_real(part) for part in parts] if gate.is_complex() else list(parts)
    kernel = _complex if gate.is_complex() else _real
    words = first.numel() // width
    kernel[(words, triton.cdiv(width, _CHANNELS))](
        *flat, length, width, BACK=back, BLOCK=_CHANNELS, num_warps=1
    )  # fmt: skip
    return out
