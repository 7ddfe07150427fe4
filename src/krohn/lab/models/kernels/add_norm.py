"""Bias, dropout, residual and LayerNorm in one pass over the rows, forward and backward.

Bytes per row and direction: two rows read and two written forward (x, y -> x, h), three read and one written
backward; everything else stays in registers.
"""

# Bodies under triton.jit are Triton, not Python: they carry no annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd import Function
from triton import language as tl

from krohn.lab.models.kernels import draws
from krohn.lab.models.kernels.column_sum import column_sum, partial_sums
from krohn.lab.models.kernels.plain import Dropout

_EPSILON = tl.constexpr(1e-5)
_ROWS = 1  # per warp and program
_CHUNKS = 100  # partial sums per replicate in the backward pass


@triton.jit
def _add_norm_forward(
    x, y, bias, gain, shift, out, h, stats, keys, rows, stride, threshold, scale,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr, ADD: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    replicate = tl.program_id(0)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    width = column < WIDTH
    inside = (row[:, None] < rows) & width[None, :]
    local = row[:, None] * WIDTH + column[None, :]
    place = replicate.to(tl.int64) * rows * WIDTH + local
    parameter = replicate.to(tl.int64) * stride + column
    value = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    if ADD:
        branch = tl.load(y + place, mask=inside, other=0.0).to(tl.float32)
        branch += tl.load(bias + parameter, mask=width, other=0.0).to(tl.float32)[None, :]
        if DROP:
            kept = draws.kept(draws.counter(keys, replicate) + draws.strides(local + 1), threshold)
            branch = tl.where(kept, branch * scale, 0.0)
        value = (value + branch).to(tl.bfloat16).to(tl.float32)
        tl.store(out + place, value, mask=inside)
    mean = tl.sum(value, axis=1) / WIDTH
    centred = tl.where(width[None, :], value - mean[:, None], 0.0)
    inverse = tl.rsqrt(tl.sum(centred * centred, axis=1) / WIDTH + _EPSILON)
    scaled = (
        tl.load(gain + parameter, mask=width, other=0.0).to(tl.float32)[None, :] * centred * inverse[:, None]
    )
    result = scaled + tl.load(shift + parameter, mask=width, other=0.0).to(tl.float32)[None, :]
    tl.store(h + place, result, mask=inside)
    stat = (replicate * rows + row) * 2
    tl.store(stats + stat, mean, mask=row < rows)
    tl.store(stats + stat + 1, inverse, mask=row < rows)


@triton.jit
def _add_norm_backward(
    dh, dresidual, x, gain, stats, dx, dy, partial, keys, rows, per_chunk, stride, threshold, scale,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
    RESIDUAL: tl.constexpr, ADD: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    replicate = tl.program_id(0)
    chunk = tl.program_id(1)
    chunks = tl.num_programs(1)
    column = tl.arange(0, BLOCK)
    width = column < WIDTH
    weight = tl.load(gain + replicate.to(tl.int64) * stride + column, mask=width, other=0.0).to(tl.float32)[
        None, :
    ]
    dgain = tl.zeros([ROWS, BLOCK], tl.float32)
    dshift = tl.zeros([ROWS, BLOCK], tl.float32)
    dbias = tl.zeros([ROWS, BLOCK], tl.float32)
    last = tl.minimum((chunk + 1) * per_chunk, rows)
    # Rows are reduced only at the end: a reduction in the loop would synchronise the warps each time.
    for start in range(chunk * per_chunk, last, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row[:, None] < last) & width[None, :]
        local = row[:, None] * WIDTH + column[None, :]
        place = replicate.to(tl.int64) * rows * WIDTH + local
        stat = (replicate * rows + row) * 2
        mean = tl.load(stats + stat, mask=row < last, other=0.0)
        inverse = tl.load(stats + stat + 1, mask=row < last, other=0.0)
        gradient = tl.load(dh + place, mask=inside, other=0.0).to(tl.float32)
        value = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
        normal = tl.where(inside, (value - mean[:, None]) * inverse[:, None], 0.0)
        dgain += gradient * normal
        dshift += gradient
        inner = gradient * weight
        along = tl.sum(inner * normal, axis=1)[:, None] / WIDTH
        result = (inner - tl.sum(inner, axis=1)[:, None] / WIDTH - normal * along) * inverse[:, None]
        if RESIDUAL:
            result += tl.load(dresidual + place, mask=inside, other=0.0).to(tl.float32)
        tl.store(dx + place, result, mask=inside)
        if ADD:
            if DROP:
                kept = draws.kept(draws.counter(keys, replicate) + draws.strides(local + 1), threshold)
                result = tl.where(kept, result * scale, 0.0)
                tl.store(dy + place, result, mask=inside)
            dbias += tl.where(inside, result, 0.0)
    kinds = 3 if ADD else 2
    base = partial + ((replicate * chunks + chunk) * kinds) * WIDTH + column
    tl.store(base, tl.sum(dgain, axis=0), mask=width)
    tl.store(base + WIDTH, tl.sum(dshift, axis=0), mask=width)
    if ADD:
        tl.store(base + 2 * WIDTH, tl.sum(dbias, axis=0), mask=width)


def _constants(x: Tensor, dropout: Dropout | None) -> dict[str, Any]:
    rate = 0.0 if dropout is None else dropout.rate
    width = x.shape[2]
    return {
        "threshold": draws.threshold(rate),
        "scale": 1.0 / (1.0 - rate),
        "WIDTH": width,
        "BLOCK": triton.next_power_of_2(width),
        "ROWS": _ROWS,
        "DROP": dropout is not None,
        "num_warps": _ROWS,
    }


def _run_forward(
    x: Tensor, y: Tensor | None, bias: Tensor | None, gain: Tensor, shift: Tensor, dropout: Dropout | None
) -> tuple[Tensor, Tensor, Tensor]:
    replicates, rows, _ = x.shape
    out = x if y is None else torch.empty_like(x)
    h = torch.empty_like(x)
    stats = torch.empty(replicates, rows, 2, dtype=torch.float32, device=x.device)
    _add_norm_forward[(replicates, triton.cdiv(rows, _ROWS))](
        x, x if y is None else y, gain if bias is None else bias, gain, shift, out, h, stats,
        stats if dropout is None else dropout.keys, rows, gain.stride(0),
        ADD=y is not None, **_constants(x, dropout),
    )  # fmt: skip
    return out, h, stats


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
        out, h, stats = _run_forward(x, y, bias, gain, shift, dropout)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(out, stats)
        ctx.parameters, ctx.dropout = (bias, gain, shift), dropout
        return out.view_as(out) if y is None else out, h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        dresidual, dh = gradients
        assert dh is not None
        x, stats = ctx.saved_tensors
        bias, gain, shift = ctx.parameters
        replicates, rows, width = x.shape
        add, drop = bias is not None, ctx.dropout is not None
        dx = torch.empty_like(x)
        dy = torch.empty_like(x) if add and drop else dx
        chunks = min(_CHUNKS, triton.cdiv(rows, _ROWS))
        partial = partial_sums(replicates, chunks, 3 if add else 2, width, x.device)
        _add_norm_backward[(replicates, chunks)](
            dh, dx if dresidual is None else dresidual, x, gain, stats, dx, dy, partial,
            ctx.dropout.keys if drop else stats, rows, triton.cdiv(rows, chunks), gain.stride(0),
            RESIDUAL=dresidual is not None, ADD=add, **_constants(x, ctx.dropout),
        )  # fmt: skip
        column_sum(partial, [gain.grad, shift.grad, *([bias.grad] if add else [])])
        return dx, dy if add else None, None, None, None, None


def add_norm(
    x: Tensor, y: Tensor | None, bias: Tensor | None, gain: Tensor, shift: Tensor, dropout: Dropout | None
) -> tuple[Tensor, Tensor]:
    """``plain.add_norm`` as one fused kernel."""
    if not torch.is_grad_enabled():
        return _run_forward(x, y, bias, gain, shift, dropout)[:2]
    result: tuple[Tensor, Tensor] = _AddNorm.apply(x, y, bias, gain, shift, dropout)
    return result
