"""Hints about heads that count or copy, in the form that Coq reads; `Counting.v` has the same records."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ChannelHint:
    """One value of a head: its counter, the unit of its steps, and for counters a slack, on the grid."""

    counter: int
    unit: int
    slack: int = 0


@dataclass(frozen=True)
class HeadHint:
    """On the grid: the share of a letter, its slack, a bound on other shares; and which places are picked."""

    share: int
    slack: int
    rest: int
    picks: tuple[bool, ...]
    channels: tuple[ChannelHint, ...]


@dataclass(frozen=True)
class CopyHint:
    """Which classes write, or, in a layer whose heads match, which classes of keys."""

    writers: tuple[bool, ...]
    channels: tuple[ChannelHint, ...]


@dataclass(frozen=True)
class MatchHint:
    """What the head copies for each class of queries."""

    asks: tuple[CopyHint, ...]


@dataclass(frozen=True)
class Group:
    """Counters that are read as one sum: their weights, a modulus, and a coarser class for each class.

    With ``stops`` the count is clamped, at ``modulus`` − 1, instead of reduced.
    """

    weights: tuple[int, ...]
    modulus: int
    coarse: tuple[int, ...]
    stops: bool = False

    def reduce(self, count: int) -> int:
        """The residue of a count."""
        return min(count, self.modulus - 1) if self.stops else count % self.modulus


@dataclass(frozen=True)
class LayerHint:
    """``Counting.v`` has the same names.

    Attributes:
        steps: for each counter, what each class adds.
        sets: for each counter, what each class sets it to; none where it adds.
        places: for each class, the residue of its position.
        groups: the first is the class itself; the others count.
        cut, owner, channels: as ``krohn.coq.cuts`` says.
        following: for each class the reachable lists of residues, and the class after the layer for each.
        classes: how many there are after the layer.
        keys, asks: where heads match, for each class those of its key and of its query.
    """

    heads: tuple[HeadHint | CopyHint | MatchHint, ...]
    steps: tuple[tuple[int, ...], ...]
    sets: tuple[tuple[int | None, ...], ...]
    places: tuple[int, ...]
    groups: tuple[Group, ...]
    cut: int
    owner: tuple[int, ...]
    channels: tuple[int, ...]
    following: tuple[dict[tuple[int, ...], int], ...] = ()
    classes: int = 0
    keys: tuple[int, ...] = ()
    asks: tuple[int, ...] = ()

    def advance(self, residues: tuple[int, ...], at: int) -> tuple[int, ...]:
        """The residues after one more letter of a class."""
        after = []
        for residue, group in zip(residues, self.groups, strict=True):
            own = [(w, self.steps[j][at], self.sets[j][at]) for j, w in enumerate(group.weights) if w]
            written = [w * value for w, _, value in own if value is not None]
            count = sum(written) if written else residue + sum(w * step for w, step, _ in own)
            after.append(group.reduce(count))
        return tuple(after)


Residues = tuple[tuple[int, ...], ...]
"""The residue of the position, and for each layer those of its groups."""


@dataclass(frozen=True)
class Counting:
    """All hints: ``states`` is the state of each final class, ``known`` the reachable (residues, state).

    A final class that occurs at the padding only has the number of states.
    """

    period: int
    layers: tuple[LayerHint, ...]
    states: tuple[int, ...]
    known: tuple[tuple[Residues, int], ...]
    right: bool
