"""Runs one after the other in this process."""

from collections.abc import Iterator, Sequence

from krohn.experiments.engines.job import Job, Outcome, Work


def run_local(jobs: Sequence[Job], work: Work) -> Iterator[Outcome]:
    """Yields each outcome as it is there; an error ends the sweep, since the next run would meet it too."""
    for job in jobs:
        if job.seconds_left() == 0:
            return
        yield Outcome(job=job, records=work(job))
