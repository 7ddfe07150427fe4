"""The card of a layer: for each automaton, can it by theorem, did it learn, and up to which length."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from krohn.automata.zoo import AutomatonLike, as_automaton, split_specs
from krohn.base.files import path_of
from krohn.base.notebook import html_lines
from krohn.errors import InvalidInput, LimitExceeded
from krohn.lab.cards import card_files
from krohn.lab.cards.card_layer import CardLayer
from krohn.lab.cards.harness import (
    PRESETS,
    Effort,
    Factory,
    TrainingOutOfTime,
)
from krohn.lab.cards.layers import find_layer
from krohn.lab.cards.task_results import Clock, TaskResults, Tell, declaration
from krohn.lab.cards.time_estimate import estimate, in_time
from krohn.lab.tasks.batches import size_reasons

if TYPE_CHECKING:
    from krohn.lab.cards.control import ControlTable

TASKS = ("C2", "C3", "S3", "S5:adjacent", "A5", "FlipFlop", "Grid4", "Dyck4,2")


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
            "krohn": 1,  # first: by it a later card knows that it may write over this one
            "krohn_card": 1,
            "layer": self.layer,
            "rows": list(self.rows),
            "beside": card_files.find_beside([row["task"] for row in self.rows]),
            "settings": dict(self.settings),
            "remark": self.remark,
            "stopped": self.stopped,
        }

    def text(self) -> str:
        """A table for people."""
        return card_files.text(self.to_json())

    def _repr_html_(self) -> str:
        return html_lines(self.text())

    def save(self, directory: str | Path) -> list[Path]:
        """Writes card.json, card.html and badge.svg."""
        return card_files.save(self.to_json(), Path(directory))


def card(
    layer: str | Factory,
    tasks: str | Sequence[AutomatonLike] = TASKS,
    *,
    preset: str = "quick",
    seeds: int = 3,
    first_seed: int = 0,
    length: int | None = None,
    steps: int | None = None,
    batch: int | None = None,
    lr: float | None = None,
    width: int | None = None,
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
    automata, or names with commas between (``"C2,Dyck4,2"``). ``preset`` (quick, papers) sets length, steps,
    batch, lr and width where these are not given.

    The first seed of every automaton is trained before the second of any. Where it fails though no theorem
    forbids it, a linear layer that can, by theorem, is trained in the same way: the control. After
    ``minutes`` it stops, and the card says what is missing; a pass over long words that has begun is
    finished first. ``tell`` gets lines of progress; the folder ``out`` is written after each network.
    With ``control`` exact weights are run in the layer ``fla:GatedDeltaProduct``, and nothing is trained.
    """
    if control:
        trained = (preset, seeds, first_seed, length, steps, batch, lr, width, optimizer, minutes)
        return _control(layer, tasks, trained, device, out)
    if preset not in PRESETS:
        raise InvalidInput(f"a preset must be one of {', '.join(PRESETS)}; got {str(preset)[:40]!r}")
    given = {"length": length, "steps": steps, "batch": batch, "lr": lr, "width": width}
    sizes = PRESETS[preset] | {name: value for name, value in given.items() if value is not None}
    effort = Effort(**sizes, seeds=seeds, first_seed=first_seed, optimizer=optimizer)  # type: ignore[arg-type]
    described = find_layer(layer, effort.width)
    automata = [as_automaton(task) for task in (split_specs(tasks) if isinstance(tasks, str) else tasks)]
    if not automata:
        raise InvalidInput("a card needs at least one automaton; name them with --tasks C2,S3")
    too_large = [reason for automaton in automata for reason in size_reasons(automaton)]
    if too_large:
        raise LimitExceeded(too_large[0])
    if described.longest < 4 * effort.length:
        raise InvalidInput(
            f"long words must reach 4T = {4 * effort.length} letters; those of {described.name[:60]} end at "
            f"{described.longest}: take a smaller length"
        )
    _check_device(device)
    if out is not None:
        card_files.check_folder(path_of(out))
    clock = Clock(math.inf if minutes is None else 60 * minutes, tell or (lambda line: None))
    if tell is not None:
        tell(_promise(estimate(described, automata, effort, device), automata, effort, minutes))
    declare = "" if described.family else declaration(automata[0])
    remark = "; ".join(filter(None, (described.remark, declare)))
    results = [TaskResults(described, automaton, effort, device) for automaton in automata]

    def now() -> Card:
        rows = tuple(result.row() for result in results)
        ended = (
            f"the time limit of {minutes:g} minutes was reached" if clock.over and minutes else "not finished"
        )
        return Card(described.name, rows, _settings(effort, described, device), remark, _missing(rows, ended))

    def save() -> None:
        if out is not None:
            now().save(out)

    try:
        for seed in range(effort.first_seed, effort.first_seed + effort.seeds):
            for result in results:  # of every automaton one network before any has a second
                result.train(seed, clock)
                save()
                result.train_control(clock)
                save()
    except TrainingOutOfTime:
        clock.say("out of time")
        save()
    return now()


def _missing(rows: Sequence[Mapping[str, Any]], ended: str) -> str:
    """What is missing, after why; empty if nothing is."""
    lacking = [row for row in rows if row["seeds"] < row["asked"] or row["control_due"]]
    if not lacking:
        return ""
    names = {
        "not run": [row["task"] for row in lacking if not row["seeds"]],
        "fewer seeds than asked": [row["task"] for row in lacking if 0 < row["seeds"] < row["asked"]],
        "no control": [row["task"] for row in lacking if row["seeds"] and row["control_due"]],
    }
    said = "; ".join(f"{what}: {', '.join(tasks)}" for what, tasks in names.items() if tasks)
    return f"{ended}; {said}"


def _control(
    layer: str | Factory,
    tasks: str | Sequence[AutomatonLike],
    trained: tuple[object, ...],
    device: str,
    out: str | Path | None,
) -> "ControlTable":
    """Exact weights instead of training; settings of training are refused."""
    from krohn.lab.cards.control import control

    names = (
        "preset",
        "seeds",
        "first_seed",
        "length",
        "steps",
        "batch",
        "lr",
        "width",
        "optimizer",
        "minutes",
    )
    usual = signature(card).parameters
    idle = [name for name, value in zip(names, trained, strict=True) if value != usual[name].default]
    if idle:
        raise InvalidInput(f"a control trains nothing; leave out {', '.join(idle)}")
    return control(str(layer), None if tasks is TASKS else tasks, device=device, out=out)


def _promise(seconds: float, automata: Sequence[object], effort: Effort, minutes: float | None) -> str:
    """What will be done and how long it takes; controls come on top where networks fail."""
    count = len(automata) * effort.seeds
    limit = "" if minutes is None else f"; no longer than {minutes:g} minute{'s' * (minutes != 1)}"
    return (
        f"{count} network{'s' * (count != 1)} of {effort.steps:,} steps: "
        f"about {in_time(seconds)} if all of them learn, less if some do not, and a control "
        f"for each automaton where they fail{limit}"
    )


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
