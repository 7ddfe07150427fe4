"""Hints about heads that count, match or look back, as Coq reads them; `Counting.v` has the same records."""

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
    """Of which classes of keys one is copied."""

    writers: tuple[bool, ...]
    channels: tuple[ChannelHint, ...]


@dataclass(frozen=True)
class MatchHint:
    """What the head copies for each class of queries: the latest of the keys, or the first."""

    asks: tuple[CopyHint, ...]
    first: bool = False


@dataclass(frozen=True)
class BackHint:
    """How far the head looks back, and what it copies from there."""

    distance: int
    channels: tuple[ChannelHint, ...]


Rule = tuple[int, ...]
OWN: Rule = (0,)
"""The counter moves by its own steps."""


def after(counter: int) -> Rule:
    """It takes what that counter had a letter before."""
    return (1, counter)


def once(counter: int) -> Rule:
    """It moves only while that counter is 0."""
    return (2, counter)


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
        rules: for each counter, where not all move by their own steps; group i is then counter i.
        places: for each class, the residue of its position.
        groups: where heads count, the first is the class itself.
        cut, owner, channels: where heads count, as ``krohn.coq.cuts`` says.
        following: for each class the reachable lists of residues, and the class after the layer for each.
        classes: how many there are after the layer.
        keys, asks: where heads match, for each class those of its key and of its query.
    """

    heads: tuple[CountHint | MatchHint | BackHint, ...]
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
    rules: tuple[Rule, ...] = ()

    def advance(self, residues: tuple[int, ...], at: int) -> tuple[int, ...]:
        """The residues after one more letter of a class."""
        rules = self.rules or (OWN,) * len(residues)
        moved = []
        for residue, group, (kind, *counter) in zip(residues, self.groups, rules, strict=True):
            if kind == 1 or (kind == 2 and residues[counter[0]]):
                moved.append(residues[counter[0]] if kind == 1 else residue)
                continue
            own = [(w, self.steps[j][at], self.sets[j][at]) for j, w in enumerate(group.weights) if w]
            written = [w * value for w, _, value in own if value is not None]
            count = sum(written) if written else residue + sum(w * step for w, step, _ in own)
            moved.append(group.reduce(count))
        return tuple(moved)


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
