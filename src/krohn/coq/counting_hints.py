"""Hints about heads that count or copy, in the form that Coq reads; `Counting.v` has the same records."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ChannelHint:
    """One value of a head: its counter, and the unit of its steps with a slack, on the grid."""

    counter: int
    unit: int
    slack: int


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
    """Which classes write, and on the grid how far the score of the latest one is above all others."""

    margin: int
    writers: tuple[bool, ...]
    channels: tuple[ChannelHint, ...]


@dataclass(frozen=True)
class Group:
    """Counters that are read as one sum: their weights, a modulus, and a coarser class for each class.

    With ``stops`` the count is clamped, at ``modulus`` − 1, instead of reduced.
    """

    weights: tuple[int, ...]
    modulus: int
    coarse: tuple[int, ...]
    stops: bool = False

    def reduced(self, count: int) -> int:
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
        following: for each class and each list of residues, the class after the layer; the number of
            classes where the pair is unreachable.
        classes: how many there are after the layer.
    """

    heads: tuple[HeadHint | CopyHint, ...]
    steps: tuple[tuple[int, ...], ...]
    sets: tuple[tuple[int | None, ...], ...]
    places: tuple[int, ...]
    groups: tuple[Group, ...]
    cut: int
    owner: tuple[int, ...]
    channels: tuple[int, ...]
    following: tuple[tuple[int, ...], ...] = ()
    classes: int = 0

    def advanced(self, residues: tuple[int, ...], at: int) -> tuple[int, ...]:
        """The residues after one more letter of a class."""
        after = []
        for residue, group in zip(residues, self.groups, strict=True):
            own = [(w, self.steps[j][at], self.sets[j][at]) for j, w in enumerate(group.weights) if w]
            written = [w * value for w, _, value in own if value is not None]
            count = sum(written) if written else residue + sum(w * step for w, step, _ in own)
            after.append(group.reduced(count))
        return tuple(after)

    def place(self, residues: tuple[int, ...]) -> int:
        """The index of a list of residues in ``following``."""
        place = 0
        for group, residue in zip(self.groups, residues, strict=True):
            place = place * group.modulus + residue
        return place


Residues = tuple[tuple[int, ...], ...]
"""The residue of the position, and for each layer those of its groups."""


@dataclass(frozen=True)
class Counting:
    """All hints: ``states`` is the state of each final class, ``known`` the reachable (residues, state)."""

    period: int
    layers: tuple[LayerHint, ...]
    states: tuple[int, ...]
    known: tuple[tuple[Residues, int], ...]
    right: bool
