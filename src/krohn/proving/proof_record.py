"""What a proof tells people: a line for each head and MLP that was checked, and where a failed one stops."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from krohn.check.files.reader import Network
from krohn.check.files.witness import Attention, Back, Cells, Fold, Rule, Scan, Sum, Tabulate
from krohn.check.transformer.stream import Moment
from krohn.errors import counted
from krohn.proving.claims import Check, place
from krohn.proving.witness.machines import middle
from krohn.proving.witness.search import WitnessWalk

OWN_PLACES = ("block ", "read-out", "embedding", "proof")
"""Prefixes of the small checker's refusals, which name their place themselves."""


@dataclass(frozen=True)
class Refutation:
    """Where and why a proof does not go through; ``word``: one on which it fails, where one is known."""

    name: str
    layer: int
    reason: str
    word: tuple[int, ...] | None

    def __str__(self) -> str:
        return self.reason if self.reason.startswith(self.name) else f"{self.name}: {self.reason}"


def refutation_text(failure: Refutation, depth: int) -> str:
    """The cause of a failure, with its place unless the small checker has named it."""
    return (
        failure.reason if failure.name.startswith(OWN_PLACES) else f"{place(failure.layer, depth)}: {failure}"
    )


def blame_weights(reason: str) -> str:
    """The cause without advice about rounding, for a word that is wrong in float64 too."""
    kept = [part for part in reason.split("; ") if "wider dtype" not in part]
    return "; ".join([*kept, "the weights are at fault, not rounding: a word is wrong in float64 too"])


@dataclass
class ProofRecord:
    """Collects the checks of a proof while it runs, and the one that fails."""

    layer: int = 0  # from 1; 0: the whole network; depth + 1: the read-out
    checks: list[Check] = field(default_factory=list)
    witness: dict[str, Any] | None = None  # as given to the small checker

    def note(self, name: str, text: str, bound: float = 0.0, limit: float = 1.0) -> None:
        """Records a check, by default one that was decided exactly."""
        self.checks.append(Check(name, self.layer, float(bound), float(limit), True, text))

    def refuse(self, name: str, reason: str, word: tuple[int, ...] | None = None) -> Refutation:
        """Records a failed check."""
        self.checks.append(Check.exact(name, self.layer, passed=False, text=reason))
        return Refutation(name, self.layer, reason, word)


def note_steps(record: ProofRecord, walk: WitnessWalk, margin: float | None) -> None:
    """A line per head and MLP, then decoding and simulation."""
    record.layer = 0
    for step in walk.steps:
        if isinstance(step, Attention):
            record.layer += 1
            for number, rule in enumerate(step.heads, 1):
                record.note(*_rule_text(number, rule))
        elif isinstance(step, Tabulate):
            states, classes = step.lift.follow.shape[0], int(step.lift.shown.max()) + 1
            folds = ", ".join(_fold_text(fold) for fold in step.folds)
            reads = f"; sums read {folds}" if folds else ""
            record.note("MLP", f"{counted(classes, 'class', 'classes')}, {counted(states, 'state')}{reads}")
    if margin is not None:
        _note_end(record, walk.moment, walk.network, margin)


def note_parts(record: ProofRecord, walks: Sequence[WitnessWalk], margin: float) -> None:
    """What each part is, then what holds of all."""
    for number, walk in enumerate(walks, 1):
        machine = counted(len(walk.moment.machine.follow), "state")
        shows = counted(walk.network.readout.shape[1], "output")
        record.note("part", f"part {number} is proved alone: a machine of {machine} shows {shows}")
    record.layer = len(walks[0].network.layers) + 1
    record.note("parts", f"no part reads another, and together they lead by {margin:.3g}")


def note_scan(record: ProofRecord, scan: Scan, depth: int, margin: float) -> None:
    """Windows double layer by layer."""
    for layer in range(1, depth + 1):
        record.layer = layer
        rounds = len(scan.cuts[layer - 1]) if scan.cuts else 0
        text = f"every position stands for a window of {2**layer} letters"
        if rounds:
            text = f"the MLP composes the letters of the whole window in {rounds + 1} rounds"
        record.note("composition", text)
    record.layer = depth + 1
    record.note("intervals", f"the last window reaches the first letter; {scan.letters.shape[1]} points")
    record.note("decode", f"every composition decodes with a margin of {margin:.3g}")
    record.note("simulation", "every composition of letters decodes to the automaton's state")


def _note_end(record: ProofRecord, moment: Moment, network: Network, margin: float) -> None:
    record.layer = len(network.layers) + 1
    logits = middle(moment.box) @ network.readout + network.readout_bias
    ordered = np.sort(logits, axis=1)
    ideal = float((ordered[:, -1] - ordered[:, -2]).min()) if logits.shape[1] > 1 else np.inf
    text = f"{len(logits):,} classes decode by the largest logit"
    if np.isfinite(ideal):
        record.note("decode", text, float(np.maximum(ideal - margin, 0.0)), float(np.maximum(ideal, margin)))
    else:
        record.note("decode", text)
    record.note(
        "simulation",
        f"the machine of {counted(len(moment.machine.follow), 'state')} runs as the automaton does",
    )


def _rule_text(number: int, rule: Rule) -> tuple[str, str]:
    if isinstance(rule, Sum):
        return (
            "prefix sum",
            f"head {number}: equal weights on all letters, {counted(rule.steps.shape[1], 'sum')}",
        )
    if isinstance(rule, Back):
        return "look-back", f"head {number}: {rule.distance} positions back"
    if isinstance(rule, Cells):
        end = "earliest" if rule.earliest else "latest"
        return "memory", f"head {number}: the {end} of the best of {len(rule.member)} kinds"
    return "silent head", f"head {number}: adds nothing"


def _fold_text(fold: Fold) -> str:
    return f"mod {fold.modulus}" if fold.modulus else f"from {fold.low} to {fold.high}"
