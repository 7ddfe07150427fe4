"""Where an MLP can be cut: each hidden unit there depends on the letter's class, or on one group of counters.

Group 0 is the class; group g + 1 is the g-th group of counters. The sums of the next matrix then have one
part for each group, and the part of a counting group is periodic in its count, or stops changing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.errors import Unsupported
from krohn.network.transformer import Layer, Matrix

TOLERANCE = 0.01
"""Numbers that differ by less count as equal."""
EXACT = 1e-6
MOST_OUTCOMES = 20_000
"""Most outcomes: each is a box that passes through the rest of the MLP."""
NO_CUT = (
    "the kernel's proofs cover layers whose MLP can be cut where each unit depends on the letter or on one "
    "counter, and few values of them differ; this one cannot"
)


@dataclass(frozen=True)
class Cut:
    """A cut of an MLP.

    Attributes:
        place: the number of matrices before it.
        owner: the group of each hidden unit.
        channels: the group of each channel before the MLP.
        moduli: for each counting group, the period of its part, or the number of counts until it is constant.
        stops: for each counting group, whether it stops.
    """

    place: int
    owner: tuple[int, ...]
    channels: tuple[int, ...]
    moduli: tuple[int, ...]
    stops: tuple[bool, ...]


def last_cut(layer: Layer, rows: Matrix, effects: Sequence[Matrix], spans: Sequence[range]) -> Cut:
    """The last place where the MLP can be cut: behind it few units are left.

    Args:
        rows: the stream before the MLP for each class, all counts 0.
        effects: what one count of each group adds to the stream.
        spans: the counts that may occur.
    """
    places = reversed(range(len(layer.mlp.weights)))
    cut = next((cut for place in places if (cut := _cut_at(place, layer, rows, effects, spans))), None)
    if cut is None:
        raise Unsupported(NO_CUT)
    return cut


def _cut_at(
    place: int, layer: Layer, rows: Matrix, effects: Sequence[Matrix], spans: Sequence[range]
) -> Cut | None:
    mlp = layer.mlp
    varies = np.ptp(rows, axis=0) > EXACT * (1 + np.abs(rows).max())
    moving = [(effect != 0) & (len(span) > 1) for effect, span in zip(effects, spans, strict=True)]
    moved = np.stack([varies, *moving])
    channels = _owners(moved)
    # A unit that no weight connects with a group does not depend on it; others are taken to.
    for weight in mlp.weights[:place]:
        moved = moved @ (weight != 0)
    owner = _owners(moved)
    kept = layer.keep_mlp != 0
    if (owner < 0).any() or (channels[kept] < 0).any():
        return None
    channels = np.maximum(channels, 0)
    moduli: list[int] = []
    stops: list[bool] = []
    for group, (effect, span) in enumerate(zip(effects, spans, strict=True)):
        stream = rows[:1] + np.arange(span.start, span.stop)[:, None] * effect
        own, own_channels = owner == group + 1, kept & (channels == group + 1)
        units = stream
        for weight, bias in list(zip(mlp.weights, mlp.biases, strict=True))[:place]:
            units = np.maximum(units @ weight + bias, 0.0)
        parts = units[:, own] @ mlp.weights[place][own]
        values = np.concatenate([parts, (stream * layer.keep_mlp)[:, own_channels]], axis=1)
        moduli.append(_period(values))
        stops.append(span.start == 0 and (end := end_of(values)) < moduli[-1])
        if stops[-1]:
            moduli[-1] = end
    if len(rows) * int(np.prod(moduli, dtype=object)) > MOST_OUTCOMES:
        return None
    return Cut(place, tuple(owner.tolist()), tuple(channels.tolist()), tuple(moduli), tuple(stops))


def _owners(moved: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """For each unit the one group that it reads, 0 if none; -1 if there are several."""
    return np.where(moved.sum(axis=0) > 1, -1, moved.argmax(axis=0))


def _period(rows: Matrix) -> int:
    for period in range(1, len(rows)):
        if np.abs(rows[period:] - rows[:-period]).max(initial=0.0) < TOLERANCE:
            return period
    return len(rows)


def end_of(rows: Matrix) -> int:
    """One more than the number of rows before the constant tail."""
    moved = np.flatnonzero((np.abs(rows - rows[-1:]) >= TOLERANCE).any(axis=1))
    return int(moved[-1]) + 2 if len(moved) else 1
