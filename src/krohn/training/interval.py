"""The steps between two evaluations."""

from dataclasses import dataclass

from krohn.training.config import RunConfig
from krohn.training.optimizer import ema_window


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
