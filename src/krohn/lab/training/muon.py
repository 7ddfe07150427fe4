"""Muon: matrices of the blocks move by orthogonalised momentum, everything else by AdamW.

A matrix's momentum U Σ Vᵀ is replaced by about U Vᵀ, by five steps of a polynomial in its singular values
(Jordan et al., 2024), so that all directions of a matrix move alike. The update is 0.2·√max(n, m) times that,
which has about the size of AdamW's, so that both take the same learning rates (Liu et al., 2025).

The matrices of one shape, of all layers and of several replicates, are one batch. A matrix of n × n costs
5·3·2·n³ operations a step, a quarter less where symmetry is used: 5.8 TFLOP for 16 layers of width 512 and 20
replicates, 7.3 ms at 790 TFLOP/s.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import cycle, pairwise
from math import sqrt

import torch
from torch import Tensor

from krohn.lab.models.parameters import ParameterLayout
from krohn.lab.training.adamw import AdamW
from krohn.lab.training.config import OptimizerConfig
from krohn.lab.training.state import TrainState

STEPS = 5
# x ← a·x + b·x³ + c·x⁵ takes every singular value between 0 and 1 near 1, the small ones fast.
POLYNOMIAL = (3.4445, -4.7750, 2.0315)
SMALLEST_NORM = 1e-7
# Root mean square of AdamW's updates, as measured in practice: the 0.2 of 0.2·√max(n, m).
SIZE_OF_ADAMW = 0.2
# Approximate number of elements in a batched product, 192 matrices of 512 × 512; each batch is processed in
# one lane.
TOGETHER = 192 * 512**2
# Concurrent lanes on a GPU: while one multiplies, another moves memory (results/training-speed.md).
LANES = 2


@dataclass(frozen=True)
class MatrixBatch:
    """The matrices of one shape.

    Attributes:
        rows: of each matrix.
        columns: of each matrix.
        places: for each matrix its first element in a row of the flat buffer, and its row stride.
    """

    rows: int
    columns: int
    places: tuple[tuple[int, int], ...]

    @property
    def size_of_update(self) -> float:
        """Scale factor for an orthogonal update of this shape."""
        return SIZE_OF_ADAMW * sqrt(max(self.rows, self.columns))

    def views(self, flat: Tensor) -> Iterator[Tensor]:
        """Each matrix of all replicates [R, rows, columns] in the buffer ``flat`` [R, P]."""
        for start, distance in self.places:
            size = (len(flat), self.rows, self.columns)
            yield flat.as_strided(size, (flat.stride(0), distance, 1), flat.storage_offset() + start)


def batches(layout: ParameterLayout) -> list[MatrixBatch]:
    """The block matrices of a layout by their shapes."""
    result: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for parameter, offset in zip(layout.parameters, layout.offsets, strict=True):
        if parameter.matrices:
            rows, width = parameter.shape
            columns = width // parameter.matrices
            places = ((offset + index * columns, width) for index in range(parameter.matrices))
            result.setdefault((rows, columns), []).extend(places)
    return [MatrixBatch(*shape, tuple(places)) for shape, places in result.items()]


def others(layout: ParameterLayout) -> list[tuple[int, int]]:
    """The columns of the flat buffer that hold no block matrix, as few ranges [begin, end)."""
    ranges, begin = [], 0
    for parameter, offset in zip(layout.parameters, layout.offsets, strict=True):
        if parameter.matrices:
            ranges.append((begin, offset))
            begin = offset + parameter.size
    return [(first, end) for first, end in (*ranges, (begin, layout.size)) if first < end]


class Muon(AdamW):
    """As ``torch.optim.Muon`` for each block matrix of each replicate, the first beta being its momentum."""

    def __init__(
        self, config: OptimizerConfig, state: TrainState, table_length: int, layout: ParameterLayout
    ) -> None:
        super().__init__(config, state, table_length)
        self._batches = [
            _InMemory(batch, state, rows)
            for batch in batches(layout)
            for rows in shares(len(state.weight), len(batch.places) * batch.rows * batch.columns)
        ]
        self._others = [state.part(slice(None), slice(*ends)) for ends in others(layout)]
        self._lanes = _Lanes(state.weight.device)

    def update(self, scale: Tensor, *, average: bool) -> None:
        """See ``AdamW.update``."""
        rates, config = self.rates.index_select(0, self.position)[0, :, 2].contiguous(), self.config
        with self._lanes as lanes:
            for batch, lane in zip(self._batches, cycle(lanes), strict=False):
                with lane():
                    batch.gather(scale, config.betas[0])
                    orthogonalize(batch.updates.flatten(0, 1))
                    batch.apply(scale, rates, config.weight_decay, config.ema if average else None)
            for part in self._others:
                self.update_columns(part, scale, average=average)


def shares(replicates: int, elements: int) -> list[slice]:
    """Slices of the replicates, each with up to about ``TOGETHER`` elements, equally many for every lane."""
    rounds = -(-replicates * elements // (TOGETHER * LANES))
    count = min(replicates, LANES * rounds)
    ends = [replicates * index // count for index in range(count + 1)]
    return [slice(*pair) for pair in pairwise(ends)]


class _Lanes:
    """Side streams on a GPU; the current stream waits for them at the end. None on other devices."""

    def __init__(self, device: torch.device) -> None:
        count = LANES if device.type == "cuda" else 0
        self._streams = [torch.cuda.Stream(device) for _ in range(count)]  # type: ignore[no-untyped-call]

    def __enter__(self) -> list[Callable[[], AbstractContextManager[object]]]:
        for stream in self._streams:
            stream.wait_stream(torch.cuda.current_stream())
        return [partial(torch.cuda.stream, stream) for stream in self._streams] or [nullcontext]

    def __exit__(self, *raised: object) -> None:
        for stream in self._streams:
            torch.cuda.current_stream().wait_stream(stream)


def orthogonalize(batch: Tensor) -> None:
    """Five steps of Newton and Schulz on each matrix [B, n, m] of norm at most 1, in place."""
    x = target = batch.mT if batch.shape[1] > batch.shape[2] else batch
    if batch.is_cuda:
        from krohn.lab.training.kernels import muon  # Triton exists only beside CUDA builds of torch

        if muon.fits(batch):
            muon.steps(target, POLYNOMIAL, STEPS)
            return
    a, b, c = POLYNOMIAL
    for step in range(STEPS):
        square = torch.bmm(x, x.mT)
        factor = torch.baddbmm(square, square, square, beta=b, alpha=c)
        factor.diagonal(dim1=1, dim2=2).add_(a)  # ``a·x + factor·x`` would copy x first
        x = torch.bmm(factor, x, out=target if step == STEPS - 1 else None)


class _InMemory:
    """A batch of some replicates, with the buffer of its updates [R, K, rows, columns].

    The buffer has the precision of the products.
    """

    def __init__(self, batch: MatrixBatch, state: TrainState, rows: slice) -> None:
        self.batch, self.state, self._rows = batch, state.part(rows), rows
        shape = (len(self.state.weight), len(batch.places), batch.rows, batch.columns)
        self.updates = torch.zeros(shape, dtype=state.compute.dtype, device=state.weight.device)
        self._places = torch.tensor(batch.places, dtype=torch.int64, device=state.weight.device)

    def gather(self, scale: Tensor, momentum: float) -> None:
        """Adds the gradient to the momentum; writes the Nesterov look-ahead, normalised, to ``updates``."""
        state, scale = self.state, scale[self._rows]
        if state.weight.is_cuda:
            from krohn.lab.training.kernels import muon  # Triton exists only beside CUDA builds of torch

            squares = muon.gather(state.gradient, state.first, self.updates, self._places, scale, momentum)
            muon.multiply(self.updates, 1.0 / squares.sqrt().clamp(min=SMALLEST_NORM))
        else:
            squares = self._plain_gather(scale, momentum)
            self.updates *= (1.0 / squares.sqrt().clamp(min=SMALLEST_NORM))[..., None, None]

    def apply(self, scale: Tensor, rates: Tensor, decay: float, keep: float | None) -> None:
        """Moves the weights by ``updates``; averages them too if ``keep`` is given."""
        state, size = self.state, self.batch.size_of_update
        scale, rates = scale[self._rows], rates[self._rows]
        if state.weight.is_cuda:
            from krohn.lab.training.kernels import muon  # Triton exists only beside CUDA builds of torch

            weights = (state.weight, state.compute, None if keep is None else state.average)
            muon.apply(weights, self.updates, self._places, scale, rates, (size, decay, keep or 0.0))
        else:
            self._plain_apply(scale, rates, (size, decay, keep))

    def _plain_gather(self, scale: Tensor, momentum: float) -> Tensor:
        state, batch = self.state, self.batch
        alive, factor = scale[:, None, None] >= 0.0, scale.to(state.weight.dtype)[:, None, None]
        squares = []
        pairs = zip(batch.views(state.gradient), batch.views(state.first), strict=True)
        for index, (gradient, first) in enumerate(pairs):
            g = torch.where(alive, gradient.to(first.dtype) * factor, 0.0)
            first.copy_(torch.where(alive, first.lerp(g, 1.0 - momentum), first))
            ahead = torch.where(alive, g.lerp(first, momentum), 0.0)
            self.updates[:, index] = ahead
            squares.append(ahead.square().sum((1, 2)))
        return torch.stack(squares, 1)

    def _plain_apply(
        self, scale: Tensor, rates: Tensor, constants: tuple[float, float, float | None]
    ) -> None:
        state, (size, decay, keep) = self.state, constants
        alive, rate = scale[:, None, None] >= 0.0, rates[:, None, None]
        places = zip(
            *(self.batch.views(flat) for flat in (state.weight, state.compute, state.average)), strict=True
        )
        for index, (weight, compute, average) in enumerate(places):
            moved = weight * (1.0 - rate * decay) - rate * size * self.updates[:, index].to(weight.dtype)
            weight.copy_(torch.where(alive, moved, weight))
            if state.compute is not state.weight:
                compute.copy_(weight)
            if keep is not None:
                average.copy_(torch.where(alive, average.lerp(weight, 1.0 - keep), average))
