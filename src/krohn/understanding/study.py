"""The measurements: for each variable and layer the swaps that follow the algebra, the controls, a probe.

Three sets of words: subspaces are found on the first, their dimension, ridge and role are chosen on the
second, and everything that is reported comes from the third.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

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
from krohn.understanding.swaps import Bench, Swapping, Telling, telling_pairs
from krohn.understanding.variables import Variable, candidates, distinct, letter_variable, state_variable

Hits = npt.NDArray[np.bool_]

DIMENSIONS = (1, 2, 3, 4, 6, 8, 16, 32)
WHOLE = ((state_variable(), "moved"), (letter_variable(), "replaced"))
LATER = ("later_state", "later_letter")
NEXT, LATER_PAIRS = 8, 64
"""How far behind a swap later answers are looked at, and for how many swaps."""
CONTROLS = ("random", "shuffled labels", "untrained")

TOLERANCE = 0.03
"""A smaller subspace is preferred if its share is at most so much lower."""
DROPPED = 0.25
"""A subspace is not tried further if its share on the first pairs is lower by more than this."""

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


@dataclass(frozen=True, eq=False)
class Asked:
    """The pairs of one role: for judging, quiet ones, those in the untrained network, and for choosing.

    ``first`` and ``others`` are the pairs for choosing: subspaces that do badly on the first are not tried on
    the others.
    """

    telling: Telling
    judged: Swapping
    quiet: Swapping
    blank: Swapping
    predicted: Numbers
    first: Swapping
    others: Swapping


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
        asked = {}
        for role, predict in variable.roles.items():
            telling = telling_pairs(variable, predict, self.judge, rng, self.amount.judged_pairs)
            if len(telling) >= LEAST_PAIRS:
                tried = telling_pairs(variable, predict, self.tune, rng, self.amount.tuned_pairs)
                asked[role] = self._asked(telling, tried)
        values = variable.values(self.fit)
        mixed = rng.permuted(values, axis=0)  # each position keeps its values, in other words
        return [self._finding(layer, values, mixed, asked) for layer in range(len(self.stages.blocks) + 1)]

    def _asked(self, telling: Telling, tried: Telling) -> Asked:
        third = np.arange(len(tried)) < -(-len(tried) // 3)
        first, others = (self.tuning.swapping(tried.pairs.where(part)) for part in (third, ~third))
        judged, quiet = (self.judging.swapping(pairs) for pairs in (telling.pairs, telling.quiet))
        blank = self.blank.swapping(telling.pairs)
        return Asked(telling, judged, quiet, blank, tried.predicted, first, others)

    def whole(self) -> list[dict[str, Share]]:
        """By layer, what a swap of the whole position gives: the source's state, or that after its letter.

        Asked where the two differ. Where the letter decides, all else still comes from earlier positions.
        """
        drawn = draw_pairs(self.judge, np.random.default_rng([self.seed, 2]), 8 * self.amount.judged_pairs)
        moved, after = (one.roles[role](self.judge, drawn) for one, role in WHOLE)
        reached = np.isin(after, np.unique(self.judge.states))
        chosen = np.flatnonzero(reached & (moved != after))[: self.amount.judged_pairs]
        pairs, wanted = drawn.where(chosen), {"state": moved[chosen], "letter": after[chosen]}
        everything, swaps = torch.eye(self.stages.dim, dtype=torch.float64), self.judging.swapping(pairs)
        out = []
        for layer in range(len(self.stages.blocks) + 1):
            said = swaps.said(layer, [everything])[:, 0]
            hits = {name: said == states for name, states in wanted.items()}
            out.append({name: Share.of(int(hit.sum()), max(len(hit), 1)) for name, hit in hits.items()})
        return [{**here, **later} for here, later in zip(out, self._later(), strict=True)]

    def _later(self) -> list[dict[str, Share]]:
        """By layer, what a swap of the whole position gives at one of the next positions.

        It follows the letter if the base's word with that letter changed comes out there, the state if the
        base's letters since then lead there from the source's state; asked where both differ from what comes
        out without a swap, so never with two states. Where neither does, nothing later reads this position.
        """
        rng = np.random.default_rng([self.seed, 3])
        drawn = draw_pairs(self.judge, rng, 8 * LATER_PAIRS)
        place = drawn.at + rng.integers(1, NEXT + 1, size=len(drawn))
        fits = place < self.judge.length
        pairs, place = drawn.where(fits), place[fits]
        wanted = {
            name: one.roles[role](self.judge, pairs) for name, (one, role) in zip(LATER, WHOLE, strict=True)
        }
        for step in range(1, NEXT + 1):
            at = np.minimum(pairs.at + step, place)
            letter = self.judge.letters[pairs.base, at]
            for name, state in wanted.items():
                moves = (pairs.at + step <= place) & (state >= 0)
                wanted[name] = np.where(moves, self.judge.table[state, letter], state)
        one, other = wanted.values()
        plain = self.judge.states[pairs.base, place]
        chosen = np.flatnonzero((one != other) & (one != plain) & (other != plain))[:LATER_PAIRS]
        pairs, place, count = pairs.where(chosen), place[chosen], np.arange(len(chosen))
        at, out = torch.from_numpy(pairs.at) + len(self.stages.prompt), []
        for layer, stream in enumerate(self.judging.passed.streams):
            swapped = stream[torch.from_numpy(pairs.base)]
            swapped[torch.from_numpy(count), at] = stream[torch.from_numpy(pairs.source), at]
            said = self.stages.finish(layer, swapped).numpy()[count, place]
            hits = {name: int((said == states[chosen]).sum()) for name, states in wanted.items()}
            out.append({name: Share.of(hit, len(chosen)) for name, hit in hits.items() if len(chosen)})
        return out

    def _finding(self, layer: int, values: Numbers, mixed: Numbers, asked: dict[str, Asked]) -> Finding:
        spread, blank = self._spreads[layer]
        read = self._probed(layer, values, mixed)
        chosen = self._choose(layer, spread.scatters(values), asked) if asked else None
        if chosen is None:
            return Finding(layer, None, None, {}, None, None, *read)
        telling, count = asked[chosen.role].telling, chosen.basis.shape[1]
        others = {
            "rest": _complement(chosen.basis),
            "shuffled labels": directions(*spread.scatters(mixed), RIDGES[0])[:, :count],
            "random": random_directions(self.stages.dim, count, self.seed),
            "variance": spread.widest[:, :count],
        }
        none = directions(*blank.scatters(values), chosen.ridge)[:, :count]
        moved, hits = self._hits(layer, chosen.basis, others, none, asked[chosen.role])
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

    def _hits(
        self, layer: int, basis: Tensor, others: dict[str, Tensor], none: Tensor, asked: Asked
    ) -> tuple[Numbers, dict[str, Hits]]:
        """What is said after swaps of the subspace; which of these, and of the others, are as predicted."""
        telling, quiet = asked.telling, asked.telling.quiet
        said = asked.judged.said(layer, [basis, *others.values()])
        still = asked.quiet.said(layer, [basis])[:, 0] == self.judge.states[quiet.base, quiet.at]
        hits = {
            name: self._changed(self.judging, column, telling)
            for name, column in zip(("causal", *others), said.T, strict=True)
        }
        hits["untrained"] = self._changed(self.blank, asked.blank.said(layer, [none])[:, 0], telling)
        return said[:, 0], {**hits, "stays": still}

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

    def _choose(self, layer: int, scatter: tuple[Tensor, Tensor], asked: dict[str, Asked]) -> Chosen | None:
        """The smallest subspace, then the smallest ridge, that does nearly as well as any."""
        bases = [
            (basis[:, :count], ridge)
            for ridge in RIDGES
            for basis in (directions(*scatter, ridge),)
            for count in DIMENSIONS
            if count <= basis.shape[1]
        ]
        options = [(Chosen(basis, role, ridge), one) for role, one in asked.items() for basis, ridge in bases]
        for part in ("first", "others"):
            if options:
                shares = self._tried(layer, options, part)
                least = max(shares) - (DROPPED if part == "first" else TOLERANCE)
                options = [one for one, share in zip(options, shares, strict=True) if share >= least]
        kept = [chosen for chosen, _ in options]
        return min(kept, key=lambda one: (one.basis.shape[1], one.ridge), default=None)

    @staticmethod
    def _tried(layer: int, options: Sequence[tuple[Chosen, Asked]], part: str) -> list[float]:
        """Shares of right predictions on the first of the pairs for choosing, or on the others."""
        shares: list[float] = []
        for _, group in groupby(options, key=lambda option: option[0].role):
            chosen = list(group)
            asked = chosen[0][1]
            count = len(asked.first.pairs)
            wanted = asked.predicted[:count] if part == "first" else asked.predicted[count:]
            said = getattr(asked, part).said(layer, [one.basis for one, _ in chosen])
            shares += (said == wanted[:, None]).mean(axis=0).tolist() if len(wanted) else [0.0] * len(chosen)
        return shares


def _complement(basis: Tensor) -> Tensor:
    """All directions but those of the basis."""
    rest = torch.eye(len(basis), dtype=torch.float64) - basis @ basis.T
    found: Tensor = torch.linalg.svd(rest)[0][:, : len(basis) - basis.shape[1]]
    return found


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
