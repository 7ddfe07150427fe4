"""The training loop: steps, evaluation, checkpoint, until every replicate is done."""

import sys
import time
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.spec import AutomatonLike, parse_spec
from krohn.errors import InvalidInput, Unsupported
from krohn.training.config import RunConfig
from krohn.training.device import choose_device, start_reasons
from krohn.training.directory import RunDirectory
from krohn.training.interruption import CheckpointClock, Interruption
from krohn.training.lock import sole_user
from krohn.training.progress import Bar, Lines, Progress, Silence, TensorBoard, TimeLeft
from krohn.training.result import Evaluate, TrainResult, result_of
from krohn.training.run import Run
from krohn.training.typed_settings import typed_run

__all__ = ["Evaluate", "TrainResult", "train"]


def train(
    config: RunConfig | AutomatonLike,
    *,
    directory: Path | str | None = None,
    device: str | None = None,
    evaluate: Evaluate | None = None,
    progress: bool = False,
    checkpoint_seconds: float = 120.0,
    deadline: float | None = None,
    tensorboard: bool = False,
    automaton: Semiautomaton | None = None,
    test_sequences: int | None = None,
    **settings: Any,
) -> TrainResult:
    """Trains all replicates of a run: ``train("Grid4", length=20, layers=2, steps=2000)``.

    With a directory, SIGINT and SIGTERM save the run and raise ``Interrupted``, a ``KeyboardInterrupt``.

    Args:
        config: the run; or an automaton (object, name or file), with the settings of the run by name.
        directory: where to save; an interrupted run found there is resumed, to the same bits.
        device: ``cpu`` or ``cuda``; the GPU if there is one by default.
        evaluate: called once at the end with the network, the best weights and the task; its result is kept.
        progress: show the progress of the run on stderr: a bar on a terminal, lines elsewhere.
        checkpoint_seconds: least time between two checkpoints, longer if writing takes more than a tenth of
            it; one is always written at the end. 0 writes one at every evaluation.
        deadline: Unix time; the first evaluation after it saves and ends the call, without ``evaluate``.
        tensorboard: write TensorBoard files under ``directory``.
        automaton: used instead of parsing ``config.task.spec``.
        test_sequences: words of the test set; as many as choose by default.

    Returns:
        The result, with every replicate's best averaged weights.
    """
    if not isinstance(config, RunConfig):
        config = typed_run(config, settings)
    elif settings:
        raise InvalidInput(f"a RunConfig holds the whole run; leave out {', '.join(settings)}")
    chosen = parse_spec(config.task.spec) if automaton is None else automaton
    found = start_reasons(config, chosen, device)
    if tensorboard and directory is None:
        found.append("TensorBoard files need a directory")
    if tensorboard and find_spec("tensorboard") is None:
        found.append("TensorBoard files need the package: pip install tensorboard")
    if found:
        raise Unsupported("; ".join(found))
    path = None if directory is None else Path(directory)
    if path is not None:
        RunDirectory(path).check(config)  # before a lock is put into someone else's directory
    with nullcontext() if path is None else sole_user(path):
        run = Run(config, chosen, choose_device(device), path)
        display = _display(run, progress=progress, tensorboard=tensorboard)
        try:
            _finish(run, display, checkpoint_seconds, deadline)
        finally:
            display.close()
        return result_of(run, evaluate, test_sequences)


def _finish(run: Run, display: Progress, checkpoint_seconds: float, deadline: float | None) -> None:
    """Goes on to the end of the run, to the first evaluation after the deadline, or until a signal."""
    if run.done:
        run.derive()
        return
    started, before = time.monotonic(), run.seconds
    clock = CheckpointClock(checkpoint_seconds)
    with Interruption(taken=run.directory is not None) as interruption:

        def pause() -> bool:
            return interruption.signal is not None or clock.due(evaluated=False)

        while True:
            scores = run.advance(display, interruption, pause)
            run.seconds = before + time.monotonic() - started
            if scores is not None:
                display.report(run.step, run.numbers(scores))
            late = scores is not None and deadline is not None and time.time() >= deadline
            if run.done or late or interruption.signal is not None:
                break
            if clock.due(evaluated=scores is not None):
                clock.write(run.save)
        run.save()
    interruption.obey(f"at step {run.step}, saved in {run.directory and run.directory.path}")


def _display(run: Run, *, progress: bool, tensorboard: bool) -> Progress:
    display: Progress = Silence()
    if progress:
        left = TimeLeft(run.config.steps, run.step, ahead=run.task.device.type == "cuda")
        display = Bar(left) if sys.stderr.isatty() else Lines(left)
    if tensorboard and run.directory is not None:
        return TensorBoard(run.directory.path / "tensorboard", display)
    return display
