"""Interchange interventions and their controls: part of the stream is copied from another word.

A swap follows the algebra if the resulting state is the one its role predicts. Only *telling* pairs are used:
the prediction is a state that words lead to, and differs from the state without a swap, from the source's
state (what swapping everything would give) and from the state after the source's letter (what swapping the
letter would give). Controls are an untrained network, the other directions and permuted answers.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from krohn.lab.interpret.findings import Share
from krohn.lab.interpret.readings import Numbers, Pairs, Predict, Readings, draw_pairs
from krohn.lab.interpret.stages import Passed, Past, Stages
from krohn.lab.interpret.variables import Variable, letter_variable, state_variable

DRAWN = 24
"""Oversampling: pairs drawn for each pair requested."""
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

    def answers(self, layer: int, bases: Sequence[Tensor]) -> Numbers:
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


def shuffle_weights(stages: Stages, seed: int) -> Stages:
    """An untrained network of the same shape: the entries of every matrix in random order."""
    generator = torch.Generator().manual_seed(seed)

    def shuffle(value: Tensor) -> Tensor:
        return value.flatten()[torch.randperm(value.numel(), generator=generator)].view(value.shape)

    embedding, readout, blocks = shuffle(stages.embedding), shuffle(stages.readout), deepcopy(stages.blocks)
    for matrix in (matrix for block in blocks for matrix in block.matrices):
        matrix.copy_(shuffle(matrix))
    return replace(stages, embedding=embedding, readout=readout, blocks=blocks)


def deal(answers: Numbers, predicted: Numbers, before: Numbers) -> float:
    """The expected share of right answers after a random permutation within swaps from one state."""
    total = 0.0
    for state in np.unique(before):
        own, wanted = answers[before == state], predicted[before == state]
        total += float((own[:, None] == wanted).mean()) * len(wanted)
    return total / len(before)


BRINGS = {"state": (state_variable(), "moved"), "letter": (letter_variable(), "replaced")}


def whole_positions(bench: Bench, readings: Readings, seed: int, count: int) -> list[dict[str, Share]]:
    """By layer, what a swap of the whole position gives: the source's state, or that after its letter.

    Only where the two differ. Where the letter decides, all else still comes from earlier positions.
    """
    drawn = draw_pairs(readings, np.random.default_rng([seed, 2]), 8 * count)
    brought = _brought(readings, drawn)
    reached = np.isin(brought["letter"], np.unique(readings.states))
    chosen = np.flatnonzero(reached & (brought["state"] != brought["letter"]))[:count]
    everything = torch.eye(bench.stages.dim, dtype=torch.float64)
    swaps = bench.swapping(drawn.where(chosen))
    out = []
    for layer in range(len(bench.passed.streams)):
        answers = swaps.answers(layer, [everything])[:, 0]
        hits = {name: int((answers == states[chosen]).sum()) for name, states in brought.items()}
        out.append({name: Share.of(hit, max(len(chosen), 1)) for name, hit in hits.items()})
    return out


def _brought(readings: Readings, pairs: Pairs) -> dict[str, Numbers]:
    return {name: one.roles[role](readings, pairs) for name, (one, role) in BRINGS.items()}
