"""The training loop: steps, evaluation, checkpoint, until every replicate is done."""

import gc
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.spec import parse_spec
from krohn.errors import InvalidFile, Unsupported
from krohn.models.layout import Weights
from krohn.models.network import Network
from krohn.tasks.batches import Task, task_reasons
from krohn.training.config import RunConfig
from krohn.training.curriculum import tokens_read
from krohn.training.device import choose_device, choose_precision, device_reasons, environment
from krohn.training.directory import RunDirectory
from krohn.training.evaluation import HeldOut
from krohn.training.metrics import History, Scores, trained_steps
from krohn.training.optimizer import ema_window
from krohn.training.progress import Bar, Progress, Silence, TensorBoard
from krohn.training.result import TrainResult
from krohn.training.schedule import Plateau
from krohn.training.slots import Slots
from krohn.training.state import TrainState
from krohn.training.step import Stepper

__all__ = ["Evaluate", "TrainResult", "train"]

PLATEAU = ("cuts", "lowest", "waited")

Evaluate = Callable[[Network, Weights, Task], dict[str, Any]]


def train(
    config: RunConfig,
    *,
    directory: Path | str | None = None,
    device: str | None = None,
    evaluate: Evaluate | None = None,
    progress: bool = False,
    checkpoint_seconds: float = 120.0,
    deadline: float | None = None,
    tensorboard: bool = False,
    automaton: Semiautomaton | None = None,
) -> TrainResult:
    """Trains all replicates of a run.

    Args:
        config: the run.
        directory: where to save; an interrupted run found there is resumed, to the same bits.
        device: ``cpu`` or ``cuda``; the GPU if there is one by default.
        evaluate: called once at the end with the network, the best weights and the task; its result is kept.
        progress: show a bar on stderr.
        checkpoint_seconds: least time between two checkpoints, longer if writing takes more than a tenth of
            it; one is always written at the end. 0 writes one at every evaluation.
        deadline: Unix time; the first evaluation after it saves and ends the call, without ``evaluate``.
        tensorboard: write TensorBoard files under ``directory``.
        automaton: used instead of parsing ``config.task.spec``.

    Returns:
        The result, with every replicate's best averaged weights.
    """
    chosen = parse_spec(config.task.spec) if automaton is None else automaton
    found = [*task_reasons(config.task, chosen), *device_reasons(config.precision, device)]
    if tensorboard and directory is None:
        found.append("TensorBoard files need a directory")
    if tensorboard and find_spec("tensorboard") is None:
        found.append("TensorBoard files need the package: pip install tensorboard")
    if found:
        raise Unsupported("; ".join(found))
    run = _Run(config, chosen, choose_device(device), None if directory is None else Path(directory))
    display = _display(run, progress=progress, tensorboard=tensorboard)
    try:
        run.finish(display, checkpoint_seconds, deadline)
    finally:
        display.close()
    return run.result(evaluate)


