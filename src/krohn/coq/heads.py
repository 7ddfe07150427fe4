"""What each head of a layer does, read off the weights: it counts, or it copies from the latest writer.

A counting head gives each letter that it picks the same share, and position 0 more. The scores of a copying
head rise from one writing position to the next, so that the latest has nearly the whole share;
position 0, the padding, always writes.
"""

from dataclasses import dataclass, field
from math import isfinite

import numpy as np
import numpy.typing as npt

from krohn.coq.counting_hints import ChannelHint, CopyHint, HeadHint, MatchHint
from krohn.coq.cuts import TOLERANCE
from krohn.network.transformer import Head, Layer, Matrix

GRID = 2.0**40
"""The ends of Coq's boxes are multiples of 1 / GRID."""
ROUNDING = 2.0**-24
MOST_COUNTS = 20_000
"""Largest count: each one is a box through the MLP, and more would take Coq hours."""
LATER = 2.0**-12
"""Bound on the error of a counted register after the first layer, in units."""
UNSEEN = 20.0
"""Letters whose score is lower than the best by this much are not picked."""
TIGHT = 0.97
"""The share of a margin that is claimed; the rest allows for rounded scores."""
MOST_MARGIN = 64.0
"""Largest margin: exp(-64) is far below the grid."""
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
        index: the number of the layer, from 0.
        stream: the stream of each class, at one of its positions.
        residues: for each class the residue of its position.
        places: for each position what it adds to every letter; for position 0 its stream.
        period: of the places.
    """

    index: int
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
        """[position from 1 on, class]: scores minus that of position 0; NaN where the class cannot occur."""
        length = len(self.places) - 1
        query = self.places[length] @ head.query
        of_class = self.of_class @ head.key @ query
        of_place = (self.places - self.places[0]) @ head.key @ query
        stands = np.arange(1, length + 1)[:, None] % self.period == self.residues
        return np.where(stands, of_place[1:, None] + of_class, np.nan)


@dataclass
class ReadHeads:
    """The heads of a layer, with their counters in one list.

    Attributes:
        steps, sets: for each counter what each class adds, or sets it to.
        effects: what one unit of each counter adds to the stream.
        constant: what copying heads add when nothing was written.
    """

    hints: list[HeadHint | CopyHint | MatchHint] = field(default_factory=list)
    steps: list[tuple[int, ...]] = field(default_factory=list)
    sets: list[tuple[int | None, ...]] = field(default_factory=list)
    effects: list[Matrix] = field(default_factory=list)
    constant: Matrix | float = 0.0


def read_heads(layer: Layer, before: Before) -> ReadHeads:
    """The hints of all heads."""
    heads = ReadHeads()
    for head in layer.heads:
        if not np.isfinite(before.stream @ head.value).all():
            raise NoCounters("a head's value is not a number")
        scores = before.scores(head)
        if np.nanmax(scores, initial=-np.inf) > 0:
            _copies(head, before, scores, heads)
        else:
            _counts(head, before, heads)
    return heads


def _copies(head: Head, before: Before, scores: Matrix, heads: ReadHeads) -> None:
    writers = writers_of(scores)
    padding, channels = before.places[0] @ head.value, []
    for value, every, out in zip(padding, (before.stream @ head.value).T, head.output, strict=True):
        changes = np.where(writers, every - value, 0.0)
        unit, marks, _ = units_of(changes)
        channels.append(ChannelHint(len(heads.steps), round(unit * GRID)))
        heads.steps.append((0,) * len(marks))
        heads.sets.append(tuple(m if w else None for m, w in zip(marks, writers.tolist(), strict=True)))
        heads.effects.append(unit * out)
        heads.constant = heads.constant + value * out
    heads.hints.append(CopyHint(tuple(writers.tolist()), tuple(channels)))


def writers_of(scores: Matrix) -> npt.NDArray[np.bool_]:
    """Which columns write; ``scores`` are relative to position 0, by position."""
    writers = np.asarray((scores > 0).any(axis=0))
    own = scores[:, writers]
    best = np.maximum.accumulate([0.0, *np.nanmax(own, axis=1, initial=-np.inf)])
    rises = (np.nanmin(own, axis=1, initial=np.inf) - best[:-1]).min()
    if not min(rises, -np.nanmax(scores[:, ~writers], initial=-np.inf)) > 0:
        raise NoCounters("the scores of a head that copies must rise from one writing position to the next")
    return writers


def _counts(head: Head, before: Before, heads: ReadHeads) -> None:
    length = len(before.places) - 1
    query = before.places[length] @ head.query
    first = float(query @ (before.places[0] @ head.key))
    scores = before.stream @ head.key @ query - first
    of_place = np.array([scores[before.residues == r].max(initial=-np.inf) for r in range(before.period)])
    picks = of_place > of_place.max() - UNSEEN
    seen = sum(bool(picks[i % before.period]) for i in range(1, length + 1))
    letter = float(np.exp(of_place.max()))
    share = letter / (1 + seen * letter)
    if not isfinite(share):
        raise NoCounters("a head's share is not a number")
    unseen = float(np.exp(of_place[~picks].max(initial=-np.inf)))
    channels = []
    for every, out in zip((before.stream @ head.value).T, head.output, strict=True):
        values = np.where(picks[before.residues], every, 0.0)
        unit, counts, off = units_of(values)
        if length * max(map(abs, counts)) > MOST_COUNTS:
            raise NoCounters(f"a head counts to more than {MOST_COUNTS:,}")
        slack = _slack(before, float(np.abs(values).max()), off, unit)
        channels.append(ChannelHint(len(heads.steps), round(unit * GRID), slack))
        heads.steps.append(counts)
        heads.sets.append((None,) * len(counts))
        heads.effects.append(share * unit * out)
    slack_of_share = 1.25 * (2 * len(before.places) + 200 + 250 * before.index + 28 * abs(first)) * ROUNDING
    heads.hints.append(
        HeadHint(
            round(share * GRID),
            int(share * slack_of_share * GRID) + 17,
            int(2 * unseen * GRID) + 17,
            tuple(picks.tolist()),
            tuple(channels),
        )
    )


def units_of(values: Matrix) -> tuple[float, tuple[int, ...], float]:
    """A unit (the least nonzero size or a part of it), the values as multiples, and the largest deviation."""
    size = np.abs(values)
    least = float(size[size > TOLERANCE].min(initial=np.inf))
    least = least if isfinite(least) else 1.0
    units = [least / parts for parts in range(1, MOST_PARTS + 1)]
    offs = [float(np.abs(values - unit * np.rint(values / unit)).max(initial=0.0)) for unit in units]
    best = next((i for i, unit in enumerate(units) if offs[i] < TOLERANCE * unit), 0)
    return units[best], tuple(int(count) for count in np.rint(values / units[best])), offs[best]


def _slack(before: Before, size: float, off: float, unit: float) -> int:
    rounded = 4 * before.stream.shape[1] * ROUNDING * size + off
    return int(max(rounded, unit * LATER if before.index else 0.0) * GRID) + 17
