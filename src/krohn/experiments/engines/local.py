"""Runs one after the other in this process."""

from collections.abc import Iterable, Iterator

from krohn.experiments.engines.claim import claim
from krohn.experiments.engines.job import Job, Outcome, Work


def run_local(jobs: Iterable[Job], work: Work) -> Iterator[Outcome]:
    """Yields each outcome as it is there; an error ends the sweep, since the next run would meet it too.

    A run stays claimed until the next one is asked for, so that its result is stored by then.
    """
    for job in jobs:
        if job.seconds_left() == 0:
            return
        with claim(job) as ours:
            if ours:
                yield Outcome(job=job, records=work(job))
            else:
                yield Outcome(job=job, skipped="left to another process that is making it")