class _Run:
    def __init__(
        self, config: RunConfig, automaton: Semiautomaton, device: torch.device, path: Path | None
    ) -> None:
        self.config = config
        precision = choose_precision(config, device)
        self.directory = None if path is None else RunDirectory(path)
        if self.directory is not None:
            self.directory.open(config, environment(device, precision))
        self.task = Task(config.task, automaton, device)
        self.network = config.model.build(self.task.vocabulary, self.task.classes)
        self.state = TrainState.start(config, self.network.layout, device, precision)
        self.plateau = Plateau.start(config.optimizer, config.replicates)
        self.history = History(config.replicates)
        self.status = ["training"] * config.replicates
        self.slots = Slots.start(config.replicates)
        self.step, self.seconds = 0, 0.0
        self._steppers: dict[int, Stepper] = {}
        self._resume(device)
        held = config.evaluation
        self.held_out = HeldOut(self.task, seed=held.seed, count=held.sequences)

    def finish(self, display: Progress, checkpoint_seconds: float, deadline: float | None = None) -> None:
        """Runs from wherever the run stands to its end, or to the first evaluation after the deadline."""
        if self._done():
            if (
                self.directory is not None
            ):  # a crash after the last checkpoint may have lost what follows from it
                best = self._by_replicate(self.state.best)
                self.directory.derive(best, self.history.rows, self.network.layout)
            return
        started = time.monotonic()
        due = started + checkpoint_seconds
        before = self.seconds
        while not self._done():
            count = min(self.config.evaluation.every, self.config.steps - self.step)
            stepper = self._stepper()
            self._train(stepper, count, display)
            scores = self._judge()
            self._note(stepper.take_losses(count), scores)
            self._make_room()
            self.seconds = before + time.monotonic() - started
            display.report(self.step, self._numbers(scores))
            began = time.monotonic()
            if self.directory is not None and began >= due:
                self._save(self.directory)
                # A large state takes long to write: spend at most a tenth of the time on it.
                ended = time.monotonic()
                due = ended + max(checkpoint_seconds, 9.0 * (ended - began) if checkpoint_seconds else 0.0)
            if deadline is not None and time.time() >= deadline:
                break
        if self.directory is not None:
            self._save(self.directory)

    def result(self, evaluate: Evaluate | None) -> TrainResult:
        """The result of the finished run, also written to the directory."""
        best = self._by_replicate(self.state.best)
        weights = self.network.layout.views(best)
        finished = self._done()
        compute = self._computed(best)
        extra = evaluate(self.network, compute, self.task) if evaluate is not None and finished else {}
        result = TrainResult(
            config=self.config,
            task=self.task,
            network=self.network,
            weights=weights,
            replicates=self._replicates(),
            curves=self.history.rows,
            seconds=self.seconds,
            sequences_per_second=self._sequences_per_second(),
            extra=extra,
            finished=finished,
        )
        if self.directory is not None and finished:
            self.directory.write_result(result.to_dict())
        return result

    def _done(self) -> bool:
        return self.step >= self.config.steps or "training" not in self.status

    def _stepper(self) -> Stepper:
        """The stepper that reads as many tokens as the widest window of a live replicate."""
        windows = self._windows()
        live = [width for width, status in zip(windows, self.status, strict=True) if status == "training"]
        tokens = tokens_read(max(live), self.task.num_tokens)
        working = self.slots.working
        if tokens not in self._steppers:
            state = self.state.rows(len(working))
            self._steppers[tokens] = Stepper(self.config, self.network, self.task, state, tokens, working)
        stepper = self._steppers[tokens]
        stepper.windows.copy_(torch.tensor([windows[replicate] for replicate in working]))
        return stepper

    def _windows(self) -> list[int]:
        """Tokens that count for each replicate, from its last evaluation."""
        curriculum, replicates = self.config.curriculum, self.config.replicates
        if curriculum is None:
            return [self.task.num_tokens] * replicates
        letters = [curriculum.window(entry["position_accuracy"]) for entry in self.history.final]
        letters = letters or [min(curriculum.start, self.config.task.length)] * replicates
        return [2 * width - 1 if self.config.task.scratchpad else width for width in letters]

    def _train(self, stepper: Stepper, count: int, display: Progress) -> None:
        """``count`` steps; the average starts afresh as late as rounding allows."""
        averaged = min(count, ema_window(self.config.optimizer.ema))
        fresh = averaged < count
        cuts = self.plateau.cuts[list(self.slots.working)]
        for first, length, average in (
            (self.step, count - averaged, False),
            (self.step + count - averaged, averaged, True),
        ):
            if average and fresh:
                self._restart_average()
            stepper.run(first, length, cuts, average=average)
            display.advance(length)
        self.step += count

    def _restart_average(self) -> None:
        for row, replicate in enumerate(self.slots.working):
            if self.status[replicate] == "training":
                self.state.average[row].copy_(self.state.weight[row])

    def _judge(self) -> Scores:
        """Scores of the replicates in work, row by row."""
        return self.held_out.watch(self.network, self._computed(self.state.average[: self.slots.width]))

    def _computed(self, flat: Tensor) -> Weights:
        return self.network.layout.views(flat.to(self.state.compute.dtype))

    def _note(self, train_loss: Tensor, scores: Scores) -> None:
        """Records an evaluation: best weights, plateau, and which replicates are done."""
        stop_at, working = self.config.evaluation.stop_at, self.slots.working
        before = self.history.last_step
        alive = self.state.alive.tolist()
        for row, replicate in enumerate(working):
            if self.status[replicate] != "training":
                continue
            if not alive[row]:
                self.status[replicate] = "diverged"
            elif stop_at is not None and float(scores.token[row]) >= stop_at:
                self._freeze(replicate, "solved")
        better = self.history.add(self.step, working, train_loss, scores)
        for row, replicate in enumerate(working):
            if better[replicate]:
                self.state.best[row].copy_(self.state.average[row])
        self.plateau.observe(self.history.losses())
        self._give_up(before)
        self.history.close(self.status)

    def _freeze(self, replicate: int, status: str) -> None:
        self.status[replicate] = status
        self.state.alive[self.slots.rows[replicate]] = False

    def _give_up(self, before: int) -> None:
        """Halving, if the run asks for it; the evaluation before this one was at step ``before``."""
        if self.config.halving is not None:
            accuracy = [entry["accuracy"] for entry in self.history.best]
            for replicate in self.config.halving.given_up(before, self.step, self.status, accuracy):
                self._freeze(replicate, "given up")

    def _make_room(self) -> None:
        """Moves replicates that are done out of the way once the others need only half the room."""
        narrowed = self.slots.narrowed([status == "training" for status in self.status])
        if narrowed == self.slots:
            return
        rows = self.slots.rows
        self.state.reorder([rows[replicate] for replicate in narrowed.order])
        self.slots = narrowed
        self._steppers.clear()
        gc.collect()  # captured graphs refer to themselves in circles

    def _numbers(self, scores: Scores) -> dict[str, float]:
        best, median = self.history.summary()
        return {
            "loss": float(scores.loss.nanmedian()),
            "best": best,
            "median": median,
            "sequences_per_second": self._sequences_per_second(),
        }

    def _sequences_per_second(self) -> float:
        steps = sum(trained_steps(self.history.rows, one) for one in range(self.config.replicates))
        return steps * self.config.optimizer.batch / max(self.seconds, 1e-9)

    def _by_replicate(self, rows: Tensor) -> Tensor:
        """A buffer with every replicate in its own row."""
        return rows if self.slots.order == tuple(range(len(rows))) else rows[self.slots.rows]

    def _replicates(self) -> list[dict[str, Any]]:
        best, finals = self.history.best or [{"accuracy": 0.0}] * self.config.replicates, self.history.final
        if self.config.task.scratchpad and finals:
            # What was watched is a lower bound; what is reported was read step by step.
            best = self._read_step_by_step(best, self.state.best)
            finals = self._read_step_by_step(finals, self.state.average)
        return [
            {
                "status": "finished" if status == "training" else status,
                "learning_rate": rate,
                **entry,
                "final": final,
            }
            for status, rate, entry, final in zip(
                self.status, self.config.learning_rates, best, finals, strict=True
            )
        ]

    def _read_step_by_step(self, entries: list[dict[str, Any]], flat: Tensor) -> list[dict[str, Any]]:
        scores = self.held_out.judge(self.network, self._computed(self._by_replicate(flat)))
        return [entry | scores.of(replicate) for replicate, entry in enumerate(entries)]

    def _save(self, directory: RunDirectory) -> None:
        progress = {
            "step": self.step,
            "seconds": self.seconds,
            "status": self.status,
            "order": self.slots.order,
            "width": self.slots.width,
            "history": self.history.to_dict(),
        }
        plateau = {f"plateau.{name}": getattr(self.plateau, name) for name in PLATEAU}
        tensors = {name: self._by_replicate(value) for name, value in self.state.tensors().items()}
        directory.save({**tensors, **plateau}, progress, self.network.layout)

    def _resume(self, device: torch.device) -> None:
        loaded = None if self.directory is None else self.directory.load(device)
        if loaded is None:
            return
        tensors, progress = loaded
        self.slots = Slots(
            tuple(progress.get("order", self.slots.order)), progress.get("width", self.slots.width)
        )
        missing = sorted({*self.state.tensors(), *(f"plateau.{name}" for name in PLATEAU)} - set(tensors))
        if missing:
            raise InvalidFile(f"a checkpoint must hold every tensor of the run; missing {', '.join(missing)}")
        self.state.restore({name: tensors[name][list(self.slots.order)] for name in self.state.tensors()})
        for name in PLATEAU:
            setattr(self.plateau, name, tensors[f"plateau.{name}"].cpu())
        self.step, self.seconds = progress["step"], progress["seconds"]
        self.status = progress["status"]
        self.history = History(self.config.replicates, **progress["history"])


def _display(run: _Run, *, progress: bool, tensorboard: bool) -> Progress:
    display: Progress = Bar(run.config.steps, run.step) if progress else Silence()
    if tensorboard and run.directory is not None:
        return TensorBoard(run.directory.path / "tensorboard", display)
    return display
