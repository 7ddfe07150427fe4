"""Position encodings that repeat: flags and residues of positions, which classes can show.

A channel whose codes are small integers along the letters and repeat after a while says no more than where
in its rhythm a position stands. A clock of so many states then takes its place: the classes become
(letter, reading of the clock), and everything proved about classes holds for positions of one reading too.
"""

from dataclasses import dataclass
from math import lcm

import numpy as np
import numpy.typing as npt

from krohn.certify.arithmetic import Array
from krohn.certify.machine import Integers, Machine

LARGEST = 64
LONGEST = 64
"""Readings of a clock, and sizes of codes, beyond which a code is taken position by position."""


@dataclass(frozen=True, eq=False)
class Rhythm:
    """``channels`` repeat with ``period`` once ``early`` letters have been read."""

    channels: npt.NDArray[np.bool_]
    early: int
    period: int

    @property
    def readings(self) -> int:
        """States of the clock."""
        return self.early + self.period

    def clock(self, letters: int) -> Machine:
        """The machine that shows (reading, letter) as class ``reading · letters + letter``."""
        readings = np.arange(self.readings)
        following = np.where(readings + 1 < self.readings, readings + 1, self.early)
        shown = readings[:, None] * letters + np.arange(letters)[None, :]
        follow = np.repeat(following[:, None], letters, axis=1)
        return Machine(follow, shown, np.zeros((self.readings, letters, 0), dtype=np.int64))


def rhythm_of(along: Array) -> Rhythm:
    """The rhythm of the position codes ``along[letter, channel]``; one reading if no channel repeats."""
    found = np.zeros(along.shape[1], dtype=bool)
    early, period = 0, 1
    for channel in np.flatnonzero((along != along[:1]).any(axis=0)) if len(along) else []:
        own = _column_rhythm(along[:, channel])
        if own is not None and max(early, own[0]) + lcm(period, own[1]) <= LONGEST:
            found[channel] = True
            early, period = max(early, own[0]), lcm(period, own[1])
    return Rhythm(found, early, period)


def _column_rhythm(column: Array) -> tuple[int, int] | None:
    """The smallest rhythm of one channel; at worst every position has a reading of its own."""
    if (column != np.rint(column)).any() or np.abs(column).max() > LARGEST:
        return None
    best: tuple[int, int] | None = None
    for period in range(1, min(LONGEST, len(column)) + 1):
        differ = np.flatnonzero(column[period:] != column[: len(column) - period])
        early = int(differ[-1]) + 1 if len(differ) else 0
        if best is None or early + period < sum(best):
            best = (early, period)
    return best


def standing(machine: Machine, length: int) -> npt.NDArray[np.bool_]:
    """``[class, letter]``: which classes some word shows at its first, second, … letter."""
    where = np.zeros((int(machine.shown.max()) + 1, length), dtype=bool)
    states: Integers = np.zeros(1, dtype=np.int64)
    for place in range(length):
        where[np.unique(machine.shown[states]), place] = True
        states = np.unique(machine.follow[states])
    return where
