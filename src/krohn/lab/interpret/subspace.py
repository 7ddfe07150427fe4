"""The subspace of a variable in the stream: the directions that separate its values, and which are best.

At each position the words fall into cells by the variable's value. Directions are ranked by (scatter between
cells) / (scatter within cells + ridge): a small ridge finds the code without other content, a large one the
differences of means, wherever the value leaves a trace. Dimension, ridge and role are selected on the
validation set, from which nothing is reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from krohn.lab.interpret.readings import Numbers
from krohn.lab.interpret.swaps import Bench, Swapping, Telling

RIDGES = (1e-9, 1e-3, 1e3)
"""Added to the scatter within cells, in units of the mean variance of a channel."""


class Spread:
    """A stream [word, t, d] in float64, centred at each position, to be split into cells."""

    def __init__(self, stream: Tensor) -> None:
        wide = stream.to(torch.float64)
        self.centred = wide - wide.mean(dim=0)
        self.by_place = torch.einsum("wtd,wte->tde", self.centred, self.centred)

    def scatters(self, values: Numbers) -> tuple[Tensor, Tensor]:
        """Scatter [d, d] between and within cells (position, value); −1 is no value."""
        kept = torch.from_numpy(values >= 0).to(self.centred.device)
        length, dim = self.centred.shape[1:]
        some = kept.any(dim=0)
        if bool((kept.all(dim=0) == some).all()):
            centred, total = self.centred, self.by_place[some].sum(dim=0)
        else:  # positions with a value in only some words are centred separately
            weight = kept.to(torch.float64)[..., None]
            means = (self.centred * weight).sum(dim=0) / weight.sum(dim=0).clamp_min(1)
            centred = (self.centred - means) * weight
            total = torch.einsum("wtd,wte->de", centred, centred)
        full = bool(kept.all())
        rows = centred.flatten(0, 1) if full else centred[kept]
        cells = torch.from_numpy(values * length + np.arange(length)).to(self.centred.device)
        cells = cells.flatten() if full else cells[kept]
        number, counts = torch.unique(cells, return_inverse=True, return_counts=True)[1:]
        sums = rows.new_zeros(len(counts), dim).index_add_(0, number, rows)
        between = (sums / counts[:, None]).T @ sums
        return between / len(rows), (total - between) / len(rows)


def directions(between: Tensor, within: Tensor, *ridges: float) -> list[Tensor]:
    """For each ridge an orthonormal basis [d, k], first columns matter most; no column if nothing differs."""
    dim = len(between)
    scale = float(torch.trace(between + within)) / dim
    if scale <= 0.0:
        return [between.new_zeros(dim, 0)] * len(ridges)
    sizes, vectors = torch.linalg.eigh(within)
    turned = vectors.T @ between @ vectors
    return [_largest(turned, vectors, sizes + ridge * scale) for ridge in ridges]


def _largest(between: Tensor, vectors: Tensor, within: Tensor) -> Tensor:
    """Directions by (between / within), both in the basis ``vectors``, where ``within`` is diagonal."""
    # Rounding: a difference of sums may be slightly negative.
    root = within.clamp_min(float(within.max()) * 1e-14).rsqrt()
    sizes, result = torch.linalg.eigh(root[:, None] * between * root)
    result = result[:, sizes > 1e-9 * sizes[-1].clamp_min(1e-300)].flip(1)
    columns = vectors @ (root[:, None] * result)
    basis: Tensor = torch.linalg.qr(columns / columns.norm(dim=0).clamp_min(1e-300))[0]
    return basis


def complement(basis: Tensor) -> Tensor:
    """The orthogonal complement of an orthonormal basis."""
    rest: Tensor = torch.linalg.qr(basis, mode="complete")[0][:, basis.shape[1] :]
    return rest


def random_directions(dim: int, count: int, seed: int) -> Tensor:
    """An orthonormal basis [d, count] of a random subspace."""
    rows = np.random.default_rng(seed).standard_normal((dim, count))
    return torch.from_numpy(np.linalg.qr(rows)[0])


DIMENSIONS = (1, 2, 3, 4, 6, 8, 16, 32)
"""Dimensions to try; also the number of all directions, if that is at most the last of these."""

TOLERANCE = 0.01
"""A smaller subspace is preferred if its share is within this of the larger one's."""

