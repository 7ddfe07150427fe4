"""A whole run: steps, evaluation, checkpoint, until every replicate is done; and its result."""

import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from krohn.automata.zoo import AutomatonLike, parse_spec
from krohn.base.files import path_of
from krohn.base.notebook import frame, table
from krohn.errors import InvalidInput, Unsupported, counted
from krohn.lab.models.network import Network
from krohn.lab.models.parameters import Weights
from krohn.lab.tasks.batches import Task
from krohn.lab.tasks.many import Learned
from krohn.lab.training.checkpoint_clock import CheckpointClock
from krohn.lab.training.config import RunConfig, typed_run
from krohn.lab.training.device import choose_device
from krohn.lab.training.directory import RunDirectory
from krohn.lab.training.directory_lock import sole_user
from krohn.lab.training.held_out import HeldOut
from krohn.lab.training.interruption import Interruption
from krohn.lab.training.progress import Lines, Progress, ProgressBar, TimeLeft
from krohn.lab.training.run import Run
from krohn.lab.training.sections import TEST_SEED
from krohn.lab.training.start import start_reasons
from krohn.lab.training.trained_network import TrainedNetwork

if TYPE_CHECKING:
    from krohn.base.notebook import DataFrame
    from krohn.lab.provable.coded_run import CodedRun
    from krohn.lab.provable.provable_run import ProvableRun

Evaluate = Callable[[TrainedNetwork], dict[str, Any]]


