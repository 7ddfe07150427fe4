"""Position encodings that repeat: flags and residues of positions, which classes can show.

A channel whose codes are small integers along the letters and repeat after a while says no more than where
in its rhythm a position stands. A clock of so many states then takes its place: the classes become
(letter, reading of the clock), and everything proved about classes holds for positions of one reading too.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.certify.machine import Integers, Machine


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


def standing(machine: Machine, length: int) -> npt.NDArray[np.bool_]:
    """``[class, letter]``: which classes some word shows at its first, second, … letter."""
    where = np.zeros((int(machine.shown.max()) + 1, length), dtype=bool)
    states: Integers = np.zeros(1, dtype=np.int64)
    for place in range(length):
        where[np.unique(machine.shown[states]), place] = True
        states = np.unique(machine.follow[states])
    return where
