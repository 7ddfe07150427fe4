"""What the heads of a layer do, read off the weights: they count, look back, or each query finds a key.

A counting head gives each letter that it picks the same share, and position 0 more. The scores of the keys
that a query looks for rise, or fall, from one position to the next, so that the latest, or the first, has
nearly the whole share; position 0, the padding, is found where there is no such key. Where a head looks back,
places alone say which position has nearly the whole share.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from krohn.coq.counting_hints import OWN, BackHint, ChannelHint, CopyHint, CountHint, Rule, after, once
from krohn.coq.cuts import TOLERANCE
from krohn.network.transformer import Head, Matrix

GRID = 2.0**40
"""The ends of Coq's boxes are multiples of 1 / GRID."""
MOST_COUNTS = 20_000
"""Largest count: each one is a box through the MLP, and more would take Coq hours."""
UNSEEN = 20.0
"""Letters whose score is lower than the best by this much are not picked."""
SAME = 64
"""Queries and keys that agree when multiplied by this and rounded are of one class."""
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


class Counted(NamedTuple):
    """A value of a counting head: the unit of its steps, those of each class, what one adds to the stream."""

    unit: float
    steps: tuple[int, ...]
    effect: Matrix


def counted(head: Head, before: Before) -> tuple[tuple[bool, ...], list[Counted]]:
    """At which residues of positions a counting head picks letters, and its values."""
    length, scores, values = len(before.places) - 1, before.scores(head), []
    of_place = np.array([scores[before.residues == r].max(initial=-np.inf) for r in range(before.period)])
    picks = of_place > of_place.max() - UNSEEN
    seen = sum(bool(picks[i % before.period]) for i in range(1, length + 1))
    share = 1 / (seen + np.exp(-of_place.max()))
    for every, out in zip((before.stream @ head.value).T, head.output, strict=True):
        unit, steps = units_of(np.where(picks[before.residues], every, 0.0))
        if length * max(map(abs, steps)) > MOST_COUNTS:
            raise NoCounters(f"a head counts to more than {MOST_COUNTS:,}")
        values.append(Counted(unit, steps, share * unit * out))
    return tuple(picks.tolist()), values


@dataclass
class Counters:
    """Heads that count: for each counter what each class adds, and what one unit adds to the stream."""

    hints: list[CountHint] = field(default_factory=list)
    steps: list[tuple[int, ...]] = field(default_factory=list)
    effects: list[Matrix] = field(default_factory=list)

    def read(self, head: Head, before: Before) -> None:
        """Adds the counters of a head."""
        picks, values = counted(head, before)
        first = len(self.steps)
        channels = [ChannelHint(first + i, round(value.unit * GRID)) for i, value in enumerate(values)]
        self.hints.append(CountHint(picks, tuple(channels)))
        self.steps += [value.steps for value in values]
        self.effects += [value.effect for value in values]


Sets = tuple[int | None, ...]
Writers = npt.NDArray[np.bool_]


