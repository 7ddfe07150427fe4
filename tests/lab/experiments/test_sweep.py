"""A sweep runs missing runs once and can be stopped at any time."""

import fcntl
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO

import pytest

from krohn.errors import InvalidInput, KrohnError, UnknownName
from krohn.lab.experiments.all_experiments import EXPERIMENTS, experiment
from krohn.lab.experiments.engines import Job, claim
from krohn.lab.experiments.experiment import PlannedRun, Selection, cells_of
from krohn.lab.experiments.names import Scale, parse_scale
from krohn.lab.experiments.record import Conflict, Member, Record
from krohn.lab.experiments.single_run import work
from krohn.lab.experiments.store import Store, StoreUnwritable
from krohn.lab.experiments.sweep import SweepOptions, SweepReport, is_done, sweep
from lab.experiments.made_up_records import record
from lab.experiments.quick_experiment import QUICK, quick_run

Runs = list[tuple[str, int]]


def pretending(done: Runs, stop_after: int | None = None) -> Callable[[Job], tuple[Record, ...]]:
    """Fake work that records its jobs and may be interrupted."""

    def pretend(job: Job) -> tuple[Record, ...]:
        if stop_after is not None and len(done) >= stop_after:
            raise KeyboardInterrupt
        done.append((job.run.label["task"], job.run.label["depth"]))
        return tuple(finished(job.run, replicate) for replicate in range(2))

    return pretend


def finished(run: PlannedRun, replicate: int, accuracy: float = 0.5) -> Record:
    evaluations = {"length": {"at": [3, 6], "token": [1, 1], "sequence": [1, 1]}}
    return record(
        run.config.run_id,
        replicate,
        config=run.config.to_dict(),
        metrics={
            "accuracy": accuracy,
            "test": {"accuracy": accuracy},
            "evaluations": evaluations,
            "seconds": 3.0,
        },
    )


EVERYTHING = [("C2", 1), ("Grid4", 1), ("C2", 2), ("Grid4", 2)]


def test_a_sweep_runs_everything_once_and_then_nothing(tmp_path: Path) -> None:
    done: Runs = []
    with Store(tmp_path / "s") as store:
        report = sweep(QUICK, Scale.SMOKE, store, SweepOptions(), work=pretending(done))
        assert report == SweepReport(runs=4, done=4, partial=0)
        assert done == EVERYTHING
        sweep(QUICK, Scale.SMOKE, store, SweepOptions(), work=pretending(done))
        assert done == EVERYTHING
        assert len(store.records()) == 8
        assert len(cells_of(store, "quick", "smoke")) == 4


@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_interrupted_sweep_resumes_where_it_stopped(tmp_path: Path, after: int) -> None:
    done: Runs = []
    with Store(tmp_path / "s") as store:
        with pytest.raises(KeyboardInterrupt):
            sweep(QUICK, Scale.SMOKE, store, SweepOptions(), work=pretending(done, stop_after=after))
        assert len(store.records()) == 2 * after
    with Store(tmp_path / "s") as store:
        sweep(QUICK, Scale.SMOKE, store, SweepOptions(), work=pretending(done))
        assert done == EVERYTHING


def test_a_run_that_lacks_an_evaluation_is_made_again(tmp_path: Path) -> None:
    done: Runs = []
    first = QUICK.plan(Scale.SMOKE)[0]
    bare = [
        replace(finished(first, index), metrics={"accuracy": 0.5, "test": {"accuracy": 0.5}})
        for index in range(2)
    ]
    with Store(tmp_path / "s") as store:
        store.put(bare)
        report = sweep(QUICK, Scale.SMOKE, store, SweepOptions(), work=pretending(done))
        assert done == EVERYTHING
        assert report.done == 4
        # What both measured is the same: the fuller record stands, and nothing is in conflict.
        assert report.conflicts == []
        assert all(row.evaluations for row in store.records())


def test_a_run_made_for_another_experiment_counts(tmp_path: Path) -> None:
    done: Runs = []
    first = QUICK.plan(Scale.SMOKE)[0]
    with Store(tmp_path / "s") as store:
        store.put([finished(first, 0), finished(first, 1)])
        sweep(QUICK, Scale.SMOKE, store, SweepOptions(), work=pretending(done))
        assert done == EVERYTHING[1:]
        assert len(cells_of(store, "quick", "smoke")) == 4


