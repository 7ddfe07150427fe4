"""Position encodings that gadgets request as channels; a network carries only those requested.

``one`` is 1 everywhere, ``bos`` marks position 0, ``recency`` is t/2^L. ``log`` is log(2^L − n_t)
with n_t the number of visible positions after BOS: a head that gives BOS this score and every other
position the score 0 averages over exactly 2^L (the absorbing padding token of Lemma "modular
counter", at a power of two so that the scale is exact); ``log early|cycle`` counts only positions that have
flag 1 in that rhythm. ``cos f`` and ``sin f`` turn once in ``base^(f+1)`` positions and are 0 at BOS.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, pi

import numpy as np
import numpy.typing as npt

from krohn.base.portable import cos, each, log, sin
from krohn.network.layout import Channel
from krohn.network.program import Places

FREQUENCIES = 2


@dataclass(frozen=True)
class PositionCodes:
    """The codes of ``count`` positions, BOS included; ``exact``: look-backs are one-hot."""

    count: int
    exact: bool = False

    @property
    def scale(self) -> int:
        """2^L, the least power of two above the number of positions."""
        return int(1 << self.count.bit_length())

    @property
    def base(self) -> int:
        """The period of the fastest turning code; base^FREQUENCIES > count, and at least 4."""
        root: float = (self.count + 1) ** (1 / FREQUENCIES)
        return max(4, ceil(root - 1e-9))

    @property
    def shift_gap(self) -> float:
        """Lower bound on the loss of the inner product of codes when the shift is wrong.

        A shift Δ ≠ 0 with |Δ| < base^F is not divisible by some base^(f+1) though by base^f, and that
        frequency alone loses 1 − cos(2π/base).
        """
        return 1 - cos(2 * pi / self.base)

    def column(self, channel: Channel, rhythms: Sequence[Places]) -> npt.NDArray[np.float64]:
        """The code that a channel holds along the positions 0 … count−1, in a program with these rhythms."""
        positions = np.arange(self.count, dtype=np.float64)
        if channel == ONE:
            return np.ones(self.count)
        if channel == BOS:
            return np.equal(positions, 0).astype(np.float64)
        if channel == RECENCY:
            return positions / self.scale
        if channel == LOG:
            return each(log, self.scale - positions)
        for frequency in range(FREQUENCIES):
            for code, function in zip(turning(frequency), (cos, sin), strict=True):
                if channel == code:
                    turned = each(function, 2 * pi * positions / self.base ** (frequency + 1))
                    turned[0] = 0.0
                    return turned
        rhythm = next(rhythm for rhythm in rhythms if channel == log_of_places(rhythm))
        return each(log, self.scale - rhythm.along(self.count, "wide").astype(np.float64))


def log_of_places(rhythm: Places) -> Channel:
    """log(2^L − n_t) with n_t the number of visible positions whose flag is 1."""
    early, cycle = ("".join(map(str, flags)) for flags in (rhythm.early, rhythm.cycle))
    return Channel(position=f"log {early}|{cycle}")


ONE, BOS = Channel(position="one"), Channel(position="bos")
LOG, RECENCY = Channel(position="log"), Channel(position="recency")


def turning(frequency: int) -> tuple[Channel, Channel]:
    """The two channels of one frequency."""
    return Channel(position=f"cos {frequency}"), Channel(position=f"sin {frequency}")
