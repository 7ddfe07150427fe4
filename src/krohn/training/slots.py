"""Which replicates are at work, and what has happened since the last evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass

from krohn.training.config import RunConfig
from krohn.training.optimizer import ema_window

# The steps between two evaluations.


@dataclass(frozen=True)
class Interval:
    """The steps ``first`` … ``end − 1``, from one evaluation to the next.

    All of it follows from the configuration and the evaluation before, so that a run can stop after any step
    and go on as if it had not.

    Attributes:
        first: the step of the evaluation before.
        averaged: the step from which weights are averaged, as late as rounding allows.
        end: the step of the evaluation to come.
    """

    first: int
    averaged: int
    end: int

    @classmethod
    def after(cls, first: int, config: RunConfig) -> "Interval":
        """The interval after the evaluation at step ``first``."""
        end = min(first + config.evaluation.every, config.steps)
        return cls(first, max(first, end - ema_window(config.optimizer.ema)), end)

    def restarts_average(self, step: int) -> bool:
        """Whether the average starts afresh before ``step``: it goes on if every step is averaged."""
        return step == self.averaged > self.first

    def piece(self, step: int, most: int) -> tuple[int, bool]:
        """How many steps of one kind lie ahead, at most ``most``, and whether they are averaged."""
        average = step >= self.averaged
        return min(most, (self.end if average else self.averaged) - step), average


# Where replicates lie in the buffers, so that those that are done cost nothing.


@dataclass(frozen=True)
class Slots:
    """The replicate in each row of the buffers; only the first ``width`` rows are trained and judged.

    Attributes:
        order: ``order[row]`` is the replicate in a row.
        width: the number of rows in work. Some of their replicates may be done already: making the work
            narrower prepares new steps, which must be worth it.
    """

    order: tuple[int, ...]
    width: int

    @classmethod
    def start(cls, replicates: int) -> "Slots":
        """Every replicate in its own row."""
        return cls(tuple(range(replicates)), replicates)

    @property
    def working(self) -> tuple[int, ...]:
        """The replicates in the rows in work."""
        return self.order[: self.width]

    @property
    def rows(self) -> list[int]:
        """The row of each replicate."""
        return sorted(range(len(self.order)), key=self.order.__getitem__)

    def narrowed(self, training: Sequence[bool]) -> "Slots":
        """Those in training first, once they fill at most half the rows in work; otherwise the same.

        Args:
            training: for each replicate, whether it is still in training.
        """
        kept = [replicate for replicate in self.working if training[replicate]]
        if not 0 < 2 * len(kept) <= self.width:
            return self
        rest = [replicate for replicate in self.order if replicate not in kept]
        return Slots((*kept, *rest), len(kept))