def test_of_two_runs_of_one_cell_the_longer_one_is_shown(tmp_path: Path) -> None:
    """A run that was solved at once is not shorter than one that was given less."""
    short, long = (Selection(sequences=size).of(QUICK.plan(Scale.SMOKE))[0] for size in (400, 800))
    solved = [replace(finished(long, index, accuracy=1.0), sequences=8) for index in range(2)]
    failed = [replace(finished(short, index), sequences=400) for index in range(2)]
    cut = [replace(row, run_id="cut", status="partial", sequences=500) for row in failed]
    members = [
        Member(experiment="quick", scale="smoke", run_id=row.run_id, label=long.label)
        for row in (solved[0], failed[0], cut[0])
    ]
    with Store(tmp_path / "s") as store:
        for rows in (failed, cut, solved):
            store.put(rows, [member for member in members if member.run_id == rows[0].run_id])
            (cell,) = cells_of(store, "quick", "smoke")
            assert [row.key for row in cell.records] == [row.key for row in rows]


@pytest.mark.parametrize("scale", [Scale.SMOKE, Scale.SMALL])
def test_a_run_that_experiments_share_is_measured_alike_in_all(scale: Scale) -> None:
    """Whichever of them comes first, nothing is trained twice."""
    measured: dict[str, tuple[str, ...]] = {}
    shared = 0
    for each in EXPERIMENTS.values():
        for run in each.plan(scale):
            names = tuple(evaluation.name for evaluation in run.evaluations)
            shared += run.config.run_id in measured
            assert measured.setdefault(run.config.run_id, names) == names
    assert shared >= 6


def test_a_run_made_for_another_experiment_fills_its_cell_without_a_new_sweep(tmp_path: Path) -> None:
    planned = QUICK.plan(Scale.SMOKE)
    with Store(tmp_path / "s") as store:
        store.put([finished(planned[0], 0)])
        assert cells_of(store, "quick", "smoke") == []
        (cell,) = cells_of(store, "quick", "smoke", planned)
        assert cell.label == planned[0].label


def test_a_selection_runs_a_part(tmp_path: Path) -> None:
    done: Runs = []
    options = SweepOptions(selection=Selection(where={"task": ("C2",), "depth": ("2",)}))
    with Store(tmp_path / "s") as store:
        assert sweep(QUICK, Scale.SMOKE, store, options, work=pretending(done)) == SweepReport(1, 1, 0)
    assert done == [("C2", 2)]


def test_a_selection_may_change_the_number_of_sequences() -> None:
    (run, *_) = Selection(sequences=400).of(QUICK.plan(Scale.SMOKE))
    before = QUICK.plan(Scale.SMOKE)[0].config
    assert (run.config.steps, run.config.evaluation.every) == (100, 33)
    assert run.config.run_id != before.run_id
    assert run.config.task == before.task


def chosen(**where: tuple[str, ...]) -> Callable[[], object]:
    return lambda: Selection(where=where).of(QUICK.plan(Scale.SMOKE))


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        (UnknownName, "task must be one of C2; Grid4; got 'S5'", chosen(task=("S5",))),
        (UnknownName, "differ in task, depth; got 'colour'", chosen(colour=("red",))),
        (InvalidInput, "at least 1; got 0", lambda: Selection(sequences=0)),
        (InvalidInput, "at least 1; got -1", lambda: Selection(sequences=-1)),
        (UnknownName, "one of local, ray; got 'slurm'", lambda: SweepOptions(engine="slurm")),
        (InvalidInput, "0 seconds or more; got", lambda: SweepOptions(time_limit=-1.0)),
        (InvalidInput, "0 seconds or more; got", lambda: SweepOptions(time_limit=float("nan"))),
        (UnknownName, "one of depth, .*, taught, .*; got 'heat'", lambda: experiment("heat")),
        (UnknownName, "one of smoke, small, paper; got 'huge'", lambda: parse_scale("huge")),
    ],
)
def test_selections_that_select_nothing_are_refused(
    error: type[KrohnError], says: str, call: Callable[[], object]
) -> None:
    with pytest.raises(error, match=says):
        call()


def test_each_run_is_announced_as_it_comes_in(tmp_path: Path) -> None:
    lines: list[str] = []
    with Store(tmp_path / "s") as store:
        sweep(QUICK, Scale.SMOKE, store, SweepOptions(), work=pretending([]), say=lines.append)
    assert len(lines) == 4
    assert lines[0] == "task C2, depth 1: done, best 50.00%, median 50.00%, 1,000 sequences each, 3 s"


