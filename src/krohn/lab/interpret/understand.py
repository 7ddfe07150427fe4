"""One network in, one report out: for each variable and layer the swaps that follow the algebra.

Three sets of words: subspaces are fitted on the first, their dimension, ridge and role are selected on the
second (validation set), and everything reported comes from the third (test set).
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.errors import InvalidInput
from krohn.lab.interpret.findings import Amount, Finding, Share, wilson
from krohn.lab.interpret.head_patterns import classify_heads
from krohn.lab.interpret.probe import LinearProbe
from krohn.lab.interpret.readings import Numbers, Readings
from krohn.lab.interpret.report import Report
from krohn.lab.interpret.stages import Passed
from krohn.lab.interpret.subject import Subject
from krohn.lab.interpret.subspace import (
    RIDGES,
    Spread,
    Trial,
    choose,
    complement,
    directions,
    random_directions,
)
from krohn.lab.interpret.swaps import (
    Bench,
    Swapping,
    Telling,
    deal,
    shuffle_weights,
    telling_pairs,
    whole_positions,
)
from krohn.lab.interpret.variables import Variable, candidates, distinct
from krohn.proving.by_position import SEED, TRIED, ByPosition, measure
from krohn.proving.kinds import kind_for

Hits = npt.NDArray[np.bool_]

CONTROLS = ("random", "shuffled", "untrained")

REPEATED = 0.05
"""Share of test words among those of fitting from which a report says so."""
LEAST_PAIRS = 24
"""Fewest telling pairs for a causal claim."""


@dataclass(frozen=True, eq=False)
class StudyQuestion:
    """The test pairs of one role, and controls on the first half.

    A *telling* pair is one whose swap should change the answer, a *quiet* one should not (``swaps.py``).
    ``scrambled`` are swaps in the network with its weights in random order.
    """

    telling: Telling
    first: Swapping
    second: Swapping
    quiet: Swapping
    scrambled: Swapping


class Study:
    """One network under study: its passes over the three sets of words, and the variables."""

    def __init__(self, subject: Subject, *, seed: int, amount: Amount, length: int) -> None:
        self.subject, self.seed, self.amount = subject, seed, amount
        sizes = (amount.fit, amount.tune, amount.judge)
        drawn = subject.draw(seed, sum(sizes), length)
        first, second = sizes[0], sizes[0] + sizes[1]
        parts = (drawn[:first], drawn[first:second], drawn[second:])
        self.fit, self.tune, self.judge = (Readings(subject.automaton, letters) for letters in parts)
        result, notes = candidates(subject.automaton, length)
        self.variables, more = distinct(result, self.fit)
        self.notes = [*notes, *more, *_repeated(parts[0], parts[2])]
        self._probes: dict[tuple[int, int], LinearProbe] = {}
        self.stages = subject.stages
        self.fitted = self.stages.run(self.fit.letters)
        # Weights in random order have the same sizes: what is found there comes with the architecture.
        nothing = shuffle_weights(self.stages, seed)
        scrambled = nothing.run(self.fit.letters)
        self._spreads = [
            (Spread(self._letters(self.fitted, layer)), Spread(self._letters(scrambled, layer)))
            for layer in range(len(self.stages.blocks) + 1)
        ]
        self.tuning = Bench(self.stages, self.stages.run(self.tune.letters))
        self.judging = Bench(self.stages, self.stages.run(self.judge.letters))
        self.scrambled = Bench(nothing, nothing.run(self.judge.letters))

    @property
    def accuracy(self) -> Share:
        """Accuracy of the network on the test words."""
        right = self.judging.passed.answers == self.judge.states
        return Share.of(int(right.sum()), right.size)

    def first_words(self, count: int) -> Readings:
        """The first of the test words."""
        return Readings(self.subject.automaton, self.judge.letters[:count])

    def whole(self) -> list[dict[str, Share]]:
        """By layer, the effect of swapping a whole position."""
        return whole_positions(self.judging, self.judge, self.seed, self.amount.judged_pairs)

    def findings(self, variable: Variable, against: Sequence[Variable] = ()) -> list[Finding]:
        """The variable in the stream before the first block and after each.

        With ``against``, only pairs of words are used on which none of these predicts the same state.
        """
        rng = np.random.default_rng([self.seed, 1])
        questions, trials = {}, {}
        for role, predict in variable.roles.items():
            judged, tuned = self.amount.judged_pairs, self.amount.tuned_pairs
            telling = telling_pairs(variable, predict, self.judge, rng, judged, against)
            if len(telling) >= LEAST_PAIRS:
                tried = telling_pairs(variable, predict, self.tune, rng, tuned, against)
                questions[role], trials[role] = self._question(telling), Trial.of(self.tuning, tried)
        values = variable.values(self.fit)
        # The same labels on other words: what a subspace finds in them is chance, at every position alike.
        mixed = rng.permuted(values, axis=0)  # permutes words within each position
        return [
            self._finding(layer, values, mixed, questions, trials)
            for layer in range(len(self.stages.blocks) + 1)
        ]

    def _question(self, telling: Telling) -> StudyQuestion:
        first = np.arange(len(telling)) < -(-len(telling) // 2)
        halves = telling.pairs.where(first), telling.pairs.where(~first)
        one, other, quiet = (self.judging.swapping(pairs) for pairs in (*halves, telling.quiet))
        return StudyQuestion(telling, one, other, quiet, self.scrambled.swapping(halves[0]))

    def _finding(
        self,
        layer: int,
        values: Numbers,
        mixed: Numbers,
        questions: dict[str, StudyQuestion],
        trials: dict[str, Trial],
    ) -> Finding:
        spread, scrambled = self._spreads[layer]
        read = self._probe(layer, values, mixed)
        chosen = choose(layer, spread.scatters(values), trials) if trials else None
        if chosen is None:
            return read
        telling, count = questions[chosen.role].telling, chosen.basis.shape[1]
        others = {
            "rest": complement(chosen.basis),
            "shuffled": directions(*spread.scatters(mixed), RIDGES[0])[0][:, :count],
            "random": random_directions(self.stages.dim, count, self.seed),
        }
        untrained = directions(*scrambled.scatters(values), chosen.ridge)[0][:, :count]
        moved, hits = self._hits(layer, chosen.basis, others, untrained, questions[chosen.role])
        shares = {name: Share.of(int(hit.sum()), len(hit)) for name, hit in hits.items() if len(hit)}
        before = self.judge.states[telling.pairs.base, telling.pairs.at]
        return replace(
            read,
            causal=shares["causal"],
            stays=shares.get("stays"),
            controls={name: shares[name] for name in CONTROLS},
            rest=shares["rest"],
            chance=deal(moved, telling.predicted, before),
            role=chosen.role,
            dimension=count,
            ridge=chosen.ridge,
            pairs=len(telling),
            alike=telling.alike,
            final=layer == len(self.stages.blocks),
        )

    def _hits(
        self, layer: int, basis: Tensor, others: dict[str, Tensor], untrained: Tensor, question: StudyQuestion
    ) -> tuple[Numbers, dict[str, Hits]]:
        """Answers after swaps of the subspace; which of these, and of the controls, are as predicted."""
        telling, quiet = question.telling, question.telling.quiet
        answers = question.first.answers(layer, [basis, *others.values()])
        moved = np.concatenate([answers[:, 0], question.second.answers(layer, [basis])[:, 0]])
        unchanged = question.quiet.answers(layer, [basis])[:, 0] == self.judge.states[quiet.base, quiet.at]
        hits = {
            name: changed_as_predicted(self.judging, column, telling)
            for name, column in zip(("causal", *others), (moved, *answers.T[1:]), strict=True)
        }
        hits["untrained"] = changed_as_predicted(
            self.scrambled, question.scrambled.answers(layer, [untrained])[:, 0], telling
        )
        return moved, {**hits, "stays": unchanged}

    def _probe(self, layer: int, values: Numbers, mixed: Numbers) -> Finding:
        """A linear probe of the variable and of its shuffled labels, on the positions where it has values."""
        first = int((values >= 0).any(axis=0).argmax())
        shift = int(values[:, first:].min() < 0)
        probe = self._probes.get((layer, first))
        if probe is None:
            probe = self._probes[layer, first] = LinearProbe(self._letters(self.fitted, layer)[:, first:])
        result, control = (probe.judge(torch.from_numpy(one[:, first:] + shift)) for one in (values, mixed))
        words = len(values) - len(values) // 2
        share = Share(result.accuracy, *wilson(round(result.accuracy * words), words))
        gain = result.accuracy - control.accuracy
        return Finding(layer=layer, probe=share, baseline=result.baseline, selectivity=gain)

    def _letters(self, passed: Passed, layer: int) -> Tensor:
        return passed.streams[layer][:, len(self.stages.prompt) :]


def _repeated(fitted: Numbers, judged: Numbers) -> list[str]:
    """A note where there are so few words of this length that many of the test set are no new ones."""
    known = {word.tobytes() for word in fitted}
    again = float(np.mean([word.tobytes() in known for word in judged]))
    words = f"{again:.0%} of the test words are words that were fitted on: of {judged.shape[1]} letters there"
    return [f"{words} are few, and a probe may know them by heart"] if again > REPEATED else []


def changed_as_predicted(bench: Bench, answers: Numbers, telling: Telling) -> Hits:
    """Whether the answer is as predicted, and was not without the swap, on the first pairs."""
    predicted = telling.predicted[: len(answers)]
    plain = bench.passed.answers[telling.pairs.base, telling.pairs.at][: len(answers)]
    out: Hits = (answers == predicted) & (plain != predicted)
    return out


SHORTEST, LONGEST = 2, 40
"""Letters of the words that are studied, the most unless ``length`` is given."""

HEAD_WORDS = 64


def subject_of(network: Any, automaton: Semiautomaton | None = None, tokens: Any = None) -> Subject:
    """A network with its stream between blocks open, or that of a folder."""
    return kind_for(network, "understand needs", "subject").subject(network, automaton, tokens)


def by_position(subject: Subject, seed: int) -> ByPosition:
    """How often it is right at each letter of words that it is meant for."""

    def run(words: Numbers) -> Numbers:
        with torch.inference_mode():
            answers: Numbers = subject.stages.logits(words).argmax(-1).cpu().numpy()
        return answers

    return measure(
        run, subject.automaton, subject.length, lambda length: subject.draw(SEED + seed, TRIED, length)
    )


def understand(
    network: Any,
    *,
    automaton: AutomatonLike | None = None,
    tokens: Any = None,
    length: int | None = None,
    seed: int = 0,
    effort: float = 1.0,
) -> Report:
    """Which variables of the automaton's algebra a network holds after which block, and its heads' patterns.

    Args:
        network: a compiled network, a directory of ``krohn train``, ``compile`` or ``export --to hf``, or a
            GPT-2 of ``transformers``, saved or in memory.
        automaton: the automaton that a network of others should compute.
        tokens: the tokens of its letters and states, as for ``verify``.
        length: letters of the words that are studied; by default the longest of which it has 99% right (or
            90%, if there are none), up to 40.
        seed: of the words, the pairs and the controls.
        effort: how many words and pairs; 4 takes four times as many.
    """
    subject = subject_of(network, None if automaton is None else as_automaton(automaton), tokens)
    if subject.length < SHORTEST:
        raise InvalidInput(
            f"words must have at least {SHORTEST} letters, and this network takes {subject.length}; "
            "make one for longer words"
        )
    if length is not None and not SHORTEST <= length <= subject.length:
        raise InvalidInput(
            f"words must have between {SHORTEST} and {subject.length} letters for this network; got {length}"
        )
    curve = by_position(subject, seed)
    letters = min(curve.best(SHORTEST)[0], LONGEST) if length is None else length
    study = Study(subject, seed=seed, amount=Amount.of(effort), length=letters)
    passed = subject.stages.run(study.judge.letters[:HEAD_WORDS], attention=True)
    heads = classify_heads(subject.stages, passed, study.first_words(HEAD_WORDS))
    result = all_findings(study)
    return Report(
        network=subject.title,
        kind=subject.kind,
        automaton=subject.automaton.name,
        length=letters,
        layers=len(subject.stages.blocks),
        dim=subject.stages.dim,
        seed=seed,
        effort=effort,
        accuracy=study.accuracy,
        by_position=curve,
        length_is="measured" if length is None else "given",
        variables=tuple(zip(study.variables, map(tuple, result), strict=True)),
        whole=tuple(study.whole()),
        heads=tuple(heads),
        notes=tuple(study.notes),
    )


def all_findings(study: Study) -> list[list[Finding]]:
    """All variables of the study, in parallel; one thread each, so that no bit depends on the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(study.findings, study.variables))
    finally:
        torch.set_num_threads(before)