DROPPED, TRIED = 0.25, 8
"""Subspaces are tried on all pairs if their share on the first pairs is within DROPPED of the best and they
are among the top TRIED of their role; ties go to the smaller subspace."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """The subspace and role that did best on the validation words."""

    basis: Tensor
    role: str
    ridge: float

    @property
    def size(self) -> tuple[int, float]:
        """Sort key: few directions, then a small ridge."""
        return self.basis.shape[1], self.ridge


@dataclass(frozen=True, eq=False)
class Trial:
    """Validation pairs, in two parts, with the role's predictions."""

    first: Swapping
    others: Swapping
    predicted: Numbers

    @classmethod
    def of(cls, bench: Bench, tried: Telling) -> "Trial":
        """The first third of the pairs, and the rest."""
        third = np.arange(len(tried)) < -(-len(tried) // 3)
        first, others = (bench.swapping(tried.pairs.where(part)) for part in (third, ~third))
        return cls(first, others, tried.predicted)

    def shares(self, layer: int, options: Sequence[Chosen]) -> list[float]:
        """Shares of right predictions on the first pairs."""
        return self._hits(self.first, layer, options, self.predicted[: len(self.first.pairs)])

    def all_shares(self, layer: int, options: Sequence[Chosen], first: Sequence[float]) -> list[float]:
        """Shares on all pairs, given those on the first."""
        if not options:
            return []
        count, total = len(self.first.pairs), max(len(self.predicted), 1)
        more = self._hits(self.others, layer, options, self.predicted[count:])
        return [
            (one * count + other * (total - count)) / total for one, other in zip(first, more, strict=True)
        ]

    @staticmethod
    def _hits(part: Swapping, layer: int, options: Sequence[Chosen], wanted: Numbers) -> list[float]:
        if not len(wanted):
            return [0.0] * len(options)
        answers = part.answers(layer, [one.basis for one in options])
        return list(map(float, (answers == wanted[:, None]).mean(axis=0)))


def choose(layer: int, scatter: tuple[Tensor, Tensor], trials: dict[str, Trial]) -> Chosen | None:
    """The smallest subspace that does nearly as well as the best, plus one size as a margin.

    Of several that never fail on few pairs, the smallest is often a lucky one.
    """
    bases = [
        (basis[:, :count], ridge)
        for ridge, basis in zip(RIDGES, directions(*scatter, *RIDGES), strict=True)
        for count in sorted({*DIMENSIONS, basis.shape[1]})
        if 0 < count <= min(basis.shape[1], DIMENSIONS[-1])
    ]
    if not bases:
        return None
    scored: list[tuple[float, Chosen]] = []
    for role, trial in trials.items():
        options = sorted((Chosen(basis, role, ridge) for basis, ridge in bases), key=lambda one: one.size)
        shares = trial.shares(layer, options)
        scored += sorted(zip(shares, options, strict=True), key=lambda one: -one[0])[:TRIED]
    least = max(share for share, _ in scored) - DROPPED
    final: list[tuple[float, Chosen]] = []
    for role, trial in trials.items():
        kept = [(share, one) for share, one in scored if one.role == role and share >= least]
        first, options = [share for share, _ in kept], [one for _, one in kept]
        final += zip(trial.all_shares(layer, options, first), options, strict=True)
    least = max(share for share, _ in final) - TOLERANCE
    good = sorted((one for share, one in final if share >= least), key=lambda one: one.size)
    larger = (one for one in good if one.role == good[0].role and one.basis.shape[1] > good[0].basis.shape[1])
    return next(larger, good[0])
