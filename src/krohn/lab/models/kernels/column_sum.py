"""Second half of a gradient that sums over rows: partial sums, in a fixed order, into up to three places."""

# Bodies under triton.jit are Triton, not Python: they carry no annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

import torch
import triton
from torch import Tensor
from triton import language as tl


@triton.jit
def _column_sum(
    partial, first, second, third, stride, chunks, width, CHUNKS: tl.constexpr, COLUMNS: tl.constexpr
):
    replicate = tl.program_id(0)
    which = tl.program_id(1)
    kinds = tl.num_programs(1)
    chunk = tl.arange(0, CHUNKS)
    column = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    place = ((replicate * chunks + chunk[:, None]) * kinds + which) * width + column[None, :]
    inside = (chunk[:, None] < chunks) & (column[None, :] < width)
    total = tl.sum(tl.load(partial + place, mask=inside, other=0.0), axis=0)
    offset = replicate.to(tl.int64) * stride + column
    if which == 0:
        tl.store(first + offset, total, mask=column < width)
    elif which == 1:
        tl.store(second + offset, total, mask=column < width)
    else:
        tl.store(third + offset, total, mask=column < width)


def column_sum(partial: Tensor, targets: list[Tensor]) -> None:
    """Adds ``partial`` [R, chunks, kinds, width] over the chunks; kind i goes to ``targets[i]``."""
    replicates, chunks, kinds, width = partial.shape
    padded = targets + targets[:1] * (3 - len(targets))
    columns = 64
    _column_sum[(replicates, kinds, triton.cdiv(width, columns))](
        partial,
        *padded,
        targets[0].stride(0),
        chunks,
        width,
        CHUNKS=triton.next_power_of_2(chunks),
        COLUMNS=columns,
    )


def partial_sums(replicates: int, chunks: int, kinds: int, width: int, device: torch.device) -> Tensor:
    """An unwritten buffer for partial sums."""
    return torch.empty(replicates, chunks, kinds, width, dtype=torch.float32, device=device)
