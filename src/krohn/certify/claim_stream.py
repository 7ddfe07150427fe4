"""A claim of the small checker as the stream that the proof of a layout compares with registers.

One nominal vector per class and one radius per channel; channels that it bounds only roughly count as lost.
"""

from collections.abc import Sequence

import numpy as np

from krohn.certify.arithmetic import Array
from krohn.certify.machine import Machine
from krohn.certify.stream import Stream
from krohn.check.machine import Claim
from krohn.check.reader import Network

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
