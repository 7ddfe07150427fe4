"""Selection of the best subspace and role, on validation words from which nothing is reported."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from krohn.understanding.readings import Numbers
from krohn.understanding.subspace import RIDGES, directions
from krohn.understanding.swaps import Bench, Swapping, Telling

DIMENSIONS = (1, 2, 3, 4, 6, 8, 16, 32)
"""Of the subspaces that are tried, beside all directions that were found if they are few."""

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
        said = part.said(layer, [one.basis for one in options])
        return list(map(float, (said == wanted[:, None]).mean(axis=0)))


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
