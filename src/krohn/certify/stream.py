"""The abstract residual stream: at every moment, for every word at once.

A letter's position t holds ``nominal[c] + wide @ Z_t + places[t]`` up to ``radius``, where c is the class
the machine shows and Z_t are its running counters (prefix sums). Padding positions see no letter: their
vectors ``pads`` are plain numbers up to ``pad_radius``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.certify.arithmetic import Array
from krohn.certify.machine import Integers, Machine, distinct_rows
from krohn.check.machine import Claim
from krohn.check.reader import Network

Flags = npt.NDArray[np.bool_]

DIGITS = 5
"""Vectors that agree to this many decimals (of their channel's size) are one class; the rest is radius."""


@dataclass(frozen=True, eq=False)
class Stream:
    """One moment of the forward pass; see the module's text. ``reach[k]`` are the ends of counter k."""

    machine: Machine
    nominal: Array  # classes × d
    radius: Array  # d
    wide: Array  # d × counters
    reach: Integers  # counters × 2
    pads: Array  # τ × d
    pad_radius: Array  # d
    places: Array  # (τ + T) × d: the position codes that vary along letters (already part of pads)
    lost: Array  # d: size of what was forgotten; nothing reads it, but infinity times 0 is not 0
    clocked: bool = False  # whether classes know places, so that not all of them stand everywhere

    @property
    def num_padding(self) -> int:
        """τ."""
        return len(self.pads)

    @property
    def length(self) -> int:
        """T, the longest word considered."""
        return len(self.places) - len(self.pads)

    def carries_code(self, weight: Array) -> bool:
        """Whether a matrix looks at a position code, be it that its terms cancel."""
        codes = (self.places[self.num_padding :] != 0).any(axis=0)
        return bool((codes & (weight != 0).any(axis=1)).any())

    def size(self) -> Array:
        """The largest absolute value of each channel at a letter's position."""
        far = np.abs(self.reach).max(axis=1, initial=0)
        out: Array = (
            np.abs(self.nominal).max(axis=0, initial=0.0)
            + np.abs(self.wide) @ far
            + np.abs(self.places).max(axis=0, initial=0.0)
            + self.radius
        )
        return out


def cluster(vectors: Array) -> tuple[Array, Integers, Array]:
    """Representatives, the representative of each vector, and the largest distance per channel."""
    if not vectors.size:
        found, where = distinct_rows(np.zeros((len(vectors), 0), dtype=np.int64))
        return vectors[: len(found)], where, np.zeros(vectors.shape[1])
    scale = np.maximum(np.abs(vectors).max(axis=0), 1e-300)
    grid = np.rint(vectors / scale * 10.0**DIGITS).astype(np.int64)
    _, where = distinct_rows(grid)
    _, first = np.unique(where, return_index=True)
    chosen = vectors[first]
    return chosen, where, np.abs(vectors - chosen[where]).max(axis=0)


ROUGH = 0.1
"""A channel whose interval is wider than this share of its size is not known well enough to be compared."""


def streams_of(claims: Sequence[Claim], network: Network) -> list[Stream]:
    """Claims about several moments of one network."""
    letters, codes = len(network.embedding), network.positions[: len(network.padding)]
    return [stream_of(claim, letters, codes) for claim in claims]


def stream_of(claim: Claim, letters: int, codes: Array) -> Stream:
    """A claim of the checker; ``codes`` are the position codes of padding where they vary along letters."""
    middle, half = _ball(claim.box.lo, claim.box.hi)
    pads, pad_half = _ball(claim.pads.lo, claim.pads.hi)
    radius, pad_radius = half.max(axis=0), pad_half.max(axis=0, initial=0.0)
    whole = np.maximum(claim.box.size.max(axis=0), claim.pads.size.max(axis=0, initial=0.0))
    whole = whole + claim.counted + claim.placed
    known = radius <= ROUGH * whole
    known = known | (radius == 0)
    keep, old = known.astype(np.float64), claim.machine
    machine = Machine(old.follow, old.shown, old.steps, old.follow.shape[1] // letters)
    places = np.concatenate([np.where((claim.places != 0).any(axis=0), codes, 0.0), claim.places])
    return Stream(
        machine,
        middle * keep,
        radius * keep,
        claim.wide * keep[:, None],
        np.stack([claim.low, claim.high], axis=1),
        pads * keep,
        pad_radius * keep,
        places * keep,
        whole * (1 - keep),
    )


def _ball(low: Array, high: Array) -> tuple[Array, Array]:
    """Middle and half width, the latter generously rounded up."""
    middle = (low + high) / 2
    half = np.maximum(high - middle, middle - low)
    return middle, np.where(low == high, 0.0, half * 1.001)