@dataclass(frozen=True)
class TrainResult:
    """The result of a run.

    Attributes:
        config: the run.
        task: its task, on the run's device.
        network: its architecture.
        weights: best averaged weights [R, …] by name, fp32.
        replicates: one dictionary per replicate: status, learning rate, and the numbers of its best and of
            its last evaluation (accuracy, sequence_accuracy, position_accuracy, loss, step) on the
            validation set; ``test``, the numbers of the best weights on the test set; and with hints
            ``hints``: block, what it is about, classes, and the share of the letters of the test set.
        curves: one row per evaluation, as in metrics.jsonl.
        seconds: time spent training, resumed parts included; start-up is not counted.
        sequences_per_second: of all replicates together.
        extra: what the caller's ``evaluate`` returned.
        finished: False if the deadline came first; the same call with the same directory continues.
        hints: the heads of the hints [R, …] by name; none without ``teach``.
        provable: the network that was then made provable, if that was asked for.
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
    hints: Weights = field(default_factory=dict)
    provable: "ProvableRun | CodedRun | None" = None

    def __repr__(self) -> str:
        trained = (
            f"{self.config.task.spec}, {self.config.model.kind}, {counted(len(self.replicates), 'replicate')}"
        )
        return f"<TrainResult: {trained}, best accuracy {self.replicates[self.best]['accuracy']:.2%}>"

    @property
    def best(self) -> int:
        """Index of the replicate with the highest validation accuracy."""
        return max(range(len(self.replicates)), key=lambda index: self.replicates[index]["accuracy"])

    def replicate(self, index: int) -> dict[str, Tensor]:
        """Best weights of one replicate by name, on the CPU, without the replicate axis."""
        return {name: value[index].cpu() for name, value in self.weights.items()}

    def to_frame(self) -> "DataFrame":
        """One row for each replicate."""
        return frame(self.replicates)

    @property
    def failed(self) -> bool:
        """Whether a proof was asked for and not found."""
        return self.provable is not None and not self.provable.to_json()["proved"]

    def text(self) -> str:
        """A row for each replicate, the speed, and the proof."""
        rows = [
            (
                index,
                entry["status"],
                f"{entry['learning_rate']:g}",
                f"{entry['accuracy']:.4f}",
                f"{entry['test']['accuracy']:.4f}",
                f"{entry['test']['sequence_accuracy']:.4f}",
                entry["step"],
            )
            for index, entry in enumerate(self.replicates)
        ]
        header = ("replicate", "status", "lr", "token accuracy", "on test words", "word accuracy", "at step")
        speed = f"{self.seconds:.1f} s, {self.sequences_per_second:,.0f} sequences/s"
        proof = [] if self.provable is None else [self.provable.text()]
        return "\n".join([table(header, rows), speed, *proof])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        proof = {} if self.provable is None else {"provable": self.provable.to_json()}
        return proof | {
            "run": self.config.run_id,
            "replicates": self.replicates,
            "seconds": self.seconds,
            "sequences_per_second": self.sequences_per_second,
            "extra": self.extra,
            "finished": self.finished,
        }


def result_of(run: Run, evaluate: Evaluate | None, test_sequences: int | None = None) -> TrainResult:
    """The result of a run that was evaluated at least once; written to its directory if it is finished."""
    best = run.standing.by_replicate(run.standing.state.best)
    count = run.config.evaluation.sequences if test_sequences is None else test_sequences
    extra = {}
    if evaluate is not None and run.standing.done:
        extra = evaluate(TrainedNetwork(run.network, run.cast_weights(best), run.task))
    result = TrainResult(
        config=run.config,
        task=run.task,
        network=run.network,
        weights=run.network.layout.views(best),
        hints={} if run.teaching is None else run.teaching.heads(best),
        replicates=[
            entry | test for entry, test in zip(_replicates(run), _test(run, best, count), strict=True)
        ],
        curves=run.standing.history.rows,
        seconds=run.standing.seconds,
        sequences_per_second=run.standing.sequences_per_second,
        extra=extra,
        finished=run.standing.done,
    )
    if run.directory is not None and run.standing.done:
        run.directory.write_result(result.to_dict())
    return result


def _test(run: Run, best: Tensor, count: int) -> list[dict[str, Any]]:
    """Scores of the best weights on the test set, and those of its hints."""
    words = HeldOut(run.task, seed=TEST_SEED, count=count)
    scores = words.judge(run.network, run.cast_weights(best))
    tests = [
        {"words": count, **scores.of(replicate), "error": float(scores.error[replicate])}
        for replicate in range(len(best))
    ]
    if run.teaching is None:
        return [{"test": test} for test in tests]
    hints = run.teaching.report(run.hint_shares(best, words, count))
    return [{"test": test, "hints": own} for test, own in zip(tests, hints, strict=True)]


def _replicates(run: Run) -> list[dict[str, Any]]:
    best, finals = run.standing.history.best, run.standing.history.final
    if run.config.task.scratchpad:
        # Scores during training are lower bounds; the reported ones come from step-by-step decoding.
        best = _read_step_by_step(run, best, run.standing.state.best)
        finals = _read_step_by_step(run, finals, run.standing.state.average)
    return [
        {
            "status": "finished" if status == "training" else status,
            "learning_rate": rate,
            **entry,
            "final": final,
        }
        for status, rate, entry, final in zip(
            run.standing.status, run.config.learning_rates, best, finals, strict=True
        )
    ]


def _read_step_by_step(run: Run, entries: list[dict[str, Any]], flat: Tensor) -> list[dict[str, Any]]:
    scores = run.held_out.judge(run.network, run.cast_weights(run.standing.by_replicate(flat)))
    return [entry | scores.of(replicate) for replicate, entry in enumerate(entries)]


def train(
    config: RunConfig | AutomatonLike,
    *,
    directory: Path | str | None = None,
    device: str | None = None,
    evaluate: Evaluate | None = None,
    progress: bool = False,
    checkpoint_seconds: float = 120.0,
    deadline: float | None = None,
    automaton: Learned | None = None,
    test_sequences: int | None = None,
    **settings: Any,
) -> TrainResult:
    """Trains all replicates of a run: ``train("Grid4", length=20, layers=2, steps=2000)``.

    With a directory, SIGINT and SIGTERM save the run and raise ``Interrupted``, a ``KeyboardInterrupt``.

    Args:
        config: the run; or an automaton (object, name or file), with the settings of the run by name.
        directory: where to save; an interrupted run found there is resumed, to the same bits.
        device: ``cpu`` or ``cuda``; the GPU if there is one by default.
        evaluate: called once at the end with all replicates at their best weights; its result is kept.
        progress: show the progress of the run on stderr: a bar on a terminal, lines elsewhere.
        checkpoint_seconds: minimum time between two checkpoints, longer if writing takes more than a tenth of
            it; one is always written at the end. 0 writes one at every evaluation.
        deadline: Unix time; the first evaluation after it saves and ends the call, without ``evaluate``.
        automaton: used instead of parsing ``config.task.spec``; several, one for each replicate.
        test_sequences: words of the test set; as many as the validation set has by default.

    Returns:
        The result, with every replicate's best averaged weights.
    """
    if not isinstance(config, RunConfig):
        config = typed_run(config, settings)
    elif settings:
        raise InvalidInput(f"a RunConfig holds the whole run; leave out {', '.join(settings)}")
    chosen = parse_spec(config.task.spec) if automaton is None else automaton
    faults = start_reasons(config, chosen, device)
    if faults:
        raise Unsupported("; ".join(faults))
    path = None if directory is None else path_of(directory)
    if path is not None:
        RunDirectory(path).check(config)  # before a lock file is written into someone else's directory
    with nullcontext() if path is None else sole_user(path):
        run = Run(config, chosen, choose_device(device), path)
        display = display_of(run, progress=progress)
        try:
            _finish(run, display, checkpoint_seconds, deadline)
        finally:
            display.close()
        return result_of(run, evaluate, test_sequences)


def _finish(run: Run, display: Progress, checkpoint_seconds: float, deadline: float | None) -> None:
    """Trains to the end of the run, to the first evaluation after the deadline, or until a signal."""
    if run.standing.done:
        run.derive()
        return
    started, before = time.monotonic(), run.standing.seconds
    clock = CheckpointClock(checkpoint_seconds)
    with Interruption(taken=run.directory is not None) as interruption:

        def pause() -> bool:
            return interruption.signal is not None or clock.due(evaluated=False)

        while True:
            scores = run.advance(display, interruption, pause)
            run.standing.seconds = before + time.monotonic() - started
            if scores is not None:
                display.report(run.standing.step, run.numbers(scores))
            late = scores is not None and deadline is not None and time.time() >= deadline
            if run.standing.done or late or interruption.signal is not None:
                break
            if clock.due(evaluated=scores is not None):
                clock.write(run.save)
        run.save()
    interruption.obey(f"at step {run.standing.step}, saved in {run.directory and run.directory.path}")


def display_of(run: Run, *, progress: bool) -> Progress:
    """Where progress is shown: nowhere, or a bar or lines."""
    if not progress:
        return Progress()
    left = TimeLeft(run.config.steps, run.standing.step)
    return ProgressBar(left) if sys.stderr.isatty() else Lines(left)