def test_no_run_is_begun_after_the_time_limit(tmp_path: Path) -> None:
    done: Runs = []
    with Store(tmp_path / "s") as store:
        report = sweep(QUICK, Scale.SMOKE, store, SweepOptions(time_limit=0), work=pretending(done))
    assert (done, report.done, report.runs) == ([], 0, 4)


def job(run: PlannedRun, folder: Path | None, deadline: float | None = None) -> Job:
    return Job(run=run, directory=folder, device="cpu", deadline=deadline)


def test_a_run_stopped_by_the_clock_is_kept_as_partial_and_ends_as_if_never_stopped(tmp_path: Path) -> None:
    run = quick_run("Grid4", 1)
    straight = work(job(run, None))
    partial = work(job(run, tmp_path / "checkpoints", deadline=1.0))
    assert [row.status for row in partial] == ["partial", "partial"]
    assert [row.sequences for row in partial] == [8, 8]
    assert all(row.evaluations == {} for row in partial)
    assert (tmp_path / "checkpoints" / run.config.run_id).is_dir()
    resumed = work(job(run, tmp_path / "checkpoints"))
    for one, other in zip(straight, resumed, strict=True):
        assert one.status == other.status == "done"
        assert one.sequences == other.sequences == 24
        assert {**one.metrics, "seconds": 0} == {**other.metrics, "seconds": 0}


def training_in_a_folder(asked: list[str]) -> Callable[[Job], tuple[Record, ...]]:
    """Work that leaves a folder behind, as training does."""

    def pretend(job: Job) -> tuple[Record, ...]:
        asked.append(job.run.config.run_id)
        assert job.directory is not None
        (job.directory / job.run.config.run_id).mkdir()
        return tuple(finished(job.run, replicate) for replicate in range(2))

    return pretend


def test_the_folder_of_a_run_goes_when_its_result_is_stored_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk may refuse the result; what was trained must still be there."""
    asked: list[str] = []
    options = SweepOptions(directory=tmp_path / "checkpoints")
    with Store(tmp_path / "s") as store:
        with monkeypatch.context() as full:
            full.setattr(store, "put", partial(refuse_records, store.put))
            with pytest.raises(StoreUnwritable, match="full"):
                sweep(QUICK, Scale.SMOKE, store, options, work=training_in_a_folder(asked))
        (folders,) = (tmp_path / "checkpoints").iterdir()
        assert [folders.name] == asked
        folders.rmdir()
        sweep(QUICK, Scale.SMOKE, store, options, work=training_in_a_folder(asked))
    assert len(asked) == 5
    assert list((tmp_path / "checkpoints").iterdir()) == []


def refuse_records(
    put: Callable[..., list[Conflict]], records: Sequence[Record], members: Sequence[Member]
) -> list[Conflict]:
    if records:
        raise StoreUnwritable("the disk is full")
    return put(records, members)


def test_partial_runs_and_weights_that_are_to_stay_keep_their_folder(tmp_path: Path) -> None:
    def stopped(job: Job) -> tuple[Record, ...]:
        return tuple(replace(row, status="partial") for row in training_in_a_folder([])(job))

    for name, keep, work_of in (("cut", False, stopped), ("kept", True, training_in_a_folder([]))):
        with Store(tmp_path / f"store of {name}") as store:
            options = SweepOptions(directory=tmp_path / name, keep=keep)
            sweep(QUICK, Scale.SMOKE, store, options, work=work_of)
        assert len(list((tmp_path / name).iterdir())) == 4


def test_two_sweeps_on_one_store_share_the_runs(tmp_path: Path) -> None:
    """While one sweep makes a run another passes it over, and takes up what is still missing."""
    result: dict[str, Runs] = {"one": [], "other": []}
    lines: list[str] = []
    options = SweepOptions(directory=tmp_path / "checkpoints")

    def first(job: Job) -> tuple[Record, ...]:
        if not result["other"]:
            with Store(tmp_path / "s") as same:
                work_of = pretending(result["other"])
                report = sweep(QUICK, Scale.SMOKE, same, options, work=work_of, say=lines.append)
                assert report == SweepReport(runs=4, done=3, partial=0)
        return pretending(result["one"])(job)

    with Store(tmp_path / "s") as store:
        assert sweep(QUICK, Scale.SMOKE, store, options, work=first).done == 4
    assert result == {"one": EVERYTHING[:1], "other": EVERYTHING[1:]}
    assert lines[0] == "task C2, depth 1: left to another process that is making it"
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_a_lock_on_a_file_that_was_just_removed_is_void(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise two processes would each hold a file of that name."""
    wanted = job(quick_run("C2", 1), tmp_path)
    lock = fcntl.flock

    def late(file: IO[bytes], how: int) -> None:
        (tmp_path / f".{wanted.run.config.run_id}.claim").unlink()
        lock(file, how)

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", late)
        with claim(wanted) as ours:
            assert not ours
    with claim(wanted) as ours, claim(wanted) as again:
        assert (ours, again) == (True, False)


