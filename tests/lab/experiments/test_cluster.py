"""The sweep on a real Ray cluster of several nodes, one of which dies in the middle."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import krohn
from krohn.cli.app import run
from krohn.errors import InvalidInput
from krohn.lab.experiments.engines import Job
from krohn.lab.experiments.experiment import Experiment, PlannedRun
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.ray_engine import RETRIES, submit
from krohn.lab.experiments.record import Record
from krohn.lab.experiments.single_run import work
from krohn.lab.experiments.store import Store
from krohn.lab.experiments.sweep import SweepOptions, sweep
from lab.experiments.quick_experiment import QUICK, quick_run

RUNS = 5
HANGING, WRONG = 2, 3


def longer(scale: Scale) -> list[PlannedRun]:
    return [quick_run("C2", depth, steps=100, every=50) for depth in range(RUNS)]


LONGER = Experiment(
    name="longer", title="", claim="", plan=longer, table=QUICK.table, draw=lambda cells, caption: {}
)


def counted(job: Job) -> tuple[Record, ...]:
    """Really trains, and logs each start in a file that survives the death of a node.

    One run goes wrong. Another hangs when it is first tried, so that only the death of its node frees it.
    """
    import ray

    assert job.directory is not None
    attempts = job.directory / "attempts"
    first = f"{HANGING} " not in attempts.read_text()
    with attempts.open("a") as file:
        file.write(f"{job.run.label['depth']} {ray.get_runtime_context().get_node_id()}\n")
    if job.run.label["depth"] == WRONG:
        raise InvalidInput("this run must go wrong; it did")
    if job.run.label["depth"] == HANGING and first:
        time.sleep(600)
    return work(job)


@pytest.fixture
def cluster() -> Iterator[Any]:
    import ray
    from ray.cluster_utils import Cluster

    # A dead node is missed after five seconds, not after half a minute; a busy one may be silent for two.
    health = {"initial_delay_ms": 0, "period_ms": 500, "failure_threshold": 10}
    head = {
        "num_cpus": 0,
        "include_dashboard": False,
        "object_store_memory": 80_000_000,
        "_system_config": {f"health_check_{name}": value for name, value in health.items()},
    }
    former = signal.getsignal(signal.SIGTERM)
    nodes = Cluster(initialize_head=True, head_node_args=head)
    folders = os.pathsep.join([str(Path(krohn.__file__).parents[1]), str(Path(__file__).parents[2])])
    ray.init(
        address=nodes.address,
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": folders, "OMP_NUM_THREADS": "1"}},
    )
    yield nodes
    ray.shutdown()
    nodes.shutdown()
    # Ray leaves a handler behind that would end this process where other tests send it a signal.
    signal.signal(signal.SIGTERM, former)


@pytest.mark.filterwarnings("ignore")
def test_every_run_is_finished_once_though_a_node_dies(cluster: Any, tmp_path: Path) -> None:
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=80_000_000) for _ in range(2)]
    attempts = tmp_path / "attempts"
    attempts.touch()

    streamed = 0

    def kill_the_node_of_the_hanging_run() -> None:
        """Not before other results have reached the store: they must not wait for the hanging run."""
        nonlocal streamed
        for _ in range(1200):
            tried = [row for row in begun(attempts) if row[0] == str(HANGING)]
            with Store(tmp_path / "store", writable=False) as seen:
                streamed = len(seen.records())
            if tried and streamed:
                break
            time.sleep(0.05)
        (victim,) = [node for node in nodes if node.node_id == tried[0][1]]
        cluster.remove_node(victim, allow_graceful=False)

    options = SweepOptions(engine="ray", device="cpu", directory=tmp_path)
    with Store(tmp_path / "store") as store:
        killer = threading.Thread(target=kill_the_node_of_the_hanging_run)
        killer.start()
        report = sweep(LONGER, Scale.SMOKE, store, options, work=counted)
        keys = sorted(row.key for row in store.records())
        assert all(row.status == "done" for row in store.records())
    killer.join()
    assert 0 < streamed < len(keys)
    assert len([*(tmp_path / "store").glob("*.jsonl")]) > 1, "each worker writes a file of its own"
    places = [place for run, place in begun(attempts) if run == str(HANGING)]
    assert len(places) == len(set(places)) == 2, "the run must be begun again on the other node"
    assert (report.runs, report.done) == (RUNS, RUNS - 1)
    right = [run.config.run_id for run in longer(Scale.SMOKE) if run.label["depth"] != WRONG]
    assert keys == sorted((run_id, replicate) for run_id in right for replicate in range(2))
    (error,) = report.errors
    assert "depth 3" in error
    assert "InvalidInput: this run must go wrong; it did" in error


def begun(attempts: Path) -> list[list[str]]:
    return [line.split() for line in attempts.read_text().splitlines() if len(line.split()) == 2]


def test_ray_is_asked_for_by_name_when_it_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run(["reproduce", "curves", "--engine", "ray", "--store", str(tmp_path / "s")]) == 2
    assert capsys.readouterr().err == "error: --engine ray needs Ray: pip install 'ray[default]>=2.40'\n"


class PretendedRay:
    """A fake Ray that records the calls of the engine."""

    def __init__(self) -> None:
        self.asked: list[dict[str, int]] = []

    def remote(self, **resources: int) -> Any:
        self.asked.append(resources)
        return lambda function: SimpleNamespace(remote=lambda job, work: function(job, work))


@pytest.mark.parametrize(("device", "gpus"), [("cpu", 0), ("cuda", 1)])
def test_a_job_asks_for_a_gpu_only_if_it_uses_one_and_is_not_begun_too_late(device: str, gpus: int) -> None:
    ray = PretendedRay()
    job = Job(run=longer(Scale.SMOKE)[0], directory=None, device=device)
    assert submit(ray, job, lambda job: (job.device,)) == (device,)  # type: ignore[arg-type, return-value]
    assert submit(ray, replace(job, deadline=1.0), lambda job: (job.device,)) == ()  # type: ignore[arg-type, return-value]
    assert ray.asked == [{"num_cpus": 1, "num_gpus": gpus, "max_retries": RETRIES}] * 2
