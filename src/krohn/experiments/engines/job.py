"""A unit of work that can travel to another process, and what comes back."""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from krohn.experiments.experiment import PlannedRun
from krohn.experiments.record import Record


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run to make.

    Attributes:
        run: what to train and to measure.
        directory: the folder of checkpoints, one folder in it for each run; none for no checkpoints.
        device: cpu or cuda.
        deadline: the moment (Unix time) by which to stop training.
        keep: whether the weights stay in ``directory`` once the run is finished.
        best: a folder for the best replicate alone, in bf16; none to leave it out.
        progress: whether to show a bar on stderr.
    """

    run: PlannedRun
    directory: Path | None
    device: str | None
    deadline: float | None = None
    keep: bool = False
    progress: bool = False
    best: Path | None = None

    def seconds_left(self) -> float | None:
        """Time until the deadline, never negative; none without a deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.time())

    def clear(self) -> None:
        """Removes the run's folder, unless its weights are to stay."""
        if self.directory is not None and not self.keep:
            shutil.rmtree(self.directory / self.run.config.run_id, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The records a job gave, or one line that says why it gave none: it went wrong, or it was not begun."""

    job: Job
    records: tuple[Record, ...] = ()
    error: str = ""
    skipped: str = ""

    @property
    def finished(self) -> bool:
        """Whether every replicate has come to its end."""
        return bool(self.records) and all(record.status != "partial" for record in self.records)


Work = Callable[[Job], tuple[Record, ...]]
Engine = Callable[[Iterable[Job], Work], Iterator[Outcome]]
