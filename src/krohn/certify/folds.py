"""What of a prefix sum Y its readers can tell: a residue, or its place between two ends.

A reader that is constant below ``low`` and above ``high`` sees Y clamped to these ends. A machine that keeps
the clamped sum only knows, at an end, that Y lies there or beyond; a step back may or may not bring Y inside.
It then tries both: each letter stands several times in its alphabet, once for each place where Y may be.
"""

from dataclasses import dataclass

import numpy as np

from krohn.certify.machine import Integers

MAX_CHOICES = 4


@dataclass(frozen=True)
class Fold:
    """Y mod ``period``, or if that is 0, Y clamped to ``low..high``."""

    period: int
    low: int = 0
    high: int = 0

    @property
    def size(self) -> int:
        """How many values are told apart."""
        return self.period or self.high - self.low + 1

    def index(self, sums: Integers) -> Integers:
        """The number of the value that a sum, or a finer fold of it, has."""
        if self.period:
            return sums % self.period
        return np.clip(sums, self.low, self.high) - self.low

    def keep(self, sums: Integers) -> Integers:
        """What a machine keeps of the sum."""
        return sums % self.period if self.period else np.clip(sums, self.low, self.high)


def choices_of(fold: Fold, whole: Fold, steps: Integers) -> int:
    """How many places the next sum may have for one letter: 1 where the fold always knows."""
    if fold.size == 1 or fold.period:
        return 1
    back = -int(steps.min(initial=0)) if fold.high < whole.high else 0
    forth = int(steps.max(initial=0)) if fold.low > whole.low else 0
    return 1 + max(back, forth)


def step(fold: Fold, whole: Fold, kept: Integers, moved: Integers, choice: Integers) -> Integers:
    """What the machine keeps next; with ``choice`` running over ``choices_of`` the truth is among it."""
    sums = kept + moved
    if fold.period or fold.size == 1:
        return fold.keep(sums)
    if fold.high < whole.high:
        sums = sums + np.where((kept == fold.high) & (moved < 0), np.minimum(choice, -moved), 0)
    if fold.low > whole.low:
        sums = sums - np.where((kept == fold.low) & (moved > 0), np.minimum(choice, moved), 0)
    return fold.keep(sums)
