"""What was trained on one automaton, and the verdict: cannot, did not learn, or no verdict at all.

That training fails says something about a layer only if a layer that can, by theorem, learns the same from
the same words: the control. Accuracy at the trained length alone does not count as learned, since layers
that cannot track the state reach it too.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from statistics import median
from typing import Any

import torch

from krohn.algebra.analysis import algebra_of
from krohn.automata.quotients import reachable
from krohn.automata.semiautomaton import Semiautomaton
from krohn.lab.cards.card_layer import CardLayer
from krohn.lab.cards.harness import Effort, FirstWrong, Trained, TrainingOutOfTime, first_wrong, train_module
from krohn.lab.cards.layers import find_layer
from krohn.recurrent.capability import capability
from krohn.recurrent.family_verdict import FamilyVerdict
from krohn.recurrent.verdicts import verdicts

PASSES = 0.99
"""The share of letters that must be right for a seed to pass."""
SILENCE = 10.0
"""Seconds without output after which a progress line is printed."""

Tell = Callable[[str], None]


def theorem(automaton: Semiautomaton, layer: CardLayer) -> dict[str, Any]:
    """``can`` (yes, no, open), why, under which assumptions, and where that is proved."""
    if layer.family is None:
        reason = "no family is declared, so no theorem is applied"
        return {"can": "open", "reason": reason, "assumes": "", "source": ""}
    can, reason = capability(automaton, layer.family, layer.layers, layer.steps)
    (row,) = (row for row in _families(automaton) if row.name.lower() == layer.family.lower())
    answer = {True: "yes", False: "no", None: "open"}[can]
    return {"can": answer, "reason": reason or row.reason, "assumes": row.assumptions, "source": row.source}


def declaration(automaton: Semiautomaton) -> str:
    """What the author of a layer may declare so that theorems apply to it."""
    names = ", ".join(row.name for row in _families(automaton))
    return (
        'theorems apply to a layer whose factory has card = {"family": "diagonal complex"}, say, '
        f"and layers and steps where there are several; the families are {names}"
    )


@cache
def _families(automaton: Semiautomaton) -> tuple[FamilyVerdict, ...]:
    return verdicts(automaton, algebra_of(reachable(automaton)))


class Clock:
    """Enforces a time limit, and reports progress: every result, and every few seconds what is being done."""

    def __init__(self, limit: float, tell: Tell) -> None:
        self._begin, self._limit, self._tell = time.monotonic(), limit, tell
        self._last, self._name, self._steps, self._done = self._begin, "", 0, 0
        self.over = False

    def start(self, name: str, steps: int) -> None:
        """Called before a network of that name is trained for ``steps`` steps."""
        self._name, self._steps, self._done = name, steps, 0

    def check(self) -> None:
        """Called before every step of training and every pass over long words."""
        now = time.monotonic()
        if now - self._begin > self._limit:
            self.over = True
            raise TrainingOutOfTime
        if now - self._last > SILENCE:
            training = self._done < self._steps
            self.say(
                f"{self._name}: "
                + (f"step {self._done:,} of {self._steps:,}" if training else "trained; reading long words")
            )
        self._done += 1

    def say(self, line: str) -> None:
        """Reports a line with the time so far."""
        self._last = time.monotonic()
        self._tell(f"{self._last - self._begin:6.0f} s  {line}")


class TaskResults:
    """What was trained on one automaton: networks of the layer and, where they fail, of a control."""

    def __init__(self, layer: CardLayer, automaton: Semiautomaton, effort: Effort, device: str) -> None:
        self.layer, self.automaton, self.effort, self.device = layer, automaton, effort, device
        self.name = automaton.name or "automaton"
        self.known = theorem(automaton, layer)
        self.done: list[tuple[Trained, dict[str, Any] | None]] = []
        self.control: dict[str, Any] | None = None

    def train(self, seed: int, clock: Clock) -> None:
        """One network of the layer."""
        clock.start(f"{self.name}, seed {seed}", self.effort.steps)
        one = train_module(self.layer.factory, self.automaton, self.effort, seed, self.device, clock.check)
        held = None
        if one.right >= PASSES:
            far = first_wrong(one.module, self.automaton, self.layer.longest, self.device, clock.check)
            held = _held(far)
        # Only its numbers are kept: the modules of all seeds together need not fit into memory.
        self.done.append((one._replace(module=torch.nn.Identity()), held))
        clock.say(f"{self.name}, seed {seed}: {_in_words(one, held)}")

    @property
    def control_due(self) -> bool:
        """Whether the verdict needs a control that was not trained: a failure that no theorem explains."""
        shares = [(one.right, one.right_at_4) for one, _ in self.done]
        open_ = self.known["can"] != "no" and not _most_pass(shares)
        return bool(self.done) and open_ and self.control is None

    def train_control(self, clock: Clock) -> None:
        """A layer that can, by theorem, trained in the same way, if it is due."""
        if not self.control_due:
            return
        other = control_layer(self.layer, self.automaton, self.effort.width)
        clock.start(f"{self.name}, control {other.name}", self.effort.steps)
        seed = self.effort.first_seed
        one = train_module(other.factory, self.automaton, self.effort, seed, self.device, clock.check)
        self.control = {
            "layer": other.name,
            "seed": seed,
            "accuracy": {"T": one.right, "4T": one.right_at_4},
            "learned": passes_both(one.right, one.right_at_4),
            "seconds": round(one.seconds, 2),
        }
        clock.say(f"{self.name}, control {other.name}: {_in_words(one, None)}")

    def row(self) -> dict[str, Any]:
        """The row of the card, so far."""
        done = [one for one, _ in self.done]
        row = {
            "task": self.name,
            **self.known,
            "learned": {
                "T": sum(one.right >= PASSES for one in done),
                "4T": sum(one.right_at_4 >= PASSES for one in done),
            },
            "seeds": len(done),
            "asked": self.effort.seeds,
            "holds": [held for _, held in self.done],
            "curves": [[list(point) for point in one.curve] for one in done],
            "accuracy": {"T": [one.right for one in done], "4T": [one.right_at_4 for one in done]},
            "by_position": [one.by_position.to_json() if one.by_position else None for one in done],
            "first_step": [one.first_step for one in done],
            "diverged": [one.diverged for one in done],
            "steps": self.effort.steps,
            "seconds": round(median(one.seconds for one in done), 2) if done else None,
            "parameters": done[0].parameters if done else None,
            "control": self.control,
            "control_due": self.control_due,
        }
        return row | {"conflict": conflict(row), "verdict": verdict(row)}


CONTROLS = ("deltaproduct,householders=2", "deltaproduct,householders=4", "lstm", "gru")
"""Linear ones first: taken is the first that can, by theorem, and is another layer. An LSTM always can."""


def control_layer(layer: CardLayer, automaton: Semiautomaton, width: int) -> CardLayer:
    """The control for a layer on an automaton."""
    others = (find_layer(name, width) for name in CONTROLS if name != layer.name)
    return next(other for other in others if theorem(automaton, other)["can"] == "yes")


def passes_both(right: float, right_at_4: float) -> bool:
    """Whether a network is right at T and at 4T: at T alone one that cannot track may pass."""
    return right >= PASSES and right_at_4 >= PASSES


def _most_pass(shares: Sequence[tuple[float, float]]) -> bool:
    """Whether more than half of the seeds pass, each by its shares at T and at 4T."""
    return 2 * sum(passes_both(*pair) for pair in shares) > len(shares)


NOT_RUN, LEARNED, CANNOT = "not run", "learned", "cannot (theorem)"
DID_NOT = "did not learn while the control did"
FAILED_TOO, NO_CONTROL = "control failed too: no verdict", "control not run: no verdict"
CAN = "can, "
"""Before the verdict on a layer that did not learn, if it can by theorem."""


def verdict(row: Mapping[str, Any]) -> str:
    """What training says: without a seed nothing, and of a failure nothing without a control."""
    if not row["seeds"]:
        return NOT_RUN
    if _most_pass(list(zip(row["accuracy"]["T"], row["accuracy"]["4T"], strict=True))):
        return LEARNED
    if row["can"] == "no":
        return CANNOT
    if row["control"] is None:
        return NO_CONTROL
    if not row["control"]["learned"]:
        return FAILED_TOO
    return f"{CAN if row['can'] == 'yes' else ''}{DID_NOT}"


def _held(far: FirstWrong) -> dict[str, Any]:
    right = far.tested if far.letter is None else far.letter - 1
    return {"letters": right, "first_wrong": far.letter, "word": far.word, "tested": far.tested}


def _in_words(one: Trained, held: dict[str, Any] | None) -> str:
    shares = f"{one.right:.2%} of the letters right at T, {one.right_at_4:.2%} at 4T"
    if one.diverged is not None:
        return f"{shares}; diverged: the loss of step {one.diverged:,} is not finite"
    if held is None:
        return shares
    if held["first_wrong"] is None:
        return f"{shares}; none wrong in {held['tested']:,}"
    return f"{shares}; first wrong letter {held['first_wrong']:,} ({held['word']})"


def conflict(row: Mapping[str, Any]) -> str:
    """Why a layer that cannot, by theorem, was still right at 4 T; empty if there is no conflict."""
    if row["can"] != "no" or not row["learned"]["4T"]:
        return ""
    pairs = zip(row["holds"], row["accuracy"]["4T"], strict=True)
    held = [one for one, share in pairs if share >= PASSES and one is not None]
    endless = [one["tested"] for one in held if one["first_wrong"] is None]
    if endless:
        return (
            f"no wrong letter in {max(endless):,}: an assumption of the theorem does not hold here "
            f"({row['assumes']}; the layer belongs to the family that its card names), "
            "or the words that it gets wrong are not among those tried"
        )
    ends = sorted(one["first_wrong"] for one in held)
    wrong = (
        f"is wrong on other words, for the first time at letter {ends[0]:,} to {ends[-1]:,}"
        if ends
        else "fails at T, so the longer words are the easier ones here"
    )
    return (
        "random words of 4T letters are too short for the theorem, or too easy: "
        f"every network that passes there {wrong}"
    )
