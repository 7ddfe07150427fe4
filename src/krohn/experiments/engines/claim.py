"""Sweeps that share a folder of checkpoints share the work: a run is in one process's hands at a time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from krohn.experiments.engines.job import Job

try:
    import fcntl
except ImportError:  # Windows has none: there two sweeps must not share a folder
    fcntl = None  # type: ignore[assignment]


@contextmanager
def claim(job: Job) -> Iterator[bool]:
    """Whether the run is ours to make; nobody else may until the block ends, or this process does.

    The lock belongs to the open file, so that a killed process leaves none behind.
    """
    if job.directory is None or fcntl is None:
        yield True
        return
    job.directory.mkdir(parents=True, exist_ok=True)
    path = job.directory / f".{job.run.config.run_id}.claim"
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it before may have removed the file that was opened here.
            ours = path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
        except BlockingIOError:
            ours = False
        try:
            yield ours
        finally:
            if ours:
                path.unlink(missing_ok=True)
