"""What a run gives back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from krohn.models.layout import Weights
from krohn.models.network import Network
from krohn.tasks.batches import Task
from krohn.training.config import RunConfig
from krohn.training.metrics import HeldOut
from krohn.training.run import Run
from krohn.training.sections import TEST_SEED

Evaluate = Callable[[Network, Weights, Task], dict[str, Any]]


@dataclass(frozen=True)
class TrainResult:
    """What a run gives back.

    Attributes:
        config: the run.
        task: its task, on the run's device.
        network: its architecture.
        weights: best averaged weights [R, …] by name, fp32.
        replicates: one dictionary per replicate: status, learning rate, and the numbers of its best and of
            its last evaluation (accuracy, sequence_accuracy, position_accuracy, loss, step) on words that
            choose; and ``test``, the numbers of the best weights on words that choose nothing.
        curves: one row per evaluation, as in metrics.jsonl.
        seconds: time spent training, resumed parts included; start-up is not counted.
        sequences_per_second: of all replicates together.
        extra: what the caller's ``evaluate`` returned.
        finished: False if the deadline came first; the same call with the same directory goes on.
    """

    config: RunConfig
    task: Task
    network: Network
    weights: Weights
    replicates: list[dict[str, Any]]
    curves: list[dict[str, Any]]
    seconds: float
    sequences_per_second: float
    extra: dict[str, Any]
    finished: bool = True

    @property
    def best(self) -> int:
        """Index of the replicate with the highest token accuracy on the words that choose."""
        return max(range(len(self.replicates)), key=lambda index: self.replicates[index]["accuracy"])

    def replicate(self, index: int) -> dict[str, Tensor]:
        """Best weights of one replicate by name, on the CPU, without the replicate axis."""
        return {name: value[index].cpu() for name, value in self.weights.items()}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "run": self.config.run_id,
            "replicates": self.replicates,
            "seconds": self.seconds,
            "sequences_per_second": self.sequences_per_second,
            "extra": self.extra,
            "finished": self.finished,
        }


def result_of(run: Run, evaluate: Evaluate | None, test_sequences: int | None = None) -> TrainResult:
    """The result of a run that was evaluated at least once; written to its directory if it is finished."""
    best = run.by_replicate(run.state.best)
    count = run.config.evaluation.sequences if test_sequences is None else test_sequences
    extra = {}
    if evaluate is not None and run.done:
        extra = evaluate(run.network, run.computed(best), run.task)
    result = TrainResult(
        config=run.config,
        task=run.task,
        network=run.network,
        weights=run.network.layout.views(best),
        replicates=[
            entry | {"test": test}
            for entry, test in zip(_replicates(run), _test(run, best, count), strict=True)
        ],
        curves=run.history.rows,
        seconds=run.seconds,
        sequences_per_second=run.sequences_per_second,
        extra=extra,
        finished=run.done,
    )
    if run.directory is not None and run.done:
        run.directory.write_result(result.to_dict())
    return result


def _test(run: Run, best: Tensor, count: int) -> list[dict[str, Any]]:
    """What the kept weights reach on words that no choice has seen."""
    scores = HeldOut(run.task, seed=TEST_SEED, count=count).judge(run.network, run.computed(best))
    return [
        {"words": count, **scores.of(replicate), "error": float(scores.error[replicate])}
        for replicate in range(len(best))
    ]


def _replicates(run: Run) -> list[dict[str, Any]]:
    best, finals = run.history.best, run.history.final
    if run.config.task.scratchpad:
        # What was watched is a lower bound; what is reported was read step by step.
        best = _read_step_by_step(run, best, run.state.best)
        finals = _read_step_by_step(run, finals, run.state.average)
    return [
        {
            "status": "finished" if status == "training" else status,
            "learning_rate": rate,
            **entry,
            "final": final,
        }
        for status, rate, entry, final in zip(
            run.status, run.config.learning_rates, best, finals, strict=True
        )
    ]


def _read_step_by_step(run: Run, entries: list[dict[str, Any]], flat: Tensor) -> list[dict[str, Any]]:
    scores = run.held_out.judge(run.network, run.computed(run.by_replicate(flat)))
    return [entry | scores.of(replicate) for replicate, entry in enumerate(entries)]
