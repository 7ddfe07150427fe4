"""The measurements: for each variable and layer the swaps that follow the algebra, the controls, a probe.

Three sets of words: subspaces are found on the first, their dimension, ridge and role are chosen on the
second, and everything that is reported comes from the third.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from krohn.errors import InvalidInput
from krohn.evaluate.intervals import wilson
from krohn.evaluate.probe import LinearProbe
from krohn.understanding.readings import Numbers, Readings, draw_pairs
from krohn.understanding.stages import Block, Passed, Stages
from krohn.understanding.subject import Subject
from krohn.understanding.subspace import RIDGES, Spread, directions, random_directions
from krohn.understanding.swaps import Bench, Telling, telling_pairs
from krohn.understanding.variables import Variable, candidates, distinct, letter_variable, state_variable

Hits = npt.NDArray[np.bool_]

DIMENSIONS = (1, 2, 3, 4, 6, 8, 16, 32)
WHOLE = ((state_variable(), "moved"), (letter_variable(), "replaced"))
CONTROLS = ("random", "shuffled labels", "untrained")

TOLERANCE = 0.03
"""A smaller subspace is preferred if its share is at most so much lower."""

LEAST_PAIRS = 24
"""With fewer telling pairs nothing is said about causes."""


@dataclass(frozen=True)
class Share:
    """A share with Wilson's 95% interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: int, trials: int) -> "Share":
        """Of so many trials so many hits."""
        low, high = wilson(hits, trials)
        return cls(hits / trials, low, high)


@dataclass(frozen=True)
class Finding:
    """What was measured of one variable after so many blocks.

    Attributes:
        causal: swaps after which the network says what the algebra predicts; ``None`` where nothing is
        predicted. controls: the same for subspaces that should not matter, by name.
        rest: the same for all directions but the subspace's: high where the stream holds the variable twice.
        variance: the same for as many directions of largest variance; no control, for they may hold the
        variable. probe: accuracy of a linear probe, its interval by words; ``baseline`` is guessing,
        ``selectivity`` is
            the accuracy less that on shuffled labels.
        stays: swaps that change nothing where the algebra predicts that, though the source's state is
        another. chance: what the same answers would score if they were dealt out at random among swaps from
        one state. by_place: the causal share in the first, second and last third of the word.
        chosen: role, dimension and ridge, chosen on other words; ``alike``: no telling pairs;
            ``final``: after the last block, where only the read-out follows.
    """

    layer: int
    causal: Share | None
    stays: Share | None
    controls: dict[str, Share]
    rest: Share | None
    variance: Share | None
    probe: Share
    baseline: float
    selectivity: float
    chance: float | None = None
    by_place: tuple[float | None, ...] = ()
    role: str = ""
    dimension: int = 0
    ridge: float = 0.0
    pairs: int = 0
    alike: bool = False
    final: bool = False

    @property
    def control(self) -> float | None:
        """The highest of the controls."""
        return max((share.value for share in self.controls.values()), default=None)


@dataclass(frozen=True, kw_only=True)
class Amount:
    """How many words and pairs: all that the effort decides."""

    fit: int = 192
    tune: int = 96
    judge: int = 192
    tuned_pairs: int = 48
    judged_pairs: int = 160

    @classmethod
    def of(cls, effort: float) -> "Amount":
        """Scaled by the effort."""
        if not 0.05 <= effort <= 100:
            raise InvalidInput(f"the effort must lie in 0.05–100; got {effort:g}")
        scaled = {name: max(32, round(count * effort)) for name, count in vars(cls()).items()}
        return cls(**scaled)


@dataclass(frozen=True, eq=False)
class Chosen:
    """A subspace and a role that did best on the words for choosing."""

    basis: Tensor
    role: str
    ridge: float


