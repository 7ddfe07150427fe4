"""Where a run stands: weights, history and schedule, how they move on, and how they are saved."""

import gc
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidFile
from krohn.models.network import Weights
from krohn.tasks.batches import Task
from krohn.training.config import RunConfig
from krohn.training.device import choose_precision, environment
from krohn.training.directory import RunDirectory
from krohn.training.interruption import Interruption
from krohn.training.metrics import HeldOut, History, Scores, trained_steps
from krohn.training.progress import Progress
from krohn.training.sections import tokens_read
from krohn.training.state import Interval, Plateau, Slots, TrainState
from krohn.training.step import Stepper

PLATEAU = ("cuts", "lowest", "waited")
# Between pieces of training a run can be stopped. Each draws a whole chunk of batches, 30 ms for long words
# on one core: with pieces of a second that is 3% of the time at most.
PIECE_SECONDS = 1.0


class Run:
    """A run on its device, resumed from its directory if it was begun there."""

    def __init__(
        self, config: RunConfig, automaton: Semiautomaton, device: torch.device, path: Path | None
    ) -> None:
        self.config = config
        precision = choose_precision(config, device)
        self.directory = None if path is None else RunDirectory(path)
        self.task = Task(config.task, automaton, device)
        self.network = config.model.build(self.task.vocabulary, self.task.classes)
        self.state = TrainState.start(config, self.network.layout, device, precision)
        self.plateau = Plateau.start(config.optimizer, config.replicates)
        self.history = History(config.replicates)
        self.status = ["training"] * config.replicates
        self.slots = Slots.start(config.replicates)
        self.step, self.seconds = 0, 0.0
        self._steppers: dict[int, Stepper] = {}
        self._unfinished_losses: Tensor | None = None
        self._piece = 1 if device.type == "cpu" else None
        if self.directory is not None:
            self.directory.open(config)
            self._resume(self.directory, device)
            self.directory.enter(environment(device, precision), self.step, training=not self.done)
        held = config.evaluation
        self.held_out = HeldOut(self.task, seed=held.seed, count=held.sequences)

    @property
    def done(self) -> bool:
        """Whether nothing is left to train."""
        return (self.step >= self.config.steps and not self._between) or "training" not in self.status

    @property
    def _between(self) -> bool:
        """Whether steps were made since the last evaluation."""
        return self.step > self.history.last_step

    def advance(
        self, display: Progress, interruption: Interruption, pause: Callable[[], bool]
    ) -> Scores | None:
        """Trains to the next evaluation and makes it; ``None`` if ``pause`` or a signal came before its end.

        The run can be saved in either case.
        """
        interval = Interval.after(self.history.last_step, self.config)
        stepper = self._stepper()
        self._train(stepper, interval, display, pause)
        if self.step < interval.end:
            return None
        scores = interruption.unless(self._judge)
        if scores is not None:
            self._note(stepper.take_losses(interval.end - interval.first), scores)
            self._make_room()
        return scores

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
        if self._unfinished_losses is not None:
            stepper.loss_sum.copy_(self._unfinished_losses[list(working)])
            self._unfinished_losses = None
        return stepper

    def _windows(self) -> list[int]:
        """Tokens that count for each replicate, from its last evaluation."""
        curriculum, replicates = self.config.curriculum, self.config.replicates
        if curriculum is None:
            return [self.task.num_tokens] * replicates
        letters = [curriculum.window(entry["position_accuracy"]) for entry in self.history.final]
        letters = letters or [min(curriculum.start, self.config.task.length)] * replicates
        return [self.config.task.tokens_of(width) for width in letters]

    def _train(
        self, stepper: Stepper, interval: Interval, display: Progress, pause: Callable[[], bool]
    ) -> None:
        """Steps to the end of the interval or until ``pause``; the pieces they are cut into change no bit."""
        cuts = self.plateau.cuts[list(self.slots.working)]
        while self.step < interval.end:
            length, average = interval.piece(self.step, self._piece or stepper.chunk)
            if interval.restarts_average(self.step):
                self._restart_average()
            began = time.monotonic()
            stepper.run(self.step, length, cuts, average=average)
            self.step += length
            display.advance(length)
            if self._piece is not None:  # a GPU is handed its steps long before they are done
                fitting = int(PIECE_SECONDS * length / max(time.monotonic() - began, 1e-9))
                self._piece = max(1, min(stepper.chunk, fitting))
            if pause():
                return

    def _restart_average(self) -> None:
        for row, replicate in enumerate(self.slots.working):
            if self.status[replicate] == "training":
                self.state.average[row].copy_(self.state.weight[row])

    def _judge(self) -> Scores:
        """Scores of the replicates in work, row by row."""
        return self.held_out.watch(self.network, self.computed(self.state.average[: self.slots.width]))

    def computed(self, flat: Tensor) -> Weights:
        """Weights by name, in the precision of the matrix products."""
        return self.network.layout.views(flat.to(self.state.compute.dtype))

    def _note(self, train_loss: Tensor, scores: Scores) -> None:
        """Records an evaluation: best weights, plateau, and which replicates are done."""
        stop_at, before = self.config.evaluation.stop_at, self.history.last_step
        # One that was done before stands still, and keeps its numbers whether it has left the work or not.
        live = {
            replicate: row
            for row, replicate in enumerate(self.slots.working)
            if self.status[replicate] == "training"
        }
        alive = self.state.alive.tolist()
        for replicate, row in live.items():
            if not alive[row]:
                self.status[replicate] = "diverged"
            elif stop_at is not None and float(scores.token[row]) >= stop_at:
                self._freeze(replicate, "solved")
        better = self.history.add(self.step, live, train_loss, scores)
        for replicate, row in live.items():
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
        if self.config.halving is None or self.step >= self.config.steps:
            return  # at the end whoever is left has finished
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
        if self.task.device.type == "cuda":
            gc.collect()  # captured graphs refer to themselves in circles

    def numbers(self, scores: Scores) -> dict[str, float]:
        """What a display shows of an evaluation."""
        best, median = self.history.summary()
        return {
            "loss": float(scores.loss.nanmedian()),
            "best": best,
            "median": median,
            "sequences_per_second": self.sequences_per_second,
        }

    @property
    def sequences_per_second(self) -> float:
        """Of all replicates together, resumed parts included, up to the last evaluation."""
        steps = sum(trained_steps(self.history.rows, one) for one in range(self.config.replicates))
        return steps * self.config.optimizer.batch / max(self.seconds, 1e-9)

    def by_replicate(self, rows: Tensor) -> Tensor:
        """A buffer with every replicate in its own row."""
        return rows if self.slots.order == tuple(range(len(rows))) else rows[self.slots.rows]

    def save(self) -> None:
        """Writes a checkpoint, if there is a directory for it."""
        if self.directory is None:
            return
        progress = {
            "step": self.step,
            "seconds": self.seconds,
            "status": self.status,
            "order": self.slots.order,
            "width": self.slots.width,
            "history": self.history.to_dict(),
        }
        tensors = self.state.tensors()
        if self._between:
            # Of those out of work there is none: rows of zeros.
            sums = self._stepper().loss_sum
            tensors["loss_sum"] = torch.cat((sums, sums.new_zeros(len(self.status) - len(sums))))
        tensors = {name: self.by_replicate(value) for name, value in tensors.items()}
        plateau = {f"plateau.{name}": getattr(self.plateau, name) for name in PLATEAU}
        self.directory.save({**tensors, **plateau}, progress, self.network.layout)

    def derive(self) -> None:
        """Writes again what follows from the last checkpoint: a crash after it may have lost some."""
        if self.directory is not None:
            best = self.by_replicate(self.state.best)
            self.directory.derive(best, self.history.rows, self.network.layout)

    def _resume(self, directory: RunDirectory, device: torch.device) -> None:
        loaded = directory.load(device)
        if loaded is None:
            return
        tensors, progress = loaded
        self.slots = Slots(
            tuple(progress.get("order", self.slots.order)), progress.get("width", self.slots.width)
        )
        self.step, self.seconds = progress["step"], progress["seconds"]
        self.status = progress["status"]
        self.history = History(self.config.replicates, **progress["history"])
        wanted = {*self.state.tensors(), *(f"plateau.{name}" for name in PLATEAU)}
        missing = sorted((wanted | ({"loss_sum"} if self._between else set())) - set(tensors))
        if missing:
            raise InvalidFile(f"a checkpoint must hold every tensor of the run; missing {', '.join(missing)}")
        self.state.restore({name: tensors[name][list(self.slots.order)] for name in self.state.tensors()})
        for name in PLATEAU:
            setattr(self.plateau, name, tensors[f"plateau.{name}"].cpu())
        self._unfinished_losses = tensors["loss_sum"] if self._between else None
