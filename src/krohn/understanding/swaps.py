"""Interchange interventions: the stream's component in a subspace is copied from another word.

A swap follows the algebra if the resulting state is the one its role predicts. Only *telling* pairs are used:
the prediction is a state that words lead to, and differs from the state without a swap, from the source's
state (what swapping everything would give) and from the state after the source's letter (what swapping the
letter would give).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from krohn.understanding.readings import Numbers, Pairs, Predict, Readings, draw_pairs
from krohn.understanding.stages import Passed, Past, Stages
from krohn.understanding.variables import Variable

DRAWN = 24
"""Pairs drawn for each that is wanted."""
TOGETHER = 48
"""Pairs that are run together, sorted by position: early ones see less and cost less."""


@dataclass(frozen=True, eq=False)
class Telling:
    """Pairs with their predictions.

    ``alike``: too few pairs separate the variable from the state, and others were used. ``quiet`` are pairs
    on which the prediction is that nothing changes although the source's state differs.
    """

    pairs: Pairs
    predicted: Numbers
    alike: bool
    quiet: Pairs

    def __len__(self) -> int:
        return len(self.pairs)


def telling_pairs(
    variable: Variable,
    role: Predict,
    readings: Readings,
    rng: np.random.Generator,
    count: int,
    against: Sequence[Variable] = (),
) -> Telling:
    """Up to ``count`` telling pairs of the readings, and half as many quiet ones.

    None of the variables ``against`` predicts the same on a telling pair.
    """
    drawn = draw_pairs(readings, rng, DRAWN * count)
    values = variable.values(readings)
    predicted = role(readings, drawn)
    own, other = values[drawn.base, drawn.at], values[drawn.source, drawn.at]
    known = np.isin(predicted, np.unique(readings.states)) & (own >= 0) & (other >= 0) & (own != other)
    before, after = readings.states[drawn.base, drawn.at], readings.states[drawn.source, drawn.at]
    moves = known & (predicted != before)
    tells = moves & ((predicted != after) | (variable.family == "state"))
    if variable.family != "letter":
        letter = readings.letters[drawn.source, drawn.at]
        tells &= predicted != readings.table[readings.before[drawn.base, drawn.at], letter]
    for predict in (predict for other in against for predict in other.roles.values()):
        tells &= predicted != predict(readings, drawn)
    alike = int(tells.sum()) < count // 8 and not against
    chosen = np.flatnonzero(moves if alike else tells)[:count]
    still = np.flatnonzero(known & (predicted == before) & (after != before))[: count // 2]
    return Telling(drawn.where(chosen), predicted[chosen], alike, drawn.where(still))


@dataclass(frozen=True, eq=False)
class Bench:
    """A network with its pass over the words from which pairs are drawn."""

    stages: Stages
    passed: Passed

    def swapping(self, pairs: Pairs) -> "Swapping":
        """Swaps between these pairs, in any layer and along any subspaces."""
        order = np.argsort(pairs.at, kind="stable")
        groups = [order[first : first + TOGETHER] for first in range(0, len(order), TOGETHER)]
        prompt = len(self.stages.prompt)
        pasts = [
            Past.of(
                self.passed, torch.from_numpy(pairs.base[group]), torch.from_numpy(pairs.at[group]) + prompt
            )
            for group in groups
        ]
        return Swapping(self, pairs, groups, pasts)


@dataclass(frozen=True, eq=False)
class Swapping:
    """Pairs grouped by position, approximately, each with its visible context."""

    bench: Bench
    pairs: Pairs
    groups: list[Numbers]
    pasts: list[Past]

    def said(self, layer: int, bases: Sequence[Tensor]) -> Numbers:
        """The network's answers [pair, basis] after swaps along each basis [d, k], after ``layer`` blocks."""
        stream = self.bench.passed.streams[layer]
        given = [basis.to(stream.dtype) for basis in bases]
        out = np.zeros((len(self.pairs), len(bases)), dtype=np.int64)
        for group, past in zip(self.groups, self.pasts, strict=True):
            base, source = (torch.from_numpy(rows[group]) for rows in (self.pairs.base, self.pairs.source))
            x = stream[base, past.at]
            step = stream[source, past.at] - x
            moved = torch.stack([x + step @ basis @ basis.T for basis in given], dim=1)
            out[group] = self.bench.stages.resume(layer, moved, past).numpy()
        return out