def test_a_diverged_replicate_has_come_to_its_end(tmp_path: Path) -> None:
    """It is not run again, and does not make its run shorter than another of the same cell."""
    short, long = (Selection(sequences=size).of(QUICK.plan(Scale.SMOKE))[0] for size in (400, 800))
    records = [replace(finished(long, 0), sequences=8), replace(finished(long, 1), status="diverged")]
    shorter = [replace(finished(short, index), sequences=400) for index in range(2)]
    with Store(tmp_path / "s") as store:
        for run, rows in ((long, records), (short, shorter)):
            label = Member(experiment="quick", scale="smoke", run_id=run.config.run_id, label=run.label)
            store.put([replace(row, sequences=min(row.sequences, 400)) for row in rows], [label])
        (cell,) = cells_of(store, "quick", "smoke")
        assert {row.run_id for row in cell.records} == {long.config.run_id}
        assert is_done(store, long)


def test_the_weights_of_a_finished_run_stay_when_asked_for(tmp_path: Path) -> None:
    run = quick_run("C2", 1, steps=2)
    work(replace(job(run, tmp_path), keep=True))
    assert (tmp_path / run.config.run_id / "weights.safetensors").is_file()


def test_records_hold_what_a_reader_needs(tmp_path: Path) -> None:
    run = quick_run("C2", 1)
    first, second = work(job(run, None))
    assert (first.run_id, first.replicate, second.replicate) == (run.config.run_id, 0, 1)
    assert first.config == run.config.to_dict()
    assert first.metrics["curve"]["step"] == [2, 4, 6]
    assert len(first.metrics["curve"]["accuracy"]) == 3
    assert len(first.metrics["by_position"]) == 6
    assert first.metrics["accuracy"] == pytest.approx(max(first.metrics["curve"]["accuracy"]), abs=1e-4)
    assert first.evaluations["length"]["at"] == [3, 6]
    assert first.environment["device"] == "cpu"
    assert re.fullmatch(r"\d+\.\d+\.\d+\+[0-9a-f]{8}", first.code)
    assert first.started <= first.finished


def test_the_best_and_the_last_accuracy_are_both_kept() -> None:
    run = quick_run("Grid4", 1, steps=12, every=1)
    restless = replace(run.config, optimizer=replace(run.config.optimizer, lr=(0.3,), ema=0.0))
    for row in work(job(replace(run, config=restless), None)):
        curve = row.metrics["curve"]["accuracy"]
        assert row.metrics["accuracy"] == pytest.approx(max(curve), abs=1e-4)
        assert row.metrics["final_accuracy"] == pytest.approx(curve[-1], abs=1e-4)
        assert max(curve) > curve[-1] + 0.1


def test_a_replicate_that_diverges_is_recorded_as_such_beside_one_that_does_not() -> None:
    run = quick_run("C2", 1, steps=8)
    wild = replace(run.config.optimizer, lr=(1e38, 1e-3), clip=None, warmup=0)
    records = work(job(replace(run, config=replace(run.config, optimizer=wild)), None))
    assert [row.status for row in records] == ["diverged", "done"]
    assert [row.sequences for row in records] == [8, 32]


def test_a_solved_replicate_counts_only_the_sequences_it_saw() -> None:
    run = quick_run("C2", 1, steps=8)
    easy = replace(run.config, evaluation=replace(run.config.evaluation, stop_at=0.01))
    records = work(job(replace(run, config=easy), None))
    assert [row.sequences for row in records] == [8, 8]
    assert all(row.metrics["solved"] and row.status == "done" for row in records)
