"""The card of a layer: for each automaton, can it by theorem, did it learn, and up to which length."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from inspect import signature
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import torch

from krohn.algebra.analysis import algebra_of
from krohn.automata.quotients import reachable
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import AutomatonLike, as_automaton, split_specs
from krohn.base.files import path_of
from krohn.errors import InvalidInput, LimitExceeded
from krohn.lab.cards import card_files
from krohn.lab.cards.harness import (
    Effort,
    Factory,
    FirstWrong,
    Trained,
    TrainingOutOfTime,
    first_wrong,
    logits_of,
    train_module,
)
from krohn.lab.cards.layers import CardLayer, find_layer
from krohn.lab.tasks.batches import size_reasons
from krohn.recurrent.capability import capability
from krohn.recurrent.family_verdict import FamilyVerdict
from krohn.recurrent.verdicts import verdicts

if TYPE_CHECKING:
    from krohn.lab.cards.control import ControlTable

TASKS = ("C2", "C3", "S3", "S5:adjacent", "A5", "FlipFlop", "Grid4", "Dyck4,2")
PASSES = 0.99
"""The share of letters that must be right for a seed to pass."""
SILENCE = 10.0
"""Seconds without output after which a progress line is printed."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Card:
    """The results: a row for each automaton.

    Attributes:
        layer: its name.
        rows: plain data, one dictionary for each automaton, as ``to_json`` writes them.
        settings: how it was trained and tested.
        remark: about the layer.
        stopped: why the card is incomplete; empty if it is complete.
    """

    layer: str
    rows: tuple[dict[str, Any], ...]
    settings: Mapping[str, Any]
    remark: str = ""
    stopped: str = ""

    def __repr__(self) -> str:
        result = ", ".join(f"{row['task']} {row['learned']['4T']} of {row['seeds']}" for row in self.rows)
        return f"<Card of {self.layer}, seeds that pass at 4T: {result[:140]}>"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "krohn_card": 1,
            "layer": self.layer,
            "rows": list(self.rows),
            "beside": card_files.find_beside(self.settings, [row["task"] for row in self.rows]),
            "settings": dict(self.settings),
            "remark": self.remark,
            "stopped": self.stopped,
        }

    def text(self) -> str:
        """A table for people."""
        return card_files.text(self.to_json())

    def save(self, directory: str | Path) -> list[Path]:
        """Writes card.json, card.html and badge.svg."""
        return card_files.save(self.to_json(), Path(directory))


def card(
    layer: str | Factory,
    tasks: str | Sequence[AutomatonLike] = TASKS,
    *,
    seeds: int = 3,
    first_seed: int = 0,
    length: int = 16,
    steps: int = 1000,
    width: int = 32,
    optimizer: str = "adamw",
    minutes: float | None = None,
    device: str = "cpu",
    out: str | Path | None = None,
    control: bool = False,
    tell: Tell | None = None,
) -> "Card | ControlTable":
    """Trains ``seeds`` networks on each automaton, and tests them on words of up to 100,000 letters.

    Their seeds are ``first_seed``, ``first_seed`` + 1, …, so a card can be continued.

    ``layer`` is a name (``"lstm"``, ``"gpt,positions=none"``, ``"pkg:factory"``) or a factory; ``tasks`` are
    automata, or names with commas between (``"C2,Dyck4,2"``). After
    ``minutes`` it stops, and the card says what is missing; a pass over long words that has begun is
    finished first. ``tell`` gets lines of progress; the folder ``out`` is written after each automaton.
    With ``control`` exact weights are run in the layer ``fla:GatedDeltaProduct``, and nothing is trained.
    """
    if control:
        trained = (seeds, first_seed, length, steps, width, optimizer, minutes)
        return _control(layer, tasks, trained, device, out)
    sizes = {"length": length, "steps": steps, "seeds": seeds, "first_seed": first_seed, "width": width}
    effort = Effort(**sizes, optimizer=optimizer)  # type: ignore[arg-type]
    described = find_layer(layer, width)
    automata = [as_automaton(task) for task in (split_specs(tasks) if isinstance(tasks, str) else tasks)]
    if not automata:
        raise InvalidInput("a card needs at least one automaton; name them with --tasks C2,S3")
    too_large = [reason for automaton in automata for reason in size_reasons(automaton)]
    if too_large:
        raise LimitExceeded(too_large[0])
    if described.longest < 4 * length:
        raise InvalidInput(
            f"long words must reach 4T = {4 * length} letters; those of {described.name[:60]} end at "
            f"{described.longest}: take a smaller length"
        )
    _check_device(device)
    if out is not None:
        card_files.check_folder(path_of(out))
    theorems = [theorem(automaton, described) for automaton in automata]
    clock = _Clock(math.inf if minutes is None else 60 * minutes, tell or (lambda line: None))
    if tell is not None:
        tell(_promise(estimate(described, automata, effort, device), automata, effort, minutes))
    declare = "" if described.family else declaration(automata[0])
    remark = "; ".join(filter(None, (described.remark, declare)))
    result = Card(described.name, (), _settings(effort, described, device), remark)
    for automaton, known in zip(automata, theorems, strict=True):
        row = _row(described, automaton, known, effort, device, clock)
        stopped = f"the time limit of {minutes:g} minutes was reached" if clock.over and minutes else ""
        result = replace(result, rows=(*result.rows, row), stopped=stopped)
        if out is not None:
            result.save(out)
    return result


