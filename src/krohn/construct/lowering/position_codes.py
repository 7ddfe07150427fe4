"""Position encodings that gadgets ask for by name; a network carries only those that are asked for.

``one`` is 1 everywhere, ``bos`` marks position 0, ``recency`` is t/2^L. ``log`` is log(2^L − n_t)
with n_t the number of visible positions after BOS: a head that gives BOS this score and every other
position the score 0 averages over exactly 2^L (the absorbing padding token of Lemma "modular
counter", at a power of two so that the scale is exact); ``log early|cycle`` counts only positions that have
flag 1 in that rhythm. ``cos f`` and ``sin f`` turn once in
``base^(f+1)`` positions and are 0 at BOS.
"""

from dataclasses import dataclass
from math import ceil, cos, pi

import numpy as np
import numpy.typing as npt

from krohn.network.transformer import Channel, Mask

FREQUENCIES = 2


@dataclass(frozen=True)
class PositionCodes:
    """The codes of ``count`` positions, BOS included; ``exact``: look-backs must leave nothing to others."""

    count: int
    mask: Mask
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
        """What the inner product of codes loses at least when the shift is wrong.

        A shift Δ ≠ 0 with |Δ| < base^F is not divisible by some base^(f+1) though by base^f, and that
        frequency alone loses 1 − cos(2π/base).
        """
        return 1 - cos(2 * pi / self.base)

    def column(self, name: str) -> npt.NDArray[np.float64]:
        """The code along the positions 0 … count−1."""
        positions = np.arange(self.count, dtype=np.float64)
        if name == "one":
            return np.ones(self.count)
        if name == "bos":
            return np.equal(positions, 0).astype(np.float64)
        if name == "recency":
            return positions / self.scale
        if name == "log":
            logarithm: npt.NDArray[np.float64] = np.log(self.scale - self._visible())
            return logarithm
        kind, _, number = name.partition(" ")
        if kind == "log":
            return np.asarray(np.log(self.scale - self._visible_flagged(number)), dtype=np.float64)
        turn = 2 * pi * positions / self.base ** (int(number) + 1)
        code: npt.NDArray[np.float64] = np.cos(turn) if kind == "cos" else np.sin(turn)
        code[0] = 0.0
        return code

    def _visible(self) -> npt.NDArray[np.float64]:
        positions = np.arange(self.count, dtype=np.float64)
        return positions if self.mask == "causal" else np.maximum(positions - 1, 0)

    def _visible_flagged(self, rhythm: str) -> npt.NDArray[np.float64]:
        """How many visible positions have flag 1, the flags being ``early|cycle`` in zeros and ones."""
        early, cycle = rhythm.split("|")
        flags = (early + cycle * (self.count // len(cycle) + 1))[: self.count]
        counts = np.cumsum([int(flag) for flag in flags]).astype(np.float64)
        return counts if self.mask == "causal" else np.concatenate([counts[:1], counts[:-1]])


def log_of_places(early: tuple[int, ...], cycle: tuple[int, ...]) -> Channel:
    """log(2^L − n_t) with n_t the number of visible positions whose flag is 1."""
    return Channel(position=f"log {''.join(map(str, early))}|{''.join(map(str, cycle))}")


ONE, BOS = Channel(position="one"), Channel(position="bos")
LOG, RECENCY = Channel(position="log"), Channel(position="recency")


def turning(frequency: int) -> tuple[Channel, Channel]:
    """The two channels of one frequency."""
    return Channel(position=f"cos {frequency}"), Channel(position=f"sin {frequency}")
