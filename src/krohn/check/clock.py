"""A clock in place of position codes that repeat: which reading each letter's position has.

Nothing here must be right for the proof: boxes of classes are hulls over all positions of a reading, whatever
the readings are. A reading that fits makes them narrow.
"""

import numpy as np

from krohn.check.real import Array, Flags, Integers

LARGEST, READINGS = 64, 64


def readings_of(along: Array) -> tuple[Flags, Integers, Integers]:
    """Channels whose codes are small whole numbers that repeat; the reading of each letter; the next one."""
    repeats = np.zeros(along.shape[1], dtype=bool)
    early, period = 0, 1
    for channel in np.flatnonzero((along != along[:1]).any(axis=0)):
        own = _rhythm(along[:, channel])
        if own is not None and max(early, own[0]) + int(np.lcm(period, own[1])) <= READINGS:
            repeats[channel] = True
            early, period = max(early, own[0]), int(np.lcm(period, own[1]))
    count = min(early + period, len(along))
    letters = np.arange(len(along))
    reading = np.where(letters < early + period, letters, early + (letters - early) % period)
    following = np.where(np.arange(count) + 1 < count, np.arange(count) + 1, min(early, count - 1))
    return repeats, reading, following


def _rhythm(column: Array) -> tuple[int, int] | None:
    if (column != np.rint(column)).any() or np.abs(column).max() > LARGEST:
        return None
    best: tuple[int, int] | None = None
    for period in range(1, min(READINGS, len(column)) + 1):
        differ = np.flatnonzero(column[period:] != column[: len(column) - period])
        early = int(differ[-1]) + 1 if len(differ) else 0
        if best is None or early + period < sum(best):
            best = (early, period)
    return best
