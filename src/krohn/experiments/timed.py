"""Training that can be told when to stop, and goes on later from where it stopped."""

import time
from pathlib import Path

from krohn.automata.spec import parse_spec
from krohn.errors import Unsupported
from krohn.tasks.batches import task_reasons
from krohn.training.config import RunConfig
from krohn.training.device import choose_device, device_reasons
from krohn.training.loop import Evaluate, TrainResult, _display, _Run
from krohn.training.progress import Progress

# A checkpoint holds five copies of all weights: gigabytes for the deep networks that only a GPU trains.
CHECKPOINT_SECONDS = {"cpu": 60.0, "cuda": 600.0}


class _TimeUp(Exception):
    """The deadline has passed; the run stands at the end of an evaluation."""


class _Clock:
    """A display that lets the run go on until the deadline."""

    def __init__(self, beside: Progress, deadline: float | None) -> None:
        self._beside, self._deadline = beside, deadline

    def advance(self, steps: int) -> None:
        self._beside.advance(steps)

    def report(self, step: int, values: dict[str, float]) -> None:
        self._beside.report(step, values)
        if self._deadline is not None and time.time() >= self._deadline:
            raise _TimeUp

    def close(self) -> None:
        self._beside.close()


def train_until(
    config: RunConfig,
    *,
    directory: Path | None,
    device: str | None,
    deadline: float | None,
    evaluate: Evaluate,
    progress: bool = False,
) -> tuple[TrainResult, bool]:
    """Trains until the end or until the first evaluation after ``deadline`` (Unix time).

    Returns the result so far and whether the run is finished; a run that is not finished is saved in
    ``directory`` and goes on from there, bit by bit the same, when it is trained again. A finished run is
    given to ``evaluate``.
    """
    automaton = parse_spec(config.task.spec)
    found = [*task_reasons(config.task, automaton), *device_reasons(config.precision, device)]
    if found:
        raise Unsupported("; ".join(found))
    place = choose_device(device)
    run = _Run(config, automaton, place, directory)
    display = _display(run, progress=progress, tensorboard=False)
    try:
        run.finish(_Clock(display, deadline), CHECKPOINT_SECONDS[place.type])
    except _TimeUp:
        if run.directory is not None:
            run._save(run.directory)
    finally:
        display.close()
    return run.result(evaluate if run._done() else None), run._done()
