"""A run on its device: its state between two steps, training up to an evaluation, and what that decides.

It is saved on signals, between two steps, and periodically.
"""

import gc
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor

from krohn.errors import InvalidFile
from krohn.lab.models.parameters import ParameterLayout, Weights
from krohn.lab.tasks.batches import Batch
from krohn.lab.tasks.many import Learned, task_of
from krohn.lab.training.config import RunConfig
from krohn.lab.training.device import choose_precision, environment
from krohn.lab.training.directory import RunDirectory
from krohn.lab.training.held_out import HeldOut
from krohn.lab.training.interruption import Interruption
from krohn.lab.training.interval import Interval
from krohn.lab.training.learning_rates import Plateau
from krohn.lab.training.metrics import History, Scores, trained_steps
from krohn.lab.training.progress import Progress
from krohn.lab.training.sections import tokens_read
from krohn.lab.training.slots import Slots
from krohn.lab.training.state import TrainState
from krohn.lab.training.step import Stepper
from krohn.lab.training.teaching import JUDGED, Teaching, has_learned

PLATEAU = ("cuts", "lowest", "waited")


@final
class Standing:
    """A run between two steps.

    Attributes:
        state: weights and optimiser state, one row for each replicate.
        plateau: cuts of the learning rates.
        history: all evaluations so far.
        status: of each replicate: training, solved, diverged, given up.
        slots: which replicate is in which row.
        step: steps made.
        seconds: time spent training, resumed parts included.
        unfinished_losses: losses since the last evaluation, if the run was saved between two.
    """

    def __init__(
        self, config: RunConfig, layout: ParameterLayout, device: torch.device, precision: str
    ) -> None:
        self.config = config
        self.state = TrainState.start(config, layout, device, precision)
        self.plateau = Plateau.start(config.optimizer, config.replicates)
        self.history = History(config.replicates)
        self.status = ["training"] * config.replicates
        self.slots = Slots.start(config.replicates)
        self.step, self.seconds = 0, 0.0
        self.unfinished_losses: Tensor | None = None

    @property
    def done(self) -> bool:
        """Whether nothing is left to train."""
        return (self.step >= self.config.steps and not self.between) or "training" not in self.status

    @property
    def between(self) -> bool:
        """Whether steps were made since the last evaluation."""
        return self.step > self.history.last_step

    @property
    def live(self) -> dict[int, int]:
        """The replicates in training, each with its row."""
        return {
            replicate: row
            for row, replicate in enumerate(self.slots.working)
            if self.status[replicate] == "training"
        }

    @property
    def sequences_per_second(self) -> float:
        """Of all replicates together, resumed parts included, up to the last evaluation."""
        steps = sum(trained_steps(self.history.rows, one) for one in range(self.config.replicates))
        return steps * self.config.optimizer.batch / max(self.seconds, 1e-9)

    def by_replicate(self, rows: Tensor) -> Tensor:
        """A buffer with every replicate in its own row."""
        return rows if self.slots.order == tuple(range(len(rows))) else rows[self.slots.rows]

    def freeze(self, replicate: int, status: str) -> None:
        """Ends the training of one replicate."""
        self.status[replicate] = status
        self.state.alive[self.slots.rows[replicate]] = False

    def make_room(self) -> bool:
        """Compacts the rows once the replicates in training fill at most half of them."""
        narrowed = self.slots.narrow([status == "training" for status in self.status])
        if narrowed == self.slots:
            return False
        rows = self.slots.rows
        self.state.reorder([rows[replicate] for replicate in narrowed.order])
        self.slots = narrowed
        return True

    def checkpoint(self, losses: Tensor | None) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain values; ``losses`` since the last evaluation, of the active rows."""
        progress = {
            "step": self.step,
            "seconds": self.seconds,
            "status": self.status,
            "order": self.slots.order,
            "width": self.slots.width,
            "history": self.history.to_dict(),
        }
        tensors = self.state.tensors()
        if losses is not None:  # zeros for replicates that no longer train
            tensors["loss_sum"] = torch.cat((losses, losses.new_zeros(len(self.status) - len(losses))))
        tensors = {name: self.by_replicate(value) for name, value in tensors.items()}
        plateau = {f"plateau.{name}": getattr(self.plateau, name) for name in PLATEAU}
        return {**tensors, **plateau}, progress

    def resume(self, tensors: Mapping[str, Tensor], progress: Mapping[str, Any]) -> None:
        """Inverse of ``checkpoint``."""
        self.slots = Slots(
            tuple(progress.get("order", self.slots.order)), progress.get("width", self.slots.width)
        )
        self.step, self.seconds = progress["step"], progress["seconds"]
        self.status = progress["status"]
        self.history = History(self.config.replicates, **progress["history"])
        wanted = {*self.state.tensors(), *(f"plateau.{name}" for name in PLATEAU)}
        missing = sorted((wanted | ({"loss_sum"} if self.between else set())) - set(tensors))
        if missing:
            raise InvalidFile(f"a checkpoint must hold every tensor of the run; missing {', '.join(missing)}")
        self.state.restore({name: tensors[name][list(self.slots.order)] for name in self.state.tensors()})
        for name in PLATEAU:
            setattr(self.plateau, name, tensors[f"plateau.{name}"].cpu())
        self.unfinished_losses = tensors["loss_sum"] if self.between else None


# A run can be stopped between pieces. Each piece draws a whole chunk of batches, 30 ms for long words on one
# core: with pieces of a second, at most 3% of the time.
PIECE_SECONDS = 1.0


@final
class Run:
    """A run on its device, resumed from its directory if it was begun there."""

    def __init__(self, config: RunConfig, learned: Learned, device: torch.device, path: Path | None) -> None:
        precision = choose_precision(config, device)
        self.directory = None if path is None else RunDirectory(path)
        self.task = task_of(config.task, learned, device)
        self.network = config.model.build(self.task.vocabulary, self.task.classes)
        self.teaching = None if config.teach is None else Teaching(config, self.task, self.network)
        self.layout = self.network.layout if self.teaching is None else self.teaching.layout
        self.config = config
        self.standing = Standing(config, self.layout, device, precision)
        for buffer in self.standing.state.weights():
            bias = self.network.layout.views(buffer[:, : self.network.layout.size]).get("head.bias")
            if bias is not None:  # an architecture of one's own may learn which classes never come
                self.task.close(bias)
        self._steppers: dict[int, Stepper] = {}
        self._piece = 1 if device.type == "cpu" else None
        if self.directory is not None:
            self.directory.open(config)
            saved = self.directory.load(device)
            if saved is not None:
                self.standing.resume(*saved)
            self.directory.enter(
                environment(device, precision), self.standing.step, training=not self.standing.done
            )
        held = config.evaluation
        self.held_out = HeldOut(self.task, seed=held.seed, count=held.sequences)

    def advance(
        self, display: Progress, interruption: Interruption, pause: Callable[[], bool]
    ) -> Scores | None:
        """Trains to the next evaluation and runs it; ``None`` if ``pause`` or a signal came first.

        The run can be saved in either case.
        """
        interval = Interval.after(self.standing.history.last_step, self.config)
        stepper = self.stepper()
        self._train(stepper, interval, display, pause)
        if self.standing.step < interval.end:
            return None
        scores = interruption.unless(self._judge)
        if scores is not None:
            self._note(stepper.take_losses(interval.end - interval.first), scores)
            if self.standing.make_room():
                self._steppers.clear()
                if self.task.device.type == "cuda":
                    gc.collect()  # captured graphs contain reference cycles
                    torch.cuda.empty_cache()  # for other processes on the GPU
        return scores

    def stepper(self) -> Stepper:
        """The stepper that reads as many tokens as the widest window of a live replicate."""
        windows = self._windows()
        live = [
            width for width, status in zip(windows, self.standing.status, strict=True) if status == "training"
        ]
        tokens = tokens_read(max(live), self.task.num_tokens)
        working = self.standing.slots.working
        if tokens not in self._steppers:
            state = self.standing.state.part(slice(len(working)))
            self._steppers[tokens] = Stepper(
                self.config, self.network, self.task, state, tokens, working, self.teaching
            )
        stepper = self._steppers[tokens]
        stepper.windows.copy_(torch.tensor([windows[replicate] for replicate in working]))
        if self.config.teach is not None and self.config.teach.until == "solved":
            rows = self.standing.history.rows
            stepper.taught.copy_(torch.tensor([not has_learned(rows, replicate) for replicate in working]))
        if self.standing.unfinished_losses is not None:
            stepper.loss_sum.copy_(self.standing.unfinished_losses[list(working)])
            self.standing.unfinished_losses = None
        return stepper

    def _windows(self) -> list[int]:
        """Loss window of each replicate in tokens, from its last evaluation."""
        curriculum, replicates, task = self.config.curriculum, self.config.replicates, self.config.task
        if curriculum is None:
            return [self.task.num_tokens] * replicates
        letters = [curriculum.window(entry["position_accuracy"]) for entry in self.standing.history.final]
        return [task.tokens_of(width) for width in letters or [curriculum.first(task.length)] * replicates]

    def _train(
        self, stepper: Stepper, interval: Interval, display: Progress, pause: Callable[[], bool]
    ) -> None:
        """Trains to the end of the interval or until ``pause``; the split into pieces changes no bit."""
        cuts = self.standing.plateau.cuts[list(self.standing.slots.working)]
        while self.standing.step < interval.end:
            length, average = interval.piece(self.standing.step, self._piece or stepper.chunk)
            if interval.restarts_average(self.standing.step):
                for row in self.standing.live.values():
                    self.standing.state.average[row].copy_(self.standing.state.weight[row])
            began = time.monotonic()
            stepper.run(self.standing.step, length, cuts, average=average)
            self.standing.step += length
            display.advance(length)
            if self._piece is not None:  # not on a GPU: there steps are queued asynchronously
                fitting = int(PIECE_SECONDS * length / max(time.monotonic() - began, 1e-9))
                self._piece = max(1, min(stepper.chunk, fitting))
            if pause():
                return

    def _judge(self) -> Scores:
        """Scores of the active rows."""
        working = self.standing.slots.working
        weights = self.cast_weights(self.standing.state.average[: len(working)])
        return self.held_out.of(working).watch(self.network, weights)

    def cast_weights(self, flat: Tensor) -> Weights:
        """Weights by name, in the precision of the matrix products."""
        return self.network.layout.views(flat.to(self.standing.state.compute.dtype))

    def hint_shares(self, flat: Tensor, words: HeldOut, count: int) -> Tensor:
        """The share of the letters of the first ``count`` words that each hint reads right [R, hints]."""
        assert self.teaching is not None
        batch = words.batch
        few = Batch(batch.tokens[:, :count], batch.targets[:, :count], batch.shown[:, :count])
        weights = self.layout.views(flat.to(self.standing.state.compute.dtype))
        return self.teaching.accuracy(weights, few, min(64, words.at_once(len(flat))))

    def _note(self, train_loss: Tensor, scores: Scores) -> None:
        """Records an evaluation: best weights, plateau, and which replicates are done."""
        stop_at, before = self.config.evaluation.stop_at, self.standing.history.last_step
        live = self.standing.live  # replicates done earlier are frozen and keep their scores
        alive = self.standing.state.alive.tolist()
        for replicate, row in live.items():
            if not alive[row]:
                self.standing.status[replicate] = "diverged"
            elif stop_at is not None and float(scores.token[row]) >= stop_at:
                self.standing.freeze(replicate, "solved")
        better = self.standing.history.add(self.standing.step, live, train_loss, scores)
        if self.teaching is not None:
            average = self.standing.state.average[: self.standing.slots.width]
            self.standing.history.add_hints(live, self.hint_shares(average, self.held_out, JUDGED))
        for replicate, row in live.items():
            if better[replicate]:
                self.standing.state.best[row].copy_(self.standing.state.average[row])
        self.standing.plateau.observe(self.standing.history.losses())
        if self.config.halving is not None and self.standing.step < self.config.steps:
            # Not at the end: the others have finished.
            accuracy = [entry["accuracy"] for entry in self.standing.history.best]
            for replicate in self.config.halving.given_up(
                before, self.standing.step, self.standing.status, accuracy
            ):
                self.standing.freeze(replicate, "given up")
        self.standing.history.close(self.standing.status)

    def numbers(self, scores: Scores) -> dict[str, float]:
        """The numbers of an evaluation for a display."""
        best, median = self.standing.history.summary()
        return {
            "loss": float(scores.loss.nanmedian()),
            "best": best,
            "median": median,
            "sequences_per_second": self.standing.sequences_per_second,
        }

    def save(self) -> None:
        """Writes a checkpoint, if there is a directory for it."""
        if self.directory is not None:
            losses = self.stepper().loss_sum if self.standing.between else None
            self.directory.save(*self.standing.checkpoint(losses), self._parts)

    def derive(self) -> None:
        """Rewrites the files derived from the last checkpoint: a crash may have lost some."""
        if self.directory is not None:
            best = self.standing.by_replicate(self.standing.state.best)
            self.directory.derive(best, self.standing.history.rows, self._parts)

    def _parts(self, best: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The network's weights and those of its hints, by name."""
        return self.network.layout.views(best), {} if self.teaching is None else self.teaching.heads(best)