class Study:
    """One network under study: its passes over the three sets of words, and the variables."""

    def __init__(self, subject: Subject, *, seed: int, amount: Amount, length: int) -> None:
        self.subject, self.seed, self.amount = subject, seed, amount
        sizes = (amount.fit, amount.tune, amount.judge)
        drawn = subject.draw(seed, sum(sizes), length)
        first, second = sizes[0], sizes[0] + sizes[1]
        parts = (drawn[:first], drawn[first:second], drawn[second:])
        self.fit, self.tune, self.judge = (Readings(subject.automaton, letters) for letters in parts)
        found, notes = candidates(subject.automaton, length)
        self.variables, more = distinct(found, self.fit)
        self.notes = [*notes, *more]
        self._probes: dict[tuple[int, int], LinearProbe] = {}
        self.stages = subject.stages
        self.fitted = self.stages.run(self.fit.letters)
        self.tuning = Bench(self.stages, self.stages.run(self.tune.letters))
        self.judging = Bench(self.stages, self.stages.run(self.judge.letters))
        self.untrained = shuffled(self.stages, seed)
        self.blank_fitted = self.untrained.run(self.fit.letters)
        self.blank = Bench(self.untrained, self.untrained.run(self.judge.letters))

    @property
    def accuracy(self) -> Share:
        """Right states among all that the network says on the words for judging."""
        right = self.judging.passed.said == self.judge.states
        return Share.of(int(right.sum()), right.size)

    def heard(self, count: int) -> Readings:
        """The first of the words for judging."""
        return Readings(self.subject.automaton, self.judge.letters[:count])

    @cached_property
    def _spreads(self) -> list[tuple[Spread, Spread]]:
        """By layer, for the network and for the untrained one."""
        return [
            (Spread(self._letters(self.fitted, layer)), Spread(self._letters(self.blank_fitted, layer)))
            for layer in range(len(self.stages.blocks) + 1)
        ]

    def findings(self, variable: Variable) -> list[Finding]:
        """The variable in the stream before the first block and after each."""
        rng = np.random.default_rng([self.seed, 1])
        asked, tried = {}, {}
        for role, predict in variable.roles.items():
            judged = telling_pairs(variable, predict, self.judge, rng, self.amount.judged_pairs)
            if len(judged) >= LEAST_PAIRS:
                asked[role] = judged
                tried[role] = telling_pairs(variable, predict, self.tune, rng, self.amount.tuned_pairs)
        values = variable.values(self.fit)
        mixed = rng.permuted(values, axis=0)  # each position keeps its values, in other words
        return [
            self._finding(layer, values, mixed, asked, tried) for layer in range(len(self.stages.blocks) + 1)
        ]

    def whole(self) -> list[dict[str, Share]]:
        """By layer, what a swap of the whole position gives: the source's state, or that after its letter.

        Asked where the two differ. Where the letter decides, all else still comes from earlier positions.
        """
        drawn = draw_pairs(self.judge, np.random.default_rng([self.seed, 2]), 8 * self.amount.judged_pairs)
        moved, after = (one.roles[role](self.judge, drawn) for one, role in WHOLE)
        reached = np.isin(after, np.unique(self.judge.states))
        chosen = np.flatnonzero(reached & (moved != after))[: self.amount.judged_pairs]
        pairs, wanted = drawn.where(chosen), {"state": moved[chosen], "letter": after[chosen]}
        everything = torch.eye(self.stages.dim, dtype=torch.float64)
        out = []
        for layer in range(len(self.stages.blocks) + 1):
            said = self.judging.said(layer, [everything], pairs)[:, 0] if len(pairs) else moved[:0]
            hits = {name: said == states for name, states in wanted.items()}
            out.append({name: Share.of(int(hit.sum()), max(len(hit), 1)) for name, hit in hits.items()})
        return out

    def _finding(
        self,
        layer: int,
        values: Numbers,
        mixed: Numbers,
        asked: dict[str, Telling],
        tried: dict[str, Telling],
    ) -> Finding:
        spread, blank = self._spreads[layer]
        read = self._probed(layer, values, mixed)
        chosen = self._choose(layer, spread.scatters(values), tried) if asked else None
        if chosen is None:
            return Finding(layer, None, None, {}, None, None, *read)
        telling, count = asked[chosen.role], chosen.basis.shape[1]
        moved, hits = self._hits(layer, chosen.basis, telling)
        hits |= self._controls(
            layer,
            telling,
            directions(*spread.scatters(mixed), RIDGES[0])[:, :count],
            directions(*blank.scatters(values), chosen.ridge)[:, :count],
            random_directions(self.stages.dim, count, self.seed),
            spread.widest[:, :count],
        )
        shares = {name: Share.of(int(hit.sum()), len(hit)) for name, hit in hits.items() if len(hit)}
        third = telling.pairs.at * 3 // self.judge.length
        return Finding(
            layer,
            shares.pop("causal"),
            shares.pop("stays", None),
            {name: shares[name] for name in CONTROLS},
            shares["rest"],
            shares["variance"],
            *read,
            _dealt(moved, telling.predicted, self.judge.states[telling.pairs.base, telling.pairs.at]),
            tuple(_mean(hits["causal"][third == part]) for part in range(3)),
            chosen.role,
            count,
            chosen.ridge,
            len(telling),
            telling.alike,
            layer == len(self.stages.blocks),
        )

    def _hits(self, layer: int, basis: Tensor, telling: Telling) -> tuple[Numbers, dict[str, Hits]]:
        """What is said after swaps of the subspace; which of these, and of the rest, are as predicted."""
        rest = torch.eye(len(basis), dtype=torch.float64) - basis @ basis.T
        others = torch.linalg.svd(rest)[0][:, : len(basis) - basis.shape[1]]
        moved, rested = self.judging.said(layer, [basis, others], telling.pairs).T
        quiet = self.judging.said(layer, [basis], telling.quiet)[:, 0]
        still = quiet == self.judge.states[telling.quiet.base, telling.quiet.at]
        return moved, {
            "causal": self._changed(self.judging, moved, telling),
            "rest": self._changed(self.judging, rested, telling),
            "stays": still,
        }

    def _controls(
        self, layer: int, telling: Telling, wrong: Tensor, blank: Tensor, anyhow: Tensor, widest: Tensor
    ) -> dict[str, Hits]:
        """The same swaps along other subspaces of the same dimension."""
        one, other, wide = self.judging.said(layer, [wrong, anyhow, widest], telling.pairs).T
        none = self.blank.said(layer, [blank], telling.pairs)[:, 0]
        return {
            "random": self._changed(self.judging, other, telling),
            "shuffled labels": self._changed(self.judging, one, telling),
            "untrained": self._changed(self.blank, none, telling),
            "variance": self._changed(self.judging, wide, telling),
        }

    @staticmethod
    def _changed(bench: Bench, said: Numbers, telling: Telling) -> Hits:
        """As predicted, and not so without the swap."""
        pairs = telling.pairs
        out: Hits = (said == telling.predicted) & (
            bench.passed.said[pairs.base, pairs.at] != telling.predicted
        )
        return out

    def _probed(self, layer: int, values: Numbers, mixed: Numbers) -> tuple[Share, float, float]:
        """A linear probe of the variable and of its shuffled labels, on the positions where it has values."""
        first = int((values >= 0).any(axis=0).argmax())
        shift = int(values[:, first:].min() < 0)
        probe = self._probes.get((layer, first))
        if probe is None:
            probe = self._probes[layer, first] = LinearProbe(self._letters(self.fitted, layer)[:, first:])
        found, control = (probe.judge(torch.from_numpy(one[:, first:] + shift)) for one in (values, mixed))
        words = len(values) - len(values) // 2
        share = Share(found.accuracy, *wilson(round(found.accuracy * words), words))
        return share, found.baseline, found.accuracy - control.accuracy

    def _letters(self, passed: Passed, layer: int) -> Tensor:
        return passed.streams[layer][:, len(self.stages.prompt) :]

    def _choose(self, layer: int, scatter: tuple[Tensor, Tensor], tried: dict[str, Telling]) -> Chosen | None:
        """The smallest subspace, then the smallest ridge, that does nearly as well as any."""
        bases = [
            (basis[:, :count], ridge)
            for ridge in RIDGES
            for basis in (directions(*scatter, ridge),)
            for count in DIMENSIONS
            if count <= basis.shape[1]
        ]
        if not bases:
            return None
        options, shares = [], []
        for role, telling in tried.items():
            said = self.tuning.said(layer, [basis for basis, _ in bases], telling.pairs)
            options += [Chosen(basis, role, ridge) for basis, ridge in bases]
            shares += (said == telling.predicted[:, None]).mean(axis=0).tolist()
        enough = max(shares) - TOLERANCE
        return min(
            (one for one, share in zip(options, shares, strict=True) if share >= enough),
            key=lambda one: (one.basis.shape[1], one.ridge),
        )


def shuffled(stages: Stages, seed: int) -> Stages:
    """A network of equal shape that learned nothing: the entries of every matrix in random order."""
    generator = torch.Generator().manual_seed(seed)

    def mixed(value: Tensor) -> Tensor:
        return value.flatten()[torch.randperm(value.numel(), generator=generator)].view(value.shape)

    def block(given: Block) -> Block:
        return replace(
            given,
            query=mixed(given.query),
            key=mixed(given.key),
            value=mixed(given.value),
            output=mixed(given.output),
            mlp=tuple((mixed(weight), bias) for weight, bias in given.mlp),
        )

    return replace(
        stages,
        embedding=mixed(stages.embedding),
        readout=mixed(stages.readout),
        blocks=tuple(map(block, stages.blocks)),
    )


def _dealt(said: Numbers, predicted: Numbers, before: Numbers) -> float:
    """The share of right answers if those of swaps from one state were dealt out again at random."""
    total = 0.0
    for state in np.unique(before):
        answers, wanted = said[before == state], predicted[before == state]
        total += float((answers[:, None] == wanted).mean()) * len(wanted)
    return total / len(before)


def _mean(hits: Hits) -> float | None:
    return float(hits.mean()) if len(hits) else None
