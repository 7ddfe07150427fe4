"""Sweeps: run only the missing runs; can be stopped at any moment and resumed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from krohn.errors import InvalidInput, UnknownName
from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.engines import Engine, Job, Outcome, Work, run_local, run_on_ray
from krohn.lab.experiments.experiment import Experiment, PlannedRun, Selection
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.record import Conflict, Member, Record
from krohn.lab.experiments.single_run import work as train_and_evaluate
from krohn.lab.experiments.store import Store
from krohn.lab.interpret.evaluation import Evaluation

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
        if self.engine not in ENGINES:
            raise UnknownName(f"an engine must be one of {', '.join(ENGINES)}; got {self.engine[:60]!r}")
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
    _join(store, experiment, scale, [run for run in planned if store.of_run(run.config.run_id)])
    missing = [run for run in planned if not is_done(store, run)]
    everywhere = _everywhere(experiment, scale, options.selection)
    deadline = None if options.time_limit is None else time.time() + options.time_limit
    wanted = _once_each(missing, [run for _, run in everywhere])
    # Lazy: skips what another process has stored meanwhile.
    jobs = (
        Job(
            run=run,
            directory=options.directory,
            device=options.device,
            deadline=deadline,
            keep=options.keep,
            progress=options.progress,
        )
        for run in wanted
        if not is_done(store, run)
    )
    errors: list[str] = []
    conflicts: list[Conflict] = []
    for outcome in ENGINES[options.engine](jobs, work):
        run = outcome.job.run
        say(_news(outcome))
        if outcome.error:
            errors.append(f"{run.config.run_id} ({_words(run)}): {outcome.error}")
        same = [result for result in everywhere if outcome.records and result[1].config == run.config]
        conflicts += store.put(outcome.records, _members(scale, same))
        if outcome.finished:
            # Only after storing: a full disk must cost the result only, never the training.
            outcome.job.clear()
    done = sum(is_done(store, run) for run in planned)
    begun = sum(bool(store.of_run(run.config.run_id)) for run in planned)
    return SweepReport(len(planned), done, begun - done, errors, conflicts)


def is_done(store: Store, run: PlannedRun) -> bool:
    """Whether every replicate has ended, by success or by divergence, and was evaluated."""
    records = store.of_run(run.config.run_id)
    return len(records) == run.config.replicates and all(_ended(record, run) for record in records)


def _ended(record: Record, run: PlannedRun) -> bool:
    measured = all(evaluation.name in record.evaluations for evaluation in run.evaluations)
    return record.status != "partial" and measured


def _everywhere(
    experiment: Experiment, scale: Scale, selection: Selection
) -> list[tuple[Experiment, PlannedRun]]:
    """The runs of all experiments at this scale, at the selected number of sequences; this one's first."""
    whole = Selection(sequences=selection.sequences)
    others = [other for other in EXPERIMENTS.values() if other.name != experiment.name]
    return [(result, run) for result in (experiment, *others) for run in whole.of(result.plan(scale))]


def _once_each(runs: Sequence[PlannedRun], others: Sequence[PlannedRun]) -> list[PlannedRun]:
    """Each run once, with the evaluations of every cell that shares it, here or in another experiment.

    Weights are not kept, so a measurement missed at the end of a run would mean retraining.
    """
    asked: dict[str, dict[str, Evaluation]] = {}
    for run in (*runs, *others):
        result = asked.setdefault(run.config.run_id, {})
        for evaluation in run.evaluations:
            result.setdefault(evaluation.name, evaluation)
    once = {run.config.run_id: run for run in reversed(runs)}
    order = dict.fromkeys(run.config.run_id for run in runs)
    return [replace(once[name], evaluations=tuple(asked[name].values())) for name in order]


def _join(store: Store, experiment: Experiment, scale: Scale, runs: Sequence[PlannedRun]) -> None:
    """Registers runs of another experiment for this one too."""
    store.put([], _members(scale, [(experiment, run) for run in runs]))


def _members(scale: Scale, runs: Sequence[tuple[Experiment, PlannedRun]]) -> list[Member]:
    return [
        Member(experiment=experiment.name, scale=scale, run_id=run.config.run_id, label=run.label)
        for experiment, run in runs
    ]


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