def _control(
    layer: str | Factory,
    tasks: str | Sequence[AutomatonLike],
    trained: tuple[object, ...],
    device: str,
    out: str | Path | None,
) -> "ControlTable":
    """Exact weights instead of training; settings of training are refused."""
    from krohn.lab.cards.control import control

    names = ("seeds", "first_seed", "length", "steps", "width", "optimizer", "minutes")
    usual = signature(card).parameters
    idle = [name for name, value in zip(names, trained, strict=True) if value != usual[name].default]
    if idle:
        raise InvalidInput(f"a control trains nothing; leave out {', '.join(idle)}")
    return control(str(layer), None if tasks is TASKS else tasks, device=device, out=out)


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


class _Clock:
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
        self._last = time.monotonic()
        self._tell(f"{self._last - self._begin:6.0f} s  {line}")


def _row(
    layer: CardLayer,
    automaton: Semiautomaton,
    known: dict[str, Any],
    effort: Effort,
    device: str,
    clock: _Clock,
) -> dict[str, Any]:
    done: list[tuple[Trained, dict[str, Any] | None]] = []
    name = automaton.name or "automaton"
    try:
        for seed in range(effort.first_seed, effort.first_seed + effort.seeds):
            clock.start(f"{name}, seed {seed}", effort.steps)
            one = train_module(layer.factory, automaton, effort, seed, device, clock.check)
            held = None
            if one.right >= PASSES:
                far = first_wrong(one.module, automaton, layer.longest, device, clock.check)
                held = _held(far)
            # Only its numbers are kept: the modules of all seeds together need not fit into memory.
            done.append((one._replace(module=torch.nn.Identity()), held))
            clock.say(f"{name}, seed {seed}: {_in_words(one, held)}")
    except TrainingOutOfTime:
        clock.say(f"{name}: out of time after {len(done)} of {effort.seeds} seeds")
    learned = {
        "T": sum(one.right >= PASSES for one, _ in done),
        "4T": sum(one.right_at_4 >= PASSES for one, _ in done),
    }
    row = {
        "task": name,
        **known,
        "learned": learned,
        "seeds": len(done),
        "holds": [held for _, held in done],
        "curves": [[list(point) for point in one.curve] for one, _ in done],
        "accuracy": {"T": [one.right for one, _ in done], "4T": [one.right_at_4 for one, _ in done]},
        "first_step": [one.first_step for one, _ in done],
        "diverged": [one.diverged for one, _ in done],
        "steps": effort.steps,
        "seconds": round(median(one.seconds for one, _ in done), 2) if done else None,
        "parameters": done[0][0].parameters if done else None,
    }
    return row | {"conflict": conflict(row)}


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


# Time estimate


def estimate(layer: CardLayer, automata: Sequence[Semiautomaton], effort: Effort, device: str) -> float:
    """Estimated seconds of the whole card if every network learns: from a few steps and a short pass."""
    return sum(_pace(layer, automaton, effort, device) for automaton in automata)


def _pace(layer: CardLayer, automaton: Semiautomaton, effort: Effort, device: str) -> float:
    """Estimated seconds for one automaton, from the median of a few steps and timed passes of two lengths."""
    starts: list[float] = []
    few = replace(effort, steps=5, seeds=1, tested=1)
    tried = train_module(layer.factory, automaton, few, 0, device, lambda: starts.append(time.monotonic()))
    step = median([after - before for before, after in pairwise(starts)] or [0.0])
    read = min(1024, layer.longest)

    def once(letters: int) -> float:
        begin = time.monotonic()
        with torch.no_grad():
            words = torch.zeros(16, letters, dtype=torch.long, device=device)
            logits_of(tried.module, words, automaton.num_states).cpu()
        return time.monotonic() - begin

    # The least of three: an interruption would pass for attention's square.
    passes = [min(once(letters) for _ in range(3)) for letters in (read // 4, read)]
    growth = 2 if passes[1] > 8 * passes[0] else 1  # four times the letters: four or sixteen times the time
    longest: float = passes[1] * (layer.longest / read) ** growth * 8 / 7  # includes the prefixes
    return effort.seeds * (effort.steps * step + longest)


def _promise(seconds: float, automata: Sequence[object], effort: Effort, minutes: float | None) -> str:
    count = len(automata) * effort.seeds
    limit = "" if minutes is None else f"; no longer than {minutes:g} minute{'s' * (minutes != 1)}"
    return (
        f"{count} network{'s' * (count != 1)} of {effort.steps:,} steps: "
        f"about {in_time(seconds)} if all of them learn, less if some do not{limit}"
    )


def in_time(seconds: float) -> str:
    """A length of time for people."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def _check_device(device: str) -> None:
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InvalidInput(f"the device must be there, cpu or cuda; {device[:20]!r} is not") from error


def _settings(effort: Effort, layer: CardLayer, device: str) -> dict[str, Any]:
    return vars(effort) | {
        "family": layer.family,
        "layers": layer.layers,
        "letter_steps": layer.steps,
        "longest": layer.longest,
        "device": device,
        "torch": torch.__version__,
    }
