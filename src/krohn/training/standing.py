"""State of a run: weights, history, schedule and status. A checkpoint holds exactly this."""

from collections.abc import Mapping
from typing import Any, final

import torch
from torch import Tensor

from krohn.errors import InvalidFile
from krohn.models.network import Layout
from krohn.training.config import RunConfig
from krohn.training.metrics import History, trained_steps
from krohn.training.state import Plateau, Slots, TrainState

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

    def __init__(self, config: RunConfig, layout: Layout, device: torch.device, precision: str) -> None:
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
        narrowed = self.slots.narrowed([status == "training" for status in self.status])
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
