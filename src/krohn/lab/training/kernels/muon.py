"""Muon on a GPU: its products, and the passes over the matrices of one shape before and after them.

Products: x ← (a + b·s + c·s²)·x with s = x·xᵀ, for many matrices at once. s and its polynomial are symmetric,
so only the tiles on and below the diagonal are computed, and each is stored at both of its places: 10 of 16
tiles for a matrix of 512 × 512. The last product is cuBLAS's. Sums are taken and rounded in the order of
torch's products, so that the bits are the same.

Before: reads gradient (2 bytes) and momentum (4), writes momentum (4) and update (2), and normalises the
update (4) when its norm is known. After: reads update (2) and weight (4), writes weight (4) and its bf16 copy
(2), and the average (8) in the steps that need it.
"""

# Bodies under triton.jit are Triton, not Python: they carry no annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

import torch
import triton
from torch import Tensor
from triton import language as tl

TILE = 128
_INNER = 64
# Launch options, the fastest of those tried on an H200 for matrices of 512 × 512.
_PRODUCT = {"num_warps": 4, "num_stages": 2, "maxnreg": 168}
_POLYNOMIAL = {"num_warps": 8, "num_stages": 3, "maxnreg": 128}


@triton.jit
def _square(
    x, out, matrix_stride, row_stride, column_stride, length, square, linear, constant,
    SIZE: tl.constexpr, ADD: tl.constexpr, TILE: tl.constexpr, INNER: tl.constexpr,
):  # fmt: skip
    """x·xᵀ [SIZE, SIZE]; if ADD, the polynomial square·x·xᵀ + linear·x + constant·1 of a symmetric x."""
    number, matrix = tl.program_id(0), tl.program_id(1).to(tl.int64)
    i = ((tl.sqrt(8.0 * number + 1.0) - 1.0) * 0.5 + 1e-3).to(tl.int32)
    j = number - i * (i + 1) // 2
    row, column = i * TILE + tl.arange(0, TILE), j * TILE + tl.arange(0, TILE)
    inner = tl.arange(0, INNER)
    base = x + matrix * matrix_stride
    left = base + row[:, None] * row_stride + inner[None, :] * column_stride
    right = base + column[:, None] * row_stride + inner[None, :] * column_stride
    total = tl.zeros([TILE, TILE], tl.float32)
    for _ in range(0, length, INNER):
        total = tl.dot(tl.load(left), tl.trans(tl.load(right)), total)
        left += INNER * column_stride
        right += INNER * column_stride
    if ADD:
        own = tl.load(base + row[:, None] * row_stride + column[None, :] * column_stride).to(tl.float32)
        total = tl.fma(total, square, own * linear)
    value = total.to(tl.bfloat16)
    if ADD:  # noqa: SIM102 (a constant of the compiler, unlike the next)
        if i == j:
            shifted = (value.to(tl.float32) + constant).to(tl.bfloat16)
            value = tl.where(row[:, None] == column[None, :], shifted, value)
    target = out + matrix * (SIZE * SIZE)
    tl.store(target + row[:, None] * SIZE + column[None, :], value)
    if i != j:
        tl.store(target + column[:, None] * SIZE + row[None, :], tl.trans(value))


def fits(batch: Tensor) -> bool:
    """True if the kernels can take matrices [B, n, m] of this kind: bf16, of whole tiles."""
    return batch.dtype == torch.bfloat16 and all(size % TILE == 0 for size in batch.shape[1:])


def steps(batch: Tensor, polynomial: tuple[float, float, float], count: int) -> None:
    """``count`` steps on each matrix [B, n, m], n ≤ m, in place; bitwise equal to torch's products."""
    size, (constant, linear, square) = batch.shape[1], polynomial
    product, factor = (batch.new_empty(len(batch), size, size) for _ in range(2))
    spare = [torch.empty_like(batch) for _ in range(min(2, count - 1))]
    source = batch
    for step in range(count):
        target = batch if step == count - 1 else spare[step % 2]
        _launch(source, product, None, _PRODUCT)
        _launch(product, factor, (square, linear, constant), _POLYNOMIAL)
        torch.bmm(factor, source, out=target)
        source = target


def _launch(
    x: Tensor, out: Tensor, polynomial: tuple[float, float, float] | None, options: dict[str, int]
) -> None:
    side = x.shape[1] // TILE
    _square[(side * (side + 1) // 2, len(x))](
        x, out, *x.stride(), x.shape[2], *(polynomial or (1.0, 0.0, 0.0)),
        SIZE=x.shape[1], ADD=polynomial is not None, TILE=TILE, INNER=_INNER, **options,
    )  # fmt: skip


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
    """As the plain path in ``optimizers``: fills ``updates`` [R, K, n, m]; squared norms [R, K]."""
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
    """As the plain path in ``optimizers``: moves weight, copy and any average by ``updates``."""
    weight, compute, average = weights
    size, decay, keep = constants
    replicates, count, rows, columns = updates.shape
    aligned = columns % 16 == 0  # then the offsets of matrices are multiples of 16 too
    _muon_apply[(triton.cdiv(rows * columns, _BLOCK), count, replicates)](
        weight, compute, weight if average is None else average, updates, places, scale, rates,
        weight.stride(0), size, decay, keep, SIZE=rows * columns, COLUMNS=columns, BLOCK=_BLOCK,
        AVERAGE=average is not None, SPLIT=compute is not weight, ALIGNED=aligned, num_warps=8,
    )  # fmt: skip
