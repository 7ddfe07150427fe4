"""The products of Muon: x ← (a + b·s + c·s²)·x with s = x·xᵀ, for many matrices at once.

s and its polynomial are symmetric, so only the tiles on and below the diagonal are computed, and each is
stored at both of its places: 10 of 16 tiles for a matrix of 512 × 512. The last product is cuBLAS's. Sums are
taken and rounded in the order of torch's products, so that the bits are the same.
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
