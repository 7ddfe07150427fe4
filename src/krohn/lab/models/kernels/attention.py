"""Causal attention in tiles of 64 positions, optimised for sequences of one or two tiles.

Forward, one program per block of rows; backward, one per block of keys (dk, dv) and one per block of rows
(dq). Many small programs hide latency, and no atomic additions are needed. The bias of qkv is added on load,
its gradient summed on store. The dropout mask is drawn once, one bit per weight: when each kernel drew it
again, a layer took 720 µs instead of 420 (250 without dropout).
"""

# Bodies under triton.jit are Triton, not Python: they carry no annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd import Function
from triton import language as tl

from krohn.lab.models.kernels import draws, plain
from krohn.lab.models.kernels.column_sum import column_sum, partial_sums
from krohn.lab.models.kernels.plain import Heads

# Launch options, the fastest of those tried on an H200 at T = 100, head size 64.
_FORWARD = {"num_warps": 4, "num_stages": 1}
_BACKWARD = {"num_warps": 4, "num_stages": 1}
_REGISTERS = {False: 168, True: 255}  # of the backward pass, without and with dropout


@triton.jit
def _rows(base, bias, row, column, length, WIDTH: tl.constexpr):
    """A tile of q, k or v with its bias, in bf16; rows past the end hold the bias alone."""
    shift = tl.load(bias + column).to(tl.float32)[None, :]
    place = row[:, None] * (3 * WIDTH) + column[None, :]
    value = tl.load(base + place, mask=row[:, None] < length, other=0.0).to(tl.float32)
    return (value + shift).to(tl.bfloat16)


