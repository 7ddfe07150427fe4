"""Records that were never run, for tests of the store."""

from pathlib import Path
from typing import Any

from krohn.lab.experiments.record import Member, Record
from krohn.lab.experiments.store import Store


def record(run_id: str = "aa", replicate: int = 0, **changes: Any) -> Record:
    values: dict[str, Any] = {
        "run_id": run_id,
        "replicate": replicate,
        "seed": 7 + replicate,
        "status": "done",
        "sequences": 1000,
        "config": {"task": {"spec": "C2"}, "run": run_id},
        "metrics": {"accuracy": 0.5 + replicate % 50 / 100, "curve": [[100, 0.5], [200, 0.625]]},
        "environment": {"torch": "2.13", "device": "cpu"},
        "code": "0.1.0",
        "started": "2026-01-01T00:00:00Z",
        "finished": "2026-01-01T00:01:00Z",
    }
    values |= changes
    metrics = values["metrics"]
    if isinstance(metrics, dict) and "accuracy" in metrics:
        values["metrics"] = {"test": {"accuracy": metrics["accuracy"]}} | metrics
    return Record(**values)


def member(run_id: str = "aa", **changes: Any) -> Member:
    values: dict[str, Any] = {
        "experiment": "depth",
        "scale": "smoke",
        "run_id": run_id,
        "label": {"task": "C2", "depth": 1},
    }
    return Member(**(values | changes))


def read_results(path: Path) -> tuple[list[Record], list[Member]]:
    """The records and memberships in a file of results."""
    with Store(path, writable=False) as store:
        return store.records(), store.members()
