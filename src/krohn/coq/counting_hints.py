"""Hints about heads that count or match, in the form that Coq reads; `Counting.v` has the same records."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ChannelHint:
    """One value of a head: its counter, and the unit of its steps or marks on the grid."""

    counter: int
    unit: int


@dataclass(frozen=True)
class CountHint:
    """A head that counts: at which residues of positions it picks letters."""

    picks: tuple[bool, ...]
    channels: tuple[ChannelHint, ...]


@dataclass(frozen=True)
class CopyHint:
    """Of which classes of keys the latest is copied."""

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
    coarse: tuple[int, ...] = ()
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
        groups: where heads count, the first is the class itself.
        cut, owner, channels: where heads count, as ``krohn.coq.cuts`` says.
        following: for each class the reachable lists of residues, and the class after the layer for each.
        classes: how many there are after the layer.
        keys, asks: where heads match, for each class those of its key and of its query.
    """

    heads: tuple[CountHint | MatchHint, ...]
    steps: tuple[tuple[int, ...], ...]
    sets: tuple[tuple[int | None, ...], ...]
    places: tuple[int, ...]
    groups: tuple[Group, ...]
    cut: int = 0
    owner: tuple[int, ...] = ()
    channels: tuple[int, ...] = ()
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