@dataclass
class Registers:
    """Values that heads copy or count, each a counter by itself.

    Attributes:
        classes: how many there are before the layer.
        steps, sets, rules: as in a ``LayerHint``.
        spans: the values that a counter may have.
        known: the counters that have a name, and their units.
    """

    classes: int
    steps: list[tuple[int, ...]] = field(default_factory=list)
    sets: list[Sets] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    spans: list[range] = field(default_factory=list)
    known: dict[tuple[object, ...], ChannelHint] = field(default_factory=dict)

    def count(self, value: Counted, length: int) -> ChannelHint:
        """A counter of a head that counts."""
        ends = [length * end(0, *value.steps) for end in (min, max)]
        channel = ChannelHint(len(self.sets), round(value.unit * GRID))
        self._add((None,) * self.classes, OWN, range(ends[0], ends[1] + 1), value.steps)
        return channel

    def copy(self, writers: Writers, keys: tuple[int, ...], changes: Matrix, *, first: bool) -> CopyHint:
        """What a query copies of the latest of its keys, or of the first.

        ``changes`` has a row for each class, its values minus those of position 0.
        """
        own = writers[list(keys)]
        columns = np.where(own[:, None], changes, 0.0).T
        channels = tuple(self._copied(column, own, first=first) for column in columns)
        return CopyHint(tuple(writers.tolist()), channels)

    def back(self, distance: int, changes: Matrix) -> BackHint:
        """What a head copies that looks back: for each value a delay line of counters."""
        everyone, channels = np.ones(self.classes, np.bool_), []
        for column in changes.T:
            channel = self._copied(column, everyone, first=False)
            for _ in range(distance):
                name = ("delayed", channel)
                if name not in self.known:
                    self.known[name] = ChannelHint(len(self.sets), channel.unit)
                    self._add(self.sets[channel.counter], after(channel.counter), self.spans[channel.counter])
                channel = self.known[name]
            channels.append(channel)
        return BackHint(distance, tuple(channels))

    def _copied(self, changes: Matrix, own: Writers, *, first: bool) -> ChannelHint:
        """The register that the classes of ``own`` set to these values."""
        name = (changes.tobytes(), own.tobytes(), first)
        if name not in self.known:
            unit, marks = units_of(changes)
            rule = once(self._guard(own)) if first else OWN
            self.known[name] = ChannelHint(len(self.sets), round(unit * GRID))
            row = tuple(m if w else None for m, w in zip(marks, own.tolist(), strict=True))
            self._add(row, rule, range(min(0, *marks), max(0, *marks) + 1))
        return self.known[name]

    def _guard(self, own: Writers) -> int:
        """The counter that is 0 until one of these classes was read."""
        name = ("guard", own.tobytes())
        if name not in self.known:
            self.known[name] = ChannelHint(len(self.sets), 0)
            self._add(tuple(1 if w else None for w in own.tolist()), OWN, range(2))
        return self.known[name].counter

    def _add(self, row: Sets, rule: Rule, span: range, steps: tuple[int, ...] | None = None) -> None:
        self.steps.append(steps or (0,) * self.classes)
        self.sets.append(row)
        self.rules.append(rule)
        self.spans.append(span)


def distance_of(head: Head, before: Before) -> int | None:
    """How far a head looks back; none if classes matter to it, or it does not look back."""
    if not (alike(before, head.query) and alike(before, head.key)):
        return None
    class_part = before.of_class[0]
    rows = before.places.copy()
    rows[1:] += class_part
    scores = (rows[1:] @ head.query) @ (rows @ head.key).T
    length = len(scores)
    best = [int(row[: t + 1].argmax()) for t, row in enumerate(scores, start=1)]
    distance = length - best[-1]
    return distance if best == [max(t - distance, 0) for t in range(1, length + 1)] and best[-1] else None


def alike(before: Before, weight: Matrix) -> bool:
    """Whether all classes are alike in this product."""
    rows = np.rint(before.of_class @ weight * SAME)
    return bool((rows == rows[:1]).all())


def writers_of(scores: Matrix) -> tuple[Writers, bool]:
    """Which columns are looked for, and whether the first is found: their scores rise, or fall, above that of
    position 0, which is above all others; a row for each position, relative to the score of position 0.
    """
    writers = np.asarray((scores > 0).any(axis=0))
    own = scores[:, writers]
    least, most = own.min(axis=1, initial=np.inf), own.max(axis=1, initial=-np.inf)
    rises = (least - np.maximum.accumulate([0.0, *most])[:-1]).min()
    falls = (least - np.maximum.accumulate([0.0, *most[::-1]])[:-1][::-1]).min()
    if not min(max(rises, falls), -scores[:, ~writers].max(initial=-np.inf)) > 0:
        raise NoCounters(
            "the scores of a head that copies must rise, or fall, from one writing position to the next"
        )
    return writers, bool(falls > rises)


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
