"""An experiment: its runs, all or some of them, and a table and figures from their records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from krohn.base.files import shown
from krohn.errors import InvalidFile, InvalidInput, UnknownName
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.record import Member, Record, canonical
from krohn.lab.experiments.store import Store
from krohn.lab.figures.style import Figure
from krohn.lab.interpret.evaluation import Evaluation
from krohn.lab.training.config import RunConfig
from krohn.lab.training.trained_network import TrainedNetwork

Row = dict[str, Any]
Label = Mapping[str, Any]
"""What distinguishes a cell of an experiment: its task, and what varies there."""
Figures = dict[str, Figure]
"""Figures by the stem of their files."""


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """One run of an experiment: its complete config, the cell it fills, what is measured at the end."""

    config: RunConfig
    label: Label
    evaluations: tuple[Evaluation, ...] = ()

    def measure(self, trained: TrainedNetwork) -> dict[str, Any]:
        """All evaluations, of the weights in the precision they were trained in."""
        return {evaluation.name: evaluation.measure(trained) for evaluation in self.evaluations}

    def member(self, experiment: str, scale: str) -> Member:
        """The run as a part of an experiment."""
        return Member(experiment=experiment, scale=scale, run_id=self.config.run_id, label=self.label)


@dataclass(frozen=True, kw_only=True)
class ResultCell:
    """The records of one run under the label it has in an experiment."""

    label: Label
    records: tuple[Record, ...]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One figure or table of the paper.

    Attributes:
        name: what the command line calls it.
        title: one line for people.
        claim: what the paper found.
        plan: the runs at a scale, in order of execution.
        table: rows for people and machines, a pure function of the cells.
        draw: figures, a pure function of the cells and the scale.
        departures: where a scale departs from the paper's settings, beyond what all experiments share.
    """

    name: str
    title: str
    claim: str
    plan: Callable[[Scale], list[PlannedRun]]
    table: Callable[[Sequence[ResultCell]], list[Row]]
    draw: Callable[[Sequence[ResultCell], Scale], Figures]
    departures: Mapping[Scale, str] = field(default_factory=dict)


def cells_of(
    store: Store, experiment: str, scale: str, planned: Sequence[PlannedRun] = ()
) -> list[ResultCell]:
    """The cells an experiment has in a store; a planned run made for another experiment fills its cell too.

    After a change of a recipe or its length two runs may have the same label; the longer one wins.
    """
    best: dict[str, ResultCell] = {}
    known = store.members(experiment, scale)
    for member in (*known, *(run.member(experiment, scale) for run in planned)):
        records = tuple(store.of_run(member.run_id))
        name = canonical(dict(member.label))
        if not records:
            continue
        cell = _cell(member, records)
        if name not in best or _extent(records) > _extent(best[name].records):
            best[name] = cell
    return list(best.values())


def _cell(member: Member, records: tuple[Record, ...]) -> ResultCell:
    """The cell, its task first; refuses records without the fields that every table needs."""
    try:
        label = {"task": member.label["task"], **member.label}
        for record in records:
            optimizer, length = record.config["optimizer"], record.config["task"]["length"]
            result = [record.config["steps"], optimizer["batch"], length, record.metrics["accuracy"]]
            wrong = [value for value in (*result, *optimizer["lr"]) if type(value) not in (int, float)]
            if wrong or not optimizer["lr"]:
                raise TypeError(f"{shown(wrong[0]) if wrong else 'the learning rate'} is not a number")
    except (KeyError, TypeError) as error:
        raise InvalidFile(
            f"the records of run {shown(member.run_id)} must have a config, a label and metrics as krohn "
            f"writes them; {type(error).__name__} {str(error)[:80]}"
        ) from error
    return ResultCell(label=label, records=records)


def _extent(records: Sequence[Record]) -> int:
    """The sequence budget of a finished run, else the sequences it saw."""
    if all(record.status != "partial" for record in records):
        config = records[0].config
        return int(config["steps"]) * int(config["optimizer"]["batch"])
    return max(record.sequences for record in records)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which runs, and how long.

    Attributes:
        where: for some parts of the label (task, depth, model, …) the values to run; empty for all.
        sequences: training words of each replicate, instead of the recipe's number; the run gets another id.
    """

    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sequences: int | None = None

    def __post_init__(self) -> None:
        if self.sequences is not None and self.sequences < 1:
            raise InvalidInput(f"the number of sequences must be at least 1; got {self.sequences}")

    def of(self, planned: Sequence[PlannedRun]) -> list[PlannedRun]:
        """The chosen runs; a value that no run has is refused with the list of the known."""
        for part, values in self.where.items():
            known = list(dict.fromkeys(str(run.label.get(part, "")) for run in planned))
            if known == [""]:
                parts = ", ".join(planned[0].label)
                raise UnknownName(f"runs of this experiment differ in {parts}; got {part!r}")
            for value in values:
                if value not in known:
                    raise UnknownName(f"{part} must be one of {'; '.join(known)}; got {value!r}")
        chosen = [
            run
            for run in planned
            if all(str(run.label.get(part, "")) in values for part, values in self.where.items() if values)
        ]
        return [self._resize(run) for run in chosen]

    def _resize(self, run: PlannedRun) -> PlannedRun:
        if self.sequences is None:
            return run
        config = run.config
        steps = max(1, self.sequences // config.optimizer.batch)
        # As many evaluations as the recipe has, so that curves stay comparable.
        every = max(1, config.evaluation.every * steps // config.steps)
        evaluation = replace(config.evaluation, every=every)
        return replace(run, config=replace(config, steps=steps, evaluation=evaluation))
