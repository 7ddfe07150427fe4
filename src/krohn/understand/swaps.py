"""Interchange interventions: one word's part of the stream along a subspace is put into another word.

A swap counts as following the algebra if the state that comes out is the one its role predicts. Only
*telling* pairs are asked: the prediction differs from the state without a swap, from the source's state
(what swapping everything would give) and from the state after the source's letter (what swapping the letter
would give).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from krohn.understand.readings import Numbers, Pairs, Predict, Readings, draw_pairs
from krohn.understand.stages import Passed, Stages
from krohn.understand.variables import Variable

DRAWN = 24
"""Pairs drawn for each that is wanted."""

ROWS = 2_048
"""Swaps that are run at once."""


@dataclass(frozen=True, eq=False)
class Telling:
    """Pairs with their predictions.

    ``alike``: pairs that tell the variable from the state are too few, and others were taken. ``quiet`` are
    pairs on which the prediction is that nothing changes although the source's state is another.
    """

    pairs: Pairs
    predicted: Numbers
    alike: bool
    quiet: Pairs

    def __len__(self) -> int:
        return len(self.pairs)


def telling_pairs(
    variable: Variable, role: Predict, readings: Readings, rng: np.random.Generator, count: int
) -> Telling:
    """Up to ``count`` telling pairs of the readings, and half as many quiet ones."""
    drawn = draw_pairs(readings, rng, DRAWN * count)
    values = variable.values(readings)
    predicted = role(readings, drawn)
    own, other = values[drawn.base, drawn.at], values[drawn.source, drawn.at]
    known = (predicted >= 0) & (own >= 0) & (other >= 0) & (own != other)
    before, after = readings.states[drawn.base, drawn.at], readings.states[drawn.source, drawn.at]
    moves = known & (predicted != before)
    tells = moves & ((predicted != after) | (variable.family == "state"))
    if variable.family != "letter":
        letter = readings.letters[drawn.source, drawn.at]
        tells &= predicted != readings.table[readings.before[drawn.base, drawn.at], letter]
    alike = int(tells.sum()) < count // 8
    chosen = np.flatnonzero(moves if alike else tells)[:count]
    still = np.flatnonzero(known & (predicted == before) & (after != before))[: count // 2]
    return Telling(drawn.where(chosen), predicted[chosen], alike, drawn.where(still))


@dataclass(frozen=True, eq=False)
class Bench:
    """A network with its pass over the words from which pairs are drawn."""

    stages: Stages
    passed: Passed

    def said(self, layer: int, swaps: Sequence[tuple[Tensor, Pairs]]) -> list[Numbers]:
        """What the network says after each swap along a basis [d, k] after ``layer`` blocks, all at once."""
        moved = [self._swapped(layer, basis, pairs) for basis, pairs in swaps]
        rows = torch.cat([torch.from_numpy(pairs.base) for _, pairs in swaps])
        at = torch.cat([torch.from_numpy(pairs.at) for _, pairs in swaps]) + len(self.stages.prompt)
        x = torch.cat(moved)
        parts = [slice(first, first + ROWS) for first in range(0, len(x), ROWS)]
        said = [self.stages.resume(layer, x[p], self.passed, rows[p], at[p]) for p in parts]
        found = torch.cat(said).numpy()
        return np.split(found, np.cumsum([len(pairs) for _, pairs in swaps])[:-1])

    def _swapped(self, layer: int, basis: Tensor, pairs: Pairs) -> Tensor:
        stream = self.passed.streams[layer]
        at = torch.from_numpy(pairs.at) + len(self.stages.prompt)
        x, other = stream[torch.from_numpy(pairs.base), at], stream[torch.from_numpy(pairs.source), at]
        basis = basis.to(x.dtype)
        return x + (other - x) @ basis @ basis.T
