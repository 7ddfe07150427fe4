"""What comes before and after the products of Muon: passes over the matrices of one shape.

Before: reads gradient (2 bytes) and momentum (4), writes momentum (4) and update (2), and normalises the
update (4) when its norm is known. After: reads update (2)
and weight (4), writes weight (4) and its bf16 copy (2), and the average (8) in the steps that need it.
"""

# Bodies under triton.jit are Triton, not Python: they carry no annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

import torch
import triton
from torch import Tensor
from triton import language as tl

_BLOCK = 4096


@triton.jit
def _muon_gather(
    gradient, first, updates, partial, places, scale, row_length, momentum,
    SIZE: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    replicate, matrix = tl.program_id(2), tl.program_id(1)
    number = replicate * tl.num_programs(1) + matrix
    factor = tl.load(scale + replicate)
    here = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = here < SIZE
    start, distance = tl.load(places + 2 * matrix), tl.load(places + 2 * matrix + 1)
    place = replicate.to(tl.int64) * row_length + start + (here // COLUMNS) * distance + here % COLUMNS
    ahead = tl.zeros((BLOCK,), tl.float32)
    if factor >= 0.0:  # frozen: the momentum is not touched, the update is zero
        g = tl.load(gradient + place, mask=inside, other=0.0).to(tl.float32) * factor
        m = tl.load(first + place, mask=inside, other=0.0)
        m += (g - m) * (1.0 - momentum)
        tl.store(first + place, m, mask=inside)
        ahead = g + (m - g) * momentum
    tl.store(updates + number.to(tl.int64) * SIZE + here, ahead, mask=inside)
    tl.store(partial + number * tl.num_programs(0) + tl.program_id(0), tl.sum(ahead * ahead))


@triton.jit
def _muon_apply(
    weight, compute, average, updates, places, scale, rates, row_length, size, decay, keep,
    SIZE: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr,
    AVERAGE: tl.constexpr, SPLIT: tl.constexpr, ALIGNED: tl.constexpr,
):  # fmt: skip
    replicate, matrix = tl.program_id(2), tl.program_id(1)
    if tl.load(scale + replicate) < 0.0:  # frozen: not a byte is touched
        return
    rate = tl.load(rates + replicate)
    number = replicate * tl.num_programs(1) + matrix
    here = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = here < SIZE
    start, distance = tl.load(places + 2 * matrix), tl.load(places + 2 * matrix + 1)
    if ALIGNED:  # wide loads and stores
        start, distance = tl.multiple_of(start, 16), tl.multiple_of(distance, 16)
    place = replicate.to(tl.int64) * row_length + start + (here // COLUMNS) * distance + here % COLUMNS
    u = tl.load(updates + number.to(tl.int64) * SIZE + here, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + place, mask=inside, other=0.0) * (1.0 - rate * decay) - rate * size * u
    tl.store(weight + place, w, mask=inside)
    if SPLIT:
        tl.store(compute + place, w, mask=inside)
    if AVERAGE:
        e = tl.load(average + place, mask=inside, other=0.0)
        tl.store(average + place, e + (w - e) * (1.0 - keep), mask=inside)


@triton.jit
def _muon_multiply(updates, factors, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    number = tl.program_id(1)
    here = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = here < SIZE
    place = updates + number.to(tl.int64) * SIZE + here
    value = tl.load(place, mask=inside, other=0.0).to(tl.float32)
    tl.store(place, value * tl.load(factors + number), mask=inside)


def gather(
    gradient: Tensor, first: Tensor, updates: Tensor, places: Tensor, scale: Tensor, momentum: float
) -> Tensor:
    """As the plain path in ``krohn.training.muon``: fills ``updates`` [R, K, n, m]; squared norms [R, K]."""
    replicates, count, rows, columns = updates.shape
    blocks = triton.cdiv(rows * columns, _BLOCK)
    partial = torch.empty(replicates, count, blocks, dtype=torch.float32, device=updates.device)
    _muon_gather[(blocks, count, replicates)](
        gradient, first, updates, partial, places, scale, first.stride(0), momentum,
        SIZE=rows * columns, COLUMNS=columns, BLOCK=_BLOCK, num_warps=8,
    )  # fmt: skip
    return partial.sum(-1)


def multiply(updates: Tensor, factors: Tensor) -> None:
    """Each matrix of ``updates`` [R, K, n, m] times its factor [R, K], in place."""
    replicates, count, rows, columns = updates.shape
    _muon_multiply[(triton.cdiv(rows * columns, _BLOCK), replicates * count)](
        updates, factors, SIZE=rows * columns, BLOCK=_BLOCK, num_warps=8
    )


def apply(
    weights: tuple[Tensor, Tensor, Tensor | None],
    updates: Tensor,
    places: Tensor,
    scale: Tensor,
    rates: Tensor,
    constants: tuple[float, float, float],
) -> None:
    """As the plain path in ``krohn.training.muon``: moves weight, copy and any average by ``updates``."""
    weight, compute, average = weights
    size, decay, keep = constants
    replicates, count, rows, columns = updates.shape
    aligned = columns % 16 == 0  # then the offsets of matrices are multiples of 16 too
    _muon_apply[(triton.cdiv(rows * columns, _BLOCK), count, replicates)](
        weight, compute, weight if average is None else average, updates, places, scale, rates,
        weight.stride(0), size, decay, keep, SIZE=rows * columns, COLUMNS=columns, BLOCK=_BLOCK,
        AVERAGE=average is not None, SPLIT=compute is not weight, ALIGNED=aligned, num_warps=8,
    )  # fmt: skip
