"""Predicted outputs if the first positions of a word are those of another, by mechanism.

The *base* keeps its last positions, the *source* gives the first ones. Before the first block every mechanism
predicts the same, the state after the source's first letters and the base's last ones; at the end each
predicts the base's own state. In between they differ. A mechanism has *stages*, and each stage predicts one
state:

- ``scan``: each position has composed the map of its last w letters; the answer is put together from the
  windows that end at the last letter, w letters before it, and so on;
- ``left to right``: the first s letters are done, and positions behind them hold their letters;
- ``cascade``: the first coordinates are done at every position, and the deeper ones are computed from these;
- ``counts``: on a line, every position has the sum of its steps, and walls are found from the sums.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import KrohnError
from krohn.lab.interpret.lift import CoordinateLift, holonomy_lift, series_lift
from krohn.lab.interpret.readings import Numbers, Readings

LETTERS, WHOLE = "letters", "whole word"
ONE_STEP = "one step"


@dataclass(frozen=True, eq=False)
class Hybrids:
    """Pairs of words of one length."""

    base: Readings
    source: Readings

    @property
    def length(self) -> int:
        """Letters of a word."""
        return self.base.length

    @cached_property
    def cut(self) -> Numbers:
        """[pair, q]: the state after the source's first q letters and the base's others."""
        out = np.concatenate([self.source.before[:, :1], self.source.states], axis=1)
        for place in range(self.length):
            seen = out[:, : place + 1]
            out[:, : place + 1] = self.base.table[seen, self.base.letters[:, place, None]]
        return out


Predict = Callable[[Hybrids, int], Numbers]
"""Pairs, and how many of the first positions are the source's → the state at the last letter; −1: none."""


@dataclass(frozen=True, eq=False)
class MechanismStage:
    """A stage of a mechanism, and its prediction."""

    mechanism: str
    name: str
    predict: Predict


def ends() -> tuple[MechanismStage, MechanismStage]:
    """The predictions common to all mechanisms, before the first stage and after the last."""
    return (
        MechanismStage(ONE_STEP, LETTERS, lambda pairs, first: pairs.cut[:, first]),
        MechanismStage(ONE_STEP, WHOLE, lambda pairs, first: pairs.cut[:, 0]),
    )


def stages_between(automaton: Semiautomaton, length: int) -> list[MechanismStage]:
    """The stages of all mechanisms in the list that apply to the automaton."""
    return [
        *scans(length),
        *left_to_right(length),
        *cascades(automaton),
        *counts(automaton),
    ]


def scans(length: int) -> Iterator[MechanismStage]:
    """Windows of 2, 3, … letters, not only powers of two: trained networks need not double them."""

    def predict(width: int, pairs: Hybrids, first: int) -> Numbers:
        kept = pairs.length - first
        return pairs.cut[:, max(pairs.length - width * -(-kept // width), 0)]

    for width in range(2, length):
        yield MechanismStage("scan", f"windows of {width}", partial(predict, width))


def left_to_right(length: int) -> Iterator[MechanismStage]:
    """The state is known up to letter s, later letters are not yet read."""

    def predict(done: int, pairs: Hybrids, first: int) -> Numbers:
        return pairs.cut[:, first if first >= done else 0]

    for done in range(2, length):
        yield MechanismStage("left to right", f"{done} letters", partial(predict, done))


def cascades(automaton: Semiautomaton) -> Iterator[MechanismStage]:
    """The sections of the derived series, and the levels of the holonomy decomposition, one after the other.

    At the first kept position the letter acts on what was before it: the base's own coordinates, if that
    position has them too (``kept``), or the source's, if it looks back for them.
    """
    for make in (series_lift, holonomy_lift):
        try:
            system = make(automaton)
        except KrohnError:
            continue
        for done in range(1, system.coordinates.shape[1]):
            for looks_back in (False, True):
                name = f"{system.name}: {done} done{', looking back' if looks_back else ''}"
                yield MechanismStage("cascade", name, partial(_deeper, system, done, looks_back))


def _deeper(system: CoordinateLift, done: int, looks_back: bool, pairs: Hybrids, first: int) -> Numbers:
    """The first coordinates as the positions hold them, the deeper ones continued from the source's."""
    own, other, letters = system.along(pairs.base), system.along(pairs.source), pairs.base.letters
    now = other[:, first]
    for place in range(first, pairs.length):
        given = other if place == first and looks_back else own
        now = _mixed(system, done, given[:, place], now)
        now = np.where(now < 0, -1, system.table[now, letters[:, place]])
    now = _mixed(system, done, own[:, -1], now)
    return np.where(now < 0, -1, system.state[now])


def _mixed(system: CoordinateLift, done: int, first: Numbers, deeper: Numbers) -> Numbers:
    """Numbers of the tuples with the first coordinates of one and the deeper ones of another; −1: none."""
    mixed = np.concatenate([system.coordinates[first, :done], system.coordinates[deeper, done:]], axis=1)
    return np.where(deeper < 0, -1, system.numbers(mixed))


def counts(automaton: Semiautomaton) -> Iterator[MechanismStage]:
    """Sums of steps on a line with walls, if the automaton is one."""
    top = automaton.num_states - 1
    states = np.arange(top + 1)
    steps = automaton.table[top // 2].astype(np.int64) - top // 2
    if top < 2 or not np.array_equal(automaton.table, np.clip(states[:, None] + steps, 0, top)):
        return

    def predict(pairs: Hybrids, first: int) -> Numbers:
        own, other = (np.cumsum(steps[side.letters], axis=1) for side in (pairs.base, pairs.source))
        sums = np.concatenate([np.zeros_like(own[:, :1]), other[:, :first], own[:, first:]], axis=1)
        state = np.full(len(sums), automaton.start)
        for step in np.diff(sums, axis=1).T:
            state = np.clip(state + step, 0, top)
        return state

    yield MechanismStage("counts", "sums", predict)


def classes(automaton: Semiautomaton) -> Numbers | None:
    """[state]: its class in the largest commutative quotient of the group (for S4 and S5 the parity).

    That is the finest congruence by which letters commute. ``None`` if a letter is no permutation, all states
    are in one class, or the class determines the state.
    """
    table, number = automaton.table.astype(np.int64), automaton.num_states
    if any(len(np.unique(column)) < number for column in table.T):
        return None
    result, before = np.arange(number), np.full(number, -1)
    while (before != result).any():
        before = result.copy()
        for one in table.T:
            _join(result, one, one[result])  # a state and its representative lead to the same class
            for other in table.T:
                _join(result, other[one], one[other])
    return result if 1 < len(np.unique(result)) < number else None


def _join(labels: Numbers, left: Numbers, right: Numbers) -> None:
    """Merges the classes of each pair; the least state of a class is its label."""
    for one, other in zip(left, right, strict=True):
        low, high = sorted((labels[one], labels[other]))
        labels[labels == high] = low
