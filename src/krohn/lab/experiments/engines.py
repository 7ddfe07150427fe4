"""Runs as serialisable jobs, made in this process one after the other; ``ray_engine.py`` has a cluster."""

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from krohn.lab.experiments.experiment import PlannedRun
from krohn.lab.experiments.record import Member, Record
from krohn.lab.training.directory_lock import lock

if TYPE_CHECKING:
    from krohn.lab.training.loop import TrainResult


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run to make.

    Attributes:
        run: what to train and measure.
        directory: the folder of checkpoints, one folder in it for each run; none for no checkpoints.
        device: cpu or cuda.
        deadline: Unix time by which to stop training.
        keep: whether to keep the weights in ``directory`` once the run is finished.
        progress: whether to show a bar on stderr.
        after: called with the outcome of the training.
        store: where a worker of a cluster writes its records, too: a driver that dies loses none.
        members: the cells that the run fills.
    """

    run: PlannedRun
    directory: Path | None
    device: str | None
    deadline: float | None = None
    keep: bool = False
    progress: bool = False
    after: Callable[["TrainResult"], object] | None = None
    store: Path | None = None
    members: tuple[Member, ...] = ()

    def seconds_left(self) -> float | None:
        """Time until the deadline, never negative; none without a deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.time())

    def clear(self) -> None:
        """Removes the run's folder, unless its weights are to be kept."""
        if self.directory is not None and not self.keep:
            shutil.rmtree(self.directory / self.run.config.run_id, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The records of a job, or one line that says why there are none: an error, or it was skipped."""

    job: Job
    records: tuple[Record, ...] = ()
    error: str = ""
    skipped: str = ""

    @property
    def finished(self) -> bool:
        """Whether every replicate is finished."""
        return bool(self.records) and all(record.status != "partial" for record in self.records)


Work = Callable[[Job], tuple[Record, ...]]
Engine = Callable[[Iterable[Job], Work], Iterator[Outcome]]


@contextmanager
def claim(job: Job) -> Iterator[bool]:
    """Tries to lock the run; the lock is held until the block, or this process, ends.

    Sweeps that share a checkpoint folder share the work: each run is locked by one process at a time. On
    Windows, where nothing is locked, two sweeps must not share a folder.
    """
    if job.directory is None:
        yield True
        return
    job.directory.mkdir(parents=True, exist_ok=True)
    path = job.directory / f".{job.run.config.run_id}.claim"
    with path.open("ab") as file:
        # The previous holder may have unlinked the file opened here.
        ours = lock(file) and path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
        try:
            yield ours
        finally:
            if ours:
                path.unlink(missing_ok=True)


def run_local(jobs: Iterable[Job], work: Work) -> Iterator[Outcome]:
    """Yields outcomes as they are ready; an error ends the sweep, since the next run would hit it too.

    A run stays locked until the next one is requested, so that its result is stored by then.
    """
    for job in jobs:
        if job.seconds_left() == 0:
            return
        with claim(job) as ours:
            if ours:
                yield Outcome(job=job, records=work(job))
            else:
                yield Outcome(job=job, skipped="left to another process that is making it")