@triton.jit
def _kept(mask, row, key, block, length, WORDS: tl.constexpr, BLOCK: tl.constexpr):
    """Dropout's keep-mask for some rows and the keys of one block; rows and keys broadcast."""
    word = tl.load(mask + row * WORDS + block * BLOCK // 64, mask=row < length, other=0)
    return ((word >> (key % 64).to(tl.int64)) & 1) != 0


@triton.jit
def _attention_forward(
    qkv, bias, out, logsum, slopes, mask, batch, length, stride, scale, share,
    HEADS: tl.constexpr, HEAD: tl.constexpr, BLOCK: tl.constexpr, RECENT: tl.constexpr, WORDS: tl.constexpr,
):  # fmt: skip
    WIDTH: tl.constexpr = HEADS * HEAD
    block = tl.program_id(0)
    head = tl.program_id(1)
    sequence = tl.program_id(2)
    row = block * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, HEAD)
    base = qkv + sequence.to(tl.int64) * length * 3 * WIDTH + head * HEAD
    shift = bias + (sequence // batch).to(tl.int64) * stride + head * HEAD
    q = _rows(base, shift, row, column, length, WIDTH)
    mask += (sequence.to(tl.int64) * HEADS + head) * length * WORDS
    highest = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    mixed = tl.zeros([BLOCK, HEAD], tl.float32)
    for other in range(0, block + 1):
        key = other * BLOCK + tl.arange(0, BLOCK)
        k = _rows(base + WIDTH, shift + WIDTH, key, column, length, WIDTH)
        v = _rows(base + 2 * WIDTH, shift + 2 * WIDTH, key, column, length, WIDTH)
        scores = tl.dot(q, tl.trans(k)) * scale
        distance = row[:, None] - key[None, :]
        if RECENT:
            scores -= tl.load(slopes + head) * distance
        scores = tl.where(distance >= 0, scores, float("-inf"))
        peak = tl.maximum(highest, tl.max(scores, axis=1))
        weights = tl.exp(scores - peak[:, None])
        fade = tl.exp(highest - peak)
        total = total * fade + tl.sum(weights, axis=1)
        if WORDS > 0:
            kept = _kept(mask, row[:, None], key[None, :], other, length, WORDS, BLOCK)
            weights = tl.where(kept, weights, 0.0)
        mixed = mixed * fade[:, None] + tl.dot(weights.to(tl.bfloat16), v)
        highest = peak
    inside = row < length
    place = out + sequence.to(tl.int64) * length * WIDTH + head * HEAD
    tl.store(
        place + row[:, None] * WIDTH + column[None, :], mixed / (total * share)[:, None], mask=inside[:, None]
    )
    tl.store(logsum + (sequence * HEADS + head) * length + row, highest + tl.log(total), mask=inside)


@triton.jit
def _query_side(
    base, shift, out, dout, logsum, row, column, length, share, WIDTH: tl.constexpr
):  # fmt: skip
    """Queries, output gradient, log-sum and ⟨dout, out⟩ · share of a block of rows."""
    inside = row < length
    place = row[:, None] * WIDTH + column[None, :]
    gradient = tl.load(dout + place, mask=inside[:, None], other=0.0)
    value = tl.load(out + place, mask=inside[:, None], other=0.0)
    inner = tl.sum(gradient.to(tl.float32) * value.to(tl.float32), axis=1) * share
    # Rows past the end get weight exp(−∞) = 0, so they add nothing to any sum.
    normaliser = tl.load(logsum + row, mask=inside, other=float("inf"))
    return _rows(base, shift, row, column, length, WIDTH), gradient, normaliser, inner


@triton.jit
def _key_side(
    base, shift, dbase, sums, out, dout, logsum, slope, mask, block, length, scale, share,
    WIDTH: tl.constexpr, HEAD: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr, RECENT: tl.constexpr,
    WORDS: tl.constexpr,
):  # fmt: skip
    """Gradients of the keys and values of one block, from all rows at or below it.

    Scores are computed transposed, [keys, rows]: both products then take them from registers as they are.
    """
    column = tl.arange(0, HEAD)
    key = block * BLOCK + tl.arange(0, BLOCK)
    k = _rows(base + WIDTH, shift + WIDTH, key, column, length, WIDTH)
    v = _rows(base + 2 * WIDTH, shift + 2 * WIDTH, key, column, length, WIDTH)
    dk = tl.zeros([BLOCK, HEAD], tl.float32)
    dv = tl.zeros([BLOCK, HEAD], tl.float32)
    for other in range(block, BLOCKS):
        row = other * BLOCK + tl.arange(0, BLOCK)
        q, gradient, normaliser, inner = _query_side(
            base, shift, out, dout, logsum, row, column, length, share, WIDTH
        )
        scores = tl.dot(k, tl.trans(q)) * scale
        distance = row[None, :] - key[:, None]
        if RECENT:
            scores -= slope * distance
        weights = tl.where(distance >= 0, tl.exp(scores - normaliser[None, :]), 0.0)
        dweights = tl.dot(v, tl.trans(gradient))
        if WORDS > 0:
            kept = _kept(mask, row[None, :], key[:, None], block, length, WORDS, BLOCK)
            dv += tl.dot(tl.where(kept, weights, 0.0).to(tl.bfloat16), gradient)
            dweights = tl.where(kept, dweights, 0.0)
        else:
            dv += tl.dot(weights.to(tl.bfloat16), gradient)
        dscores = weights * (dweights - inner[None, :]) * (scale * (1.0 / share))
        dk += tl.dot(dscores.to(tl.bfloat16), q)
    _put(dbase + WIDTH, sums + WIDTH, key, column, length, dk, WIDTH)
    _put(dbase + 2 * WIDTH, sums + 2 * WIDTH, key, column, length, dv * (1.0 / share), WIDTH)


@triton.jit
def _row_side(
    base, shift, dbase, sums, out, dout, logsum, slope, mask, block, length, scale, share,
    WIDTH: tl.constexpr, HEAD: tl.constexpr, BLOCK: tl.constexpr, RECENT: tl.constexpr, WORDS: tl.constexpr,
):  # fmt: skip
    """Gradient of the queries of one block, from all keys at or before it."""
    column = tl.arange(0, HEAD)
    row = block * BLOCK + tl.arange(0, BLOCK)
    q, gradient, normaliser, inner = _query_side(
        base, shift, out, dout, logsum, row, column, length, share, WIDTH
    )
    dq = tl.zeros([BLOCK, HEAD], tl.float32)
    for other in range(0, block + 1):
        key = other * BLOCK + tl.arange(0, BLOCK)
        k = _rows(base + WIDTH, shift + WIDTH, key, column, length, WIDTH)
        v = _rows(base + 2 * WIDTH, shift + 2 * WIDTH, key, column, length, WIDTH)
        scores = tl.dot(q, tl.trans(k)) * scale
        distance = row[:, None] - key[None, :]
        if RECENT:
            scores -= slope * distance
        weights = tl.where(distance >= 0, tl.exp(scores - normaliser[:, None]), 0.0)
        dweights = tl.dot(gradient, tl.trans(v))
        if WORDS > 0:
            kept = _kept(mask, row[:, None], key[None, :], other, length, WORDS, BLOCK)
            dweights = tl.where(kept, dweights, 0.0)
        dscores = weights * (dweights - inner[:, None]) * (scale * (1.0 / share))
        dq += tl.dot(dscores.to(tl.bfloat16), k)
    _put(dbase, sums, row, column, length, dq, WIDTH)


@triton.jit
def _put(dqkv, total, row, column, length, value, WIDTH: tl.constexpr):
    tl.store(dqkv + row[:, None] * (3 * WIDTH) + column[None, :], value, mask=row[:, None] < length)
    tl.store(total + column, tl.sum(value, axis=0))


@triton.jit
def _attention_backward(
    dout, out, logsum, qkv, bias, dqkv, partial, slopes, mask, batch, length, stride, scale, share,
    HEADS: tl.constexpr, HEAD: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr, RECENT: tl.constexpr,
    WORDS: tl.constexpr,
):  # fmt: skip
    WIDTH: tl.constexpr = HEADS * HEAD
    part = tl.program_id(0)
    block = part % BLOCKS
    head = tl.program_id(1)
    sequence = tl.program_id(2)
    start = sequence.to(tl.int64) * length * 3 * WIDTH + head * HEAD
    shift = bias + (sequence // batch).to(tl.int64) * stride + head * HEAD
    near = sequence.to(tl.int64) * length * WIDTH + head * HEAD
    line = logsum + (sequence * HEADS + head) * length
    sums = partial + (sequence * BLOCKS + block) * (3 * WIDTH) + head * HEAD
    slope = tl.load(slopes + head).to(tl.float32)
    mask += (sequence.to(tl.int64) * HEADS + head) * length * WORDS
    if part < BLOCKS:
        _key_side(
            qkv + start, shift, dqkv + start, sums, out + near, dout + near, line, slope, mask, block,
            length, scale, share, WIDTH, HEAD, BLOCK, BLOCKS, RECENT, WORDS,
        )  # fmt: skip
    else:
        _row_side(
            qkv + start, shift, dqkv + start, sums, out + near, dout + near, line, slope, mask, block,
            length, scale, share, WIDTH, HEAD, BLOCK, RECENT, WORDS,
        )  # fmt: skip


def _constants(width: int, heads: Heads) -> dict[str, Any]:
    head_dim = width // heads.count
    rate = 0.0 if heads.dropout is None else heads.dropout.rate
    return {
        "scale": plain.head_scale(head_dim),
        "share": 1.0 - rate,
        "HEADS": heads.count,
        "HEAD": head_dim,
        "BLOCK": 64 if heads.length > 32 else 32,
        "RECENT": heads.slopes is not None,
        "WORDS": 0 if heads.dropout is None else draws.words(heads.length),
    }


def _run_forward(qkv: Tensor, bias: Tensor, heads: Heads) -> tuple[Tensor, Tensor, Tensor]:
    replicates, rows, width = qkv.shape
    out = torch.empty(replicates, rows, width // 3, dtype=qkv.dtype, device=qkv.device)
    logsum = torch.empty(replicates, heads.count, rows, dtype=torch.float32, device=qkv.device)
    slopes = bias if heads.slopes is None else heads.slopes
    mask = logsum
    if heads.dropout is not None:
        mask = draws.mask(heads.dropout, heads.count * rows, heads.length)
    constants = _constants(width // 3, heads)
    blocks = triton.cdiv(heads.length, constants["BLOCK"])
    _attention_forward[(blocks, heads.count, replicates * heads.batch)](
        qkv, bias, out, logsum, slopes, mask, heads.batch, heads.length, bias.stride(0),
        **constants, **_FORWARD,
    )  # fmt: skip
    return out, logsum, mask


class _Attention(Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, bias: Tensor, heads: Heads) -> Tensor:
        out, logsum, mask = _run_forward(qkv, bias, heads)
        ctx.save_for_backward(qkv, out, logsum, mask)
        ctx.bias, ctx.heads = bias, heads
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        qkv, out, logsum, mask = ctx.saved_tensors
        (dout,) = gradients
        bias, heads = ctx.bias, ctx.heads
        replicates, _, width = qkv.shape
        constants = _constants(width // 3, heads)
        blocks = triton.cdiv(heads.length, constants["BLOCK"])
        dqkv = torch.empty_like(qkv)
        partial = partial_sums(replicates, heads.batch * blocks, 1, width, qkv.device)
        slopes = bias if heads.slopes is None else heads.slopes
        _attention_backward[(2 * blocks, heads.count, replicates * heads.batch)](
            dout, out, logsum, qkv, bias, dqkv, partial, slopes, mask, heads.batch, heads.length,
            bias.stride(0), BLOCKS=blocks, **constants, **_BACKWARD,
            maxnreg=_REGISTERS[heads.dropout is not None],
        )  # fmt: skip
        column_sum(partial, [bias.grad])
        return dqkv, None, None


class _AddBias(Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, bias: Tensor) -> Tensor:
        ctx.bias = bias
        return qkv + bias[:, None]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        ctx.bias.grad.copy_(gradients[0].sum(1, dtype=torch.float32))
        return gradients[0], None


def attention(qkv: Tensor, bias: Tensor, heads: Heads) -> Tensor:
    """As ``plain.attention``, which is the fallback for head sizes that fit no tile."""
    head_dim = qkv.shape[2] // 3 // heads.count
    if head_dim not in (16, 32, 64, 128):
        shifted: Tensor = _AddBias.apply(qkv, bias)
        return plain.attention(shifted, None, heads)
    if not torch.is_grad_enabled():
        return _run_forward(qkv, bias, heads)[0]
    mixed: Tensor = _Attention.apply(qkv, bias, heads)
    return mixed
