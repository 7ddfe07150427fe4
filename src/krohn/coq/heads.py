"""What the heads of a layer do, read off the weights: they count, or each query finds the latest of its keys.

A counting head gives each letter that it picks the same share, and position 0 more. The scores of the keys
that a query looks for rise from one position to the next, so that the latest has nearly the whole share;
position 0, the padding, is found where there is no such key.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from krohn.coq.counting_hints import ChannelHint, CopyHint, CountHint
from krohn.coq.cuts import TOLERANCE
from krohn.network.transformer import Head, Matrix

GRID = 2.0**40
"""The ends of Coq's boxes are multiples of 1 / GRID."""
MOST_COUNTS = 20_000
"""Largest count: each one is a box through the MLP, and more would take Coq hours."""
UNSEEN = 20.0
"""Letters whose score is lower than the best by this much are not picked."""
MOST_PARTS = 16
"""Most parts into which the least difference of values is cut, to find a unit."""

Places = npt.NDArray[np.int64]
"""For each class the residue of its position."""


class NoCounters(Exception):
    """The weights are not those of heads that count or copy; the message says why."""


@dataclass(frozen=True)
class Before:
    """What is known before a layer.

    Attributes:
        stream: the stream of each class, at one of its positions.
        residues: for each class the residue of its position.
        places: for each position what it adds to every letter; for position 0 its stream.
        period: of the places.
    """

    stream: Matrix
    residues: Places
    places: Matrix
    period: int

    @property
    def of_class(self) -> Matrix:
        """The stream of each class without what its position adds."""
        own = np.minimum(np.where(self.residues, self.residues, self.period), len(self.places) - 1)
        return np.asarray(self.stream - self.places[own])

    def scores(self, head: Head) -> Matrix:
        """The score of each class minus that of position 0, for a query that depends on places alone."""
        return np.asarray((self.stream - self.places[0]) @ head.key @ (self.places[-1] @ head.query))


@dataclass
class Counters:
    """Heads that count: for each counter what each class adds, and what one unit adds to the stream."""

    hints: list[CountHint] = field(default_factory=list)
    steps: list[tuple[int, ...]] = field(default_factory=list)
    effects: list[Matrix] = field(default_factory=list)

    def read(self, head: Head, before: Before) -> None:
        """Adds the counters of a head."""
        length, scores, channels = len(before.places) - 1, before.scores(head), []
        of_place = np.array([scores[before.residues == r].max(initial=-np.inf) for r in range(before.period)])
        picks = of_place > of_place.max() - UNSEEN
        seen = sum(bool(picks[i % before.period]) for i in range(1, length + 1))
        share = 1 / (seen + np.exp(-of_place.max()))
        for every, out in zip((before.stream @ head.value).T, head.output, strict=True):
            unit, steps = units_of(np.where(picks[before.residues], every, 0.0))
            if length * max(map(abs, steps)) > MOST_COUNTS:
                raise NoCounters(f"a head counts to more than {MOST_COUNTS:,}")
            channels.append(ChannelHint(len(self.steps), round(unit * GRID)))
            self.steps.append(steps)
            self.effects.append(share * unit * out)
        self.hints.append(CountHint(tuple(picks.tolist()), tuple(channels)))


@dataclass
class Registers:
    """Values that heads copy: what each class sets them to, the spans of these marks, and their channels."""

    sets: list[tuple[int | None, ...]] = field(default_factory=list)
    spans: list[range] = field(default_factory=list)
    channels: dict[bytes, ChannelHint] = field(default_factory=dict)

    def copy(self, scores: Matrix, keys: tuple[int, ...], values: Matrix, first: Matrix) -> CopyHint:
        """What a query copies, by its scores [position, class of keys], relative to that of position 0;
        ``values`` has a row for each class, and ``first`` is that of position 0.
        """
        writers = _writers_of(scores)
        own, channels = writers[list(keys)], []
        for changes in np.where(own[:, None], values - first, 0.0).T:
            name = changes.tobytes() + own.tobytes()
            if name not in self.channels:
                unit, marks = units_of(changes)
                self.channels[name] = ChannelHint(len(self.sets), round(unit * GRID))
                self.sets.append(tuple(m if w else None for m, w in zip(marks, own.tolist(), strict=True)))
                self.spans.append(range(min(0, *marks), max(0, *marks) + 1))
            channels.append(self.channels[name])
        return CopyHint(tuple(writers.tolist()), tuple(channels))


def _writers_of(scores: Matrix) -> npt.NDArray[np.bool_]:
    """Which columns are looked for: their scores rise, above that of position 0 and of all others."""
    writers = np.asarray((scores > 0).any(axis=0))
    own = scores[:, writers]
    best = np.maximum.accumulate([0.0, *own.max(axis=1, initial=-np.inf)])
    rises = (own.min(axis=1, initial=np.inf) - best[:-1]).min()
    if not min(rises, -scores[:, ~writers].max(initial=-np.inf)) > 0:
        raise NoCounters("the scores of a head that copies must rise from one writing position to the next")
    return writers


def units_of(values: Matrix) -> tuple[float, tuple[int, ...]]:
    """A unit (the least nonzero size or a part of it), and the values as multiples of it."""
    if not np.isfinite(values).all():
        raise NoCounters("a head's value is not a number")
    size = np.abs(values)
    least = float(size[size > TOLERANCE].min(initial=np.inf))
    units = [least / parts for parts in range(1, MOST_PARTS + 1)] if np.isfinite(least) else [1.0]
    multiples = [np.rint(values / unit) for unit in units]
    offs = [np.abs(values / unit - whole).max() for unit, whole in zip(units, multiples, strict=True)]
    best = next((i for i, off in enumerate(offs) if off < TOLERANCE), 0)
    return units[best], tuple(int(count) for count in multiples[best])
