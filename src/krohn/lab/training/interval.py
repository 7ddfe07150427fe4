"""The steps between two evaluations, and from which of them on weights are averaged."""

import math
from dataclasses import dataclass

from krohn.lab.training.config import RunConfig


def ema_window(decay: float) -> int:
    """Steps after which the total weight of older terms in the average is below half a float32 ulp.

    Averaging only that many steps before an evaluation gives the same average up to rounding, with less
    memory traffic.
    """
    return 1 if decay == 0.0 else math.ceil(-24.0 * math.log(2.0) / math.log(decay))


@dataclass(frozen=True)
class Interval:
    """The steps ``first`` … ``end − 1``, from one evaluation to the next.

    Determined by the configuration and the previous evaluation alone, so that a run can stop after any step
    and resume as if it had not.

    Attributes:
        first: the step of the previous evaluation.
        averaged: the step from which weights are averaged, as late as rounding allows.
        end: the step of the next evaluation.
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
        """Whether the average is reset before ``step``; it never is if every step is averaged."""
        return step == self.averaged > self.first

    def piece(self, step: int, most: int) -> tuple[int, bool]:
        """Steps to the start of averaging or else to the end, at most ``most``; whether they are averaged."""
        average = step >= self.averaged
        return min(most, (self.end if average else self.averaged) - step), average
