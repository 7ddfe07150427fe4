"""Disguised networks whose algorithm is known, and what krohn understand finds in them.

The variables that each algorithm computes are stated. One criterion for all networks: swaps of a network's
own variables are followed in at least 99% of the cases, and swaps of another algorithm's variables near
chance, that is at most a quarter of the way from chance to 100%. Chance is the score of the same answers
permuted among swaps from one state. For another algorithm's variable, only pairs of words are used on which
none of the network's own variables predicts the same state. *Shared* variables, which are functions of what
the network's positions hold before the last block, are exempt; they are computed from the plain network on
all words, not stated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import torch

import krohn
from krohn.exporting.from_compiled import decoder_of_compiled
from krohn.lab.interpret.findings import Amount, Finding
from krohn.lab.interpret.readings import Numbers, Readings
from krohn.lab.interpret.stages import stages_of_decoder
from krohn.lab.interpret.subject import subject_of_decoder
from krohn.lab.interpret.understand import Study
from krohn.lab.interpret.variables import candidates
from krohn.lab.suite.disguise import ROTATED, disguise
from krohn.network.compiled import CompiledNetwork

LENGTH = {"Grid5": 8, "D6": 6}
RIGHT, NEAR = 0.99, 0.25
WINDOWS = ("map of the last 2 letters", "map of the last 4 letters")
SECTIONS = ("derived section 1 (C2)", "derived section 2 (C3)")
COUNTER: dict[str, Any] = {"method": "cascade", "objective": "blocks"}
LEVELS: dict[str, Any] = {"method": "cascade", "objective": "width"}

ALGORITHMS: dict[str, dict[str, tuple[dict[str, Any], tuple[str, ...]]]] = {
    "Grid5": {
        "scan": ({"method": "scan"}, WINDOWS),
        "paper": ({"method": "paper"}, ("holonomy level 2", "holonomy level 3", "holonomy level 4")),
        "cascade by levels": (LEVELS, ("holonomy set 2", "holonomy set 3")),
        "grid": ({"method": "grid"}, ("count of L",)),
        "cascade by a counter": (COUNTER, ("count of L",)),
    },
    "D6": {
        "scan": ({"method": "scan"}, WINDOWS),
        "paper": ({"method": "paper"}, SECTIONS),
        # Its second counter adds steps of -1, 0 and 1, so that the sum of residues is not a variable of it.
        "cascade": ({"method": "cascade"}, SECTIONS[:1]),
    },
}


@dataclass(frozen=True)
class Cell:
    """A variable in a network: its kind, and its best finding before the last block."""

    kind: str  # own, shared, other
    best: Finding | None

    @property
    def as_stated(self) -> bool:
        """Whether the finding meets the criterion."""
        if self.best is None or self.best.causal is None or self.kind == "shared":
            return self.kind != "own"
        return self.best.causal.value >= RIGHT if self.kind == "own" else self.beyond_chance <= NEAR

    @property
    def beyond_chance(self) -> float:
        """The causal share rescaled: 0 at chance, 1 where every swap is followed."""
        assert self.best is not None
        assert self.best.causal is not None
        chance = self.best.chance or 0.0
        return (self.best.causal.value - chance) / (1 - chance) if chance < 1 else 0.0


def variables_of(spec: str) -> tuple[str, ...]:
    """All variables that some algorithm of the automaton computes."""
    return tuple(dict.fromkeys(name for _, own in ALGORITHMS[spec].values() for name in own))


@cache
def compiled(spec: str, algorithm: str) -> CompiledNetwork:
    """The network before any disguise."""
    return krohn.compile(spec, length=LENGTH[spec], unproved=True, **ALGORITHMS[spec][algorithm][0])


@cache
def shared(spec: str, algorithm: str) -> frozenset[str]:
    """Variables that are functions of the stream after some block other than the last, on all words."""
    network = compiled(spec, algorithm)
    words = np.array(list(product(range(network.automaton.num_letters), repeat=LENGTH[spec])))
    stages = stages_of_decoder(decoder_of_compiled(network, normalized=False), torch.float64)
    streams = [stream[:, len(stages.prompt) :].numpy() for stream in stages.run(words).streams[1:-1]]
    readings = Readings(network.automaton, words)
    values = {v.name: v.values(readings) for v in candidates(network.automaton, LENGTH[spec])[0]}
    return frozenset(
        name for name in variables_of(spec) if any(_function(values[name], stream) for stream in streams)
    )


def _function(values: Numbers, stream: Any) -> bool:
    """Whether at each position equal rows [word, d], up to rounding, have equal values; −1 is no value."""
    for here, rows in zip(values.T, stream.swapaxes(0, 1).round(5), strict=True):
        row = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
        pairs = set(zip(row[here >= 0].tolist(), here[here >= 0].tolist(), strict=True))
        if len(pairs) > len({one for one, _ in pairs}):
            return False
    return True


def best_guess(spec: str, known: str, name: str) -> tuple[float, float]:
    """Accuracy of the best guess of a variable at the last letter of all words: without and with another.

    An algorithm that holds the variable ``known`` thereby also has the second share of the variable ``name``.
    """
    automaton = krohn.zoo(spec)
    words = np.array(list(product(range(automaton.num_letters), repeat=LENGTH[spec])))
    readings = Readings(automaton, words)
    values = {v.name: v.values(readings)[:, -1] for v in candidates(automaton, LENGTH[spec])[0]}
    table = np.zeros((values[known].max() + 1, values[name].max() + 1))
    np.add.at(table, (values[known], values[name]), 1 / len(words))
    return float(table.sum(0).max()), float(table.max(1).sum())


def cells(
    spec: str, algorithm: str, *, seed: int, effort: float, names: Sequence[str] = ()
) -> dict[str, Cell]:
    """The variables ``names``, or all of the table, in one network disguised with that seed."""
    network, own = compiled(spec, algorithm), ALGORITHMS[spec][algorithm][1]
    subject = subject_of_decoder(disguise(network, ROTATED, seed).decoder, network.automaton, "disguised")
    study = Study(subject, seed=seed, amount=Amount.of(effort), length=LENGTH[spec])
    assert study.accuracy.value == 1.0
    named = {v.name: v for v in study.variables}
    out = {}
    for name in names or variables_of(spec):
        kind = "own" if name in own else "shared" if name in shared(spec, algorithm) else "other"
        against = [named[one] for one in own] if kind == "other" else []
        out[name] = Cell(kind, _best(study.findings(named[name], against)))
    return out


def _best(findings: list[Finding]) -> Finding | None:
    """The layer with the highest share; after the last block only the read-out follows."""
    asked = [row for row in findings[:-1] if row.causal is not None]
    return max(asked, key=lambda row: row.causal.value if row.causal else 0.0, default=None)


if __name__ == "__main__":
    for spec in ALGORITHMS:
        for name in variables_of(spec):
            guess, informed = best_guess(spec, WINDOWS[1], name)
            print(f"{spec}: {WINDOWS[1]} tells {name} in {informed:.0%} of the words (a guess: {guess:.0%})")
