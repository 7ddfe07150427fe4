"""What of a prefix sum Y its readers can tell: a residue, or its place between two ends.

A reader that is constant below ``low`` and above ``high`` sees Y clamped to these ends. A machine that keeps
the clamped sum only knows, at an end, that Y lies there or beyond; a step back may or may not bring Y inside.
It then tries both: each letter stands several times in its alphabet, once for each place where Y may be.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.certify.arithmetic import Array
from krohn.certify.machine import Integers

SAME = 1e-4
"""Contributions this close, relative to their range, count as equal; the difference joins the error."""
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


def find_fold(flat: Array, valid: npt.NDArray[np.bool_], low: int) -> Fold:
    """The coarsest fold of Y = low, low + 1, … that ``flat[kind, Y, sum]`` allows, where ``valid``."""
    count = int(flat.shape[1])
    held = flat[valid]
    span = np.maximum(np.ptp(held, axis=0), 1e-6 * np.abs(held).max(axis=0) + 1e-12)
    clamp = _ends(flat, valid, SAME * span, low)
    for period in range(1, min(count, clamp.size + 1)):
        pairs = valid[:, period:] & valid[:, :-period]
        if not pairs.any():
            continue
        change = np.abs(flat[:, period:] - flat[:, :-period])[pairs]
        if bool((change.max(axis=0) <= SAME * span).all()) and _repeats(flat, valid, period, SAME * span):
            return Fold(period)
    return clamp


def _repeats(flat: Array, valid: npt.NDArray[np.bool_], period: int, close: Array) -> bool:
    """Whether each kind has one value for each residue, also where sums in between cannot occur."""
    for residue in range(period):
        values, where = flat[:, residue::period], valid[:, residue::period]
        high = np.where(where[..., None], values, -np.inf).max(axis=1)
        low = np.where(where[..., None], values, np.inf).min(axis=1)
        if (high - low > close).any():
            return False
    return True


def _ends(flat: Array, valid: npt.NDArray[np.bool_], close: Array, low: int) -> Fold:
    """The least interval outside of which every kind is constant on either side."""
    first, last = flat.shape[1], -1
    for values, where in zip(flat, valid, strict=True):
        places = np.flatnonzero(where)
        if not len(places):
            continue
        away = (np.abs(values[places] - values[places[0]]) > close).any(axis=1)
        back = (np.abs(values[places] - values[places[-1]]) > close).any(axis=1)
        if away.any():
            first = min(first, int(places[away.argmax() - 1]))
            last = max(last, int(places[len(back) - back[::-1].argmax()]))
    if last < 0:
        return Fold(1)
    return Fold(0, low + first, low + last)


def joined(folds: list[Fold], whole: Fold, steps: Integers, limit: int) -> Fold:
    """A fold at least as fine as all of these, or ``whole``, which is Y itself over its range.

    A sum that never falls is followed from below, one that never rises from above, so that the machine always
    knows it. Any other clamped sum costs choices; ``limit`` says how many there may be.
    """
    moving = [fold for fold in folds if fold.size > 1]
    if all(fold.period for fold in moving):
        return Fold(int(np.lcm.reduce([1, *(fold.period for fold in moving)])))
    if any(fold.period for fold in moving):
        return whole
    low = whole.low if steps.min(initial=0) >= 0 else min(fold.low for fold in moving)
    high = whole.high if steps.max(initial=0) <= 0 else max(fold.high for fold in moving)
    made = Fold(0, low, high)
    choices = choices_of(made, whole, steps)
    # Choices must buy something: a sum whose range is hardly larger than what is seen of it is followed.
    return made if choices == 1 or (choices <= limit and 2 * made.size <= whole.size) else whole


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
