"""Makes one run: trains, evaluates, keeps the network, and turns the outcome into records for the store."""

import gc
from datetime import UTC, datetime
from typing import Any

import torch

from krohn.errors import LimitExceeded
from krohn.lab.experiments.code_version import code_version
from krohn.lab.experiments.engines import Job
from krohn.lab.experiments.record import Record
from krohn.lab.training.device import choose_device, choose_precision, environment
from krohn.lab.training.loop import TrainResult, train
from krohn.lab.training.metrics import trained_steps

# A checkpoint holds five copies of all weights: gigabytes for the deep networks that only a GPU trains.
CHECKPOINT_SECONDS = {"cpu": 60.0, "cuda": 600.0}

# Size of the test set relative to the validation set: it is read once, and every published number depends on
# it.
TEST_WORDS = 4


def work(job: Job) -> tuple[Record, ...]:
    """One record for each replicate; partial ones, without evaluations, if the deadline came first."""
    started = _now()
    config = job.run.config
    directory = None if job.directory is None else job.directory / config.run_id
    try:
        result = train(
            config,
            directory=directory,
            device=job.device,
            evaluate=job.run.measure,
            progress=job.progress,
            checkpoint_seconds=CHECKPOINT_SECONDS[choose_device(job.device).type],
            deadline=job.deadline,
            test_sequences=TEST_WORDS * config.evaluation.sequences,
        )
    except torch.OutOfMemoryError as error:
        raise LimitExceeded(
            f"run {config.run_id} must fit into the GPU's memory with {config.replicates} replicates of "
            f"{dict(job.run.label)}; it does not: free the GPU or use a larger one"
        ) from error
    if job.after is not None:
        job.after(result)
    records = _records(result, started)
    del result
    _free()
    return records


def _free() -> None:
    """Frees GPU memory: captured graphs contain reference cycles, which would fill it for the next run."""
    if torch.cuda.is_available():
        gc.collect()
        torch.cuda.empty_cache()


def _records(result: TrainResult, started: str) -> tuple[Record, ...]:
    config = result.config
    device = result.task.device
    where = environment(device, choose_precision(config, device))
    return tuple(
        Record(
            run_id=config.run_id,
            replicate=replicate,
            seed=config.seed,
            status=_status(outcome["status"], result.finished),
            sequences=trained_steps(result.curves, replicate) * config.optimizer.batch,
            config=config.to_dict(),
            metrics=_metrics(result, replicate)
            | {"evaluations": {name: hits[replicate] for name, hits in result.extra.items()}},
            environment=where,
            code=code_version(),
            started=started,
            finished=_now(),
        )
        for replicate, outcome in enumerate(result.replicates)
    )


def _status(outcome: str, finished: bool) -> str:
    if outcome == "diverged":
        return "diverged"
    return "done" if finished else "partial"


def _metrics(result: TrainResult, replicate: int) -> dict[str, Any]:
    """The metrics to store, rounded to significant digits."""
    outcome = result.replicates[replicate]
    last = trained_steps(result.curves, replicate)
    rows = [row for row in result.curves if row["step"] <= last]
    return {
        "accuracy": round(outcome["accuracy"], 6),
        "sequence_accuracy": round(outcome.get("sequence_accuracy", 0.0), 6),
        "final_accuracy": round(outcome["final"]["accuracy"], 6),
        "best_step": outcome.get("step", 0),
        "solved": outcome["status"] == "solved",
        "ended": outcome["status"],
        **_hints(outcome),
        "test": _test(outcome["test"]),
        "by_position": [round(value, 3) for value in outcome.get("position_accuracy", [])],
        "curve": {
            "step": [row["step"] for row in rows],
            "accuracy": [round(row["accuracy"][replicate], 4) for row in rows],
            "loss": [_short(row["train_loss"][replicate]) for row in rows],
            **_hint_curves(rows, replicate),
        },
        "seconds": round(result.seconds, 1),
    }


def _hint_curves(rows: list[dict[str, Any]], replicate: int) -> dict[str, Any]:
    if not rows or "hints" not in rows[0]:
        return {}
    return {"hints": [[round(share, 3) for share in row["hints"][replicate]] for row in rows]}


def _hints(outcome: dict[str, Any]) -> dict[str, Any]:
    """What each hint reads right; nothing without hints."""
    if "hints" not in outcome:
        return {}
    return {"hints": [hint | {"accuracy": round(hint["accuracy"], 5)} for hint in outcome["hints"]]}


def _test(scores: dict[str, Any]) -> dict[str, Any]:
    return {
        "words": scores["words"],
        "accuracy": round(scores["accuracy"], 6),
        "error": float(f"{scores['error']:.2g}"),
        "sequence_accuracy": round(scores["sequence_accuracy"], 6),
        "by_position": [round(value, 3) for value in scores["position_accuracy"]],
    }


def _short(loss: float | None) -> float | None:
    return None if loss is None else float(f"{loss:.3g}")


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
