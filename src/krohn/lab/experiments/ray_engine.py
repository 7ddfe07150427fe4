"""Runs as tasks of a Ray cluster: a lost node costs its current work, not the sweep."""

from collections.abc import Iterable, Iterator
from typing import Any

from krohn.lab.experiments.engines import Job, Outcome, Work
from krohn.lab.experiments.store import Store

# Retries of a task whose worker or node dies.
RETRIES = 5


def run_on_ray(jobs: Iterable[Job], work: Work) -> Iterator[Outcome]:
    """Submits all jobs at once and yields each outcome as it completes.

    Uses the cluster this process is connected to, else the one named by ``RAY_ADDRESS``, else a cluster of
    this machine alone. A job asks for one CPU, and for one GPU when its device is one.
    """
    import ray

    started_here = not ray.is_initialized()
    if started_here:
        ray.init(log_to_driver=False, include_dashboard=False)
    try:
        yield from _stream(ray, jobs, work)
    finally:
        if started_here:
            ray.shutdown()


def _stream(ray: Any, jobs: Iterable[Job], work: Work) -> Iterator[Outcome]:
    waiting = {submit(ray, job, work): job for job in jobs}
    while waiting:
        (ready,), _ = ray.wait(list(waiting), num_returns=1)
        job = waiting.pop(ready)
        try:
            records = ray.get(ready)
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None) or error
            yield Outcome(job=job, error=f"{type(cause).__name__}: {str(cause).splitlines()[0]}")
            continue
        yield Outcome(job=job, records=tuple(records))


def submit(ray: Any, job: Job, work: Work) -> Any:
    """A Ray task for the job, on one GPU where it asks for CUDA; retried if its worker dies."""
    gpus = 1 if job.device == "cuda" else 0
    task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_in_time)
    return task.remote(job, work)


def _in_time(job: Job, work: Work) -> tuple[Any, ...]:
    """Skips a task that reaches a worker after the deadline; the worker writes a file of its own."""
    if job.seconds_left() == 0:
        return ()
    records = work(job)
    if job.store is not None:
        with Store(job.store) as store:
            store.put(records, job.members)
    return records
