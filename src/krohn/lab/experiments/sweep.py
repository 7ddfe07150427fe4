"""Sweeps: run only the missing runs; can be stopped at any moment and resumed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from krohn.errors import InvalidInput
from krohn.lab.experiments.engines import Engine, Job, Outcome, Work, run_local
from krohn.lab.experiments.experiment import Experiment, PlannedRun, Selection
from krohn.lab.experiments.names import Scale, check_engine
from krohn.lab.experiments.ray_engine import run_on_ray
from krohn.lab.experiments.record import Conflict, Record
from krohn.lab.experiments.single_run import work as train_and_evaluate
from krohn.lab.experiments.store import Store

ENGINES: dict[str, Engine] = {"local": run_local, "ray": run_on_ray}


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """Options of a sweep.

    Attributes:
        engine: local, or ray.
        device: cpu or cuda; none for the GPU if there is one.
        directory: the folder of checkpoints; none for no checkpoints.
        keep: whether to keep weights there when a run is finished.
        time_limit: seconds after which no run is begun and running ones stop at their next evaluation.
        selection: which of the experiment's runs.
        progress: whether to show a bar for each run.
    """

    engine: str = "local"
    device: str | None = None
    directory: Path | None = None
    keep: bool = False
    time_limit: float | None = None
    selection: Selection = field(default_factory=Selection)
    progress: bool = False

    def __post_init__(self) -> None:
        check_engine(self.engine)
        if self.time_limit is not None and not self.time_limit >= 0:
            raise InvalidInput(f"a time limit must be 0 seconds or more; got {self.time_limit}")


@dataclass(frozen=True)
class SweepReport:
    """Outcome of a sweep: runs requested, finished by now, begun but not finished, failed."""

    runs: int
    done: int
    partial: int
    errors: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


def sweep(
    experiment: Experiment,
    scale: Scale,
    store: Store,
    options: SweepOptions,
    *,
    work: Work = train_and_evaluate,
    say: Callable[[str], None] = lambda line: None,
) -> SweepReport:
    """Executes the missing runs of an experiment and stores each result as it completes.

    ``say`` gets one line for every run that completes.
    """
    planned = options.selection.of(experiment.plan(scale))
    members = [run.member(experiment.name, scale) for run in planned]
    # Runs that another experiment has made fill their cells here too.
    store.put([], [member for member in members if store.of_run(member.run_id)])
    # A run may fill several cells.
    cells = {
        name: tuple(member for member in members if member.run_id == name)
        for name in {member.run_id for member in members}
    }
    wanted = {run.config.run_id: run for run in planned if not is_done(store, run)}
    deadline = None if options.time_limit is None else time.time() + options.time_limit
    # Lazy: skips what another process has stored meanwhile.
    jobs = (
        Job(
            run=run,
            directory=options.directory,
            device=options.device,
            deadline=deadline,
            keep=options.keep,
            progress=options.progress,
            store=store.path.absolute(),
            members=cells[run.config.run_id],
        )
        for run in wanted.values()
        if not is_done(store, run)
    )
    errors: list[str] = []
    conflicts: list[Conflict] = []
    for outcome in ENGINES[options.engine](jobs, work):
        run = outcome.job.run
        say(_news(outcome))
        if outcome.error:
            errors.append(f"{run.config.run_id} ({_words(run)}): {outcome.error}")
        if outcome.records:
            conflicts += store.put(outcome.records, outcome.job.members)
        if outcome.finished:
            # Only after storing: a full disk must cost the result only, never the training.
            outcome.job.clear()
    return SweepReport(*count_runs(store, planned), errors, conflicts)


def count_runs(store: Store, planned: Sequence[PlannedRun]) -> tuple[int, int, int]:
    """How many runs there are, how many are finished, and how many are begun and not finished."""
    done = sum(is_done(store, run) for run in planned)
    begun = sum(bool(store.of_run(run.config.run_id)) for run in planned)
    return len(planned), done, begun - done


def is_done(store: Store, run: PlannedRun) -> bool:
    """Whether every replicate has ended, by success or by divergence, and was evaluated."""
    records = store.of_run(run.config.run_id)
    return len(records) == run.config.replicates and all(_has_ended(record, run) for record in records)


def _has_ended(record: Record, run: PlannedRun) -> bool:
    measured = all(evaluation.name in record.evaluations for evaluation in run.evaluations)
    return record.status != "partial" and measured


def _news(outcome: Outcome) -> str:
    name = _words(outcome.job.run)
    if not outcome.records:
        return f"{name}: {outcome.error or outcome.skipped or 'not begun, no time left'}"
    result = sorted(record.accuracy for record in outcome.records)
    ended = "done" if outcome.finished else "timed out"
    seen = max(record.sequences for record in outcome.records)
    return (
        f"{name}: {ended}, best {result[-1]:.2%}, median {median(result):.2%}, {seen:,} sequences each, "
        f"{outcome.records[0].metrics['seconds']:.0f} s"
    )


def _words(run: PlannedRun) -> str:
    return ", ".join(f"{name} {value}" for name, value in run.label.items())
