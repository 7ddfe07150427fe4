"""What a program's position maps make of its registers, and what a machine keeps of a prefix sum for them.

A reader that is constant below ``low`` and above ``high`` sees a sum clamped to these ends. A machine that
keeps the clamped sum only knows, at an end, that it lies there or beyond; a step back may or may not bring it
inside. It then tries both: each letter stands several times in its alphabet, once for each place.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from krohn.certify.stream import (
    Integers,
    Machine,
    distinct_rows,
    explore,
    minimise,
)
from krohn.errors import InvalidInput
from krohn.network.position_maps import Clamp, Linear, Modulo, PositionMap

Advance = Callable[[Integers, Integers, Integers], tuple[Integers, Integers]]

UNBOUNDED = 1 << 30
LONGEST = 32
"""Sums that are read as they are and may fall are followed on words up to this length only."""
MAX_CHOICES = 4


@dataclass(frozen=True)
class Fold:
    """Y mod ``period``, or if that is 0, Y clamped to ``low..high``."""

    period: int
    low: int = 0
    high: int = 0

    @property
    def size(self) -> int:
        """How many values are told apart."""
        return self.period or self.high - self.low + 1

    def index(self, sums: Integers) -> Integers:
        """The number of the value that a sum, or a finer fold of it, has."""
        if self.period:
            return sums % self.period
        return np.clip(sums, self.low, self.high) - self.low

    def keep(self, sums: Integers) -> Integers:
        """What a machine keeps of the sum."""
        return sums % self.period if self.period else np.clip(sums, self.low, self.high)


def choices_of(fold: Fold, whole: Fold, steps: Integers) -> int:
    """How many places the next sum may have for one letter: 1 where the fold always knows."""
    if fold.size == 1 or fold.period:
        return 1
    back = -int(steps.min(initial=0)) if fold.high < whole.high else 0
    forth = int(steps.max(initial=0)) if fold.low > whole.low else 0
    return 1 + max(back, forth)


def step(fold: Fold, whole: Fold, kept: Integers, moved: Integers, choice: Integers) -> Integers:
    """What the machine keeps next; with ``choice`` running over ``choices_of`` the truth is among it."""
    sums = kept + moved
    if fold.period or fold.size == 1:
        return fold.keep(sums)
    if fold.high < whole.high:
        sums = sums + np.where((kept == fold.high) & (moved < 0), np.minimum(choice, -moved), 0)
    if fold.low > whole.low:
        sums = sums - np.where((kept == fold.low) & (moved > 0), np.minimum(choice, moved), 0)
    return fold.keep(sums)


@dataclass(frozen=True, eq=False)
class Registers:
    """``value[name][c]`` plus ``share[name] · Z`` in class c; ``pads[name]`` at the padding positions."""

    machine: Machine
    value: dict[str, Integers]
    share: dict[str, Integers]
    pads: dict[str, Integers]
    limit: int  # words up to this length are described
    choices: int  # how many a letter may have because of clamped sums

    def is_narrow(self, name: str) -> bool:
        """Whether it holds a plain integer."""
        return not self.share[name].any()


def remembering(
    state: Registers, start: Integers, advance: Advance, choices: int = 1
) -> tuple[Registers, Integers]:
    """The registers with a machine that also keeps a memory; and what the memory shows, per class."""
    old = state.machine
    follow, seen, moves = (np.repeat(part, choices, axis=1) for part in (old.follow, old.shown, old.steps))

    def expand(rows: Integers) -> tuple[Integers, Integers]:
        shown, steps = seen[rows[:, 0]], moves[rows[:, 0]]
        memory, out = advance(rows[:, 1:], shown, steps)
        after = np.concatenate([follow[rows[:, 0]][..., None], memory], axis=2)
        return after, np.concatenate([shown[..., None], out, steps], axis=2)

    depth = min(state.limit, UNBOUNDED)
    after, outputs = explore(np.concatenate([[0], start]).astype(np.int64), expand, depth)
    width = outputs.shape[2] - old.steps.shape[2]
    rows, classes = distinct_rows(outputs[..., :width].reshape(-1, width))
    machine = Machine(after, classes.reshape(after.shape), outputs[..., width:], old.choices * choices)
    value = {name: held[rows[:, 0]] for name, held in state.value.items()}
    return replace(state, machine=machine, value=value), rows[:, 1:]


def map_registers(state: Registers, change: PositionMap, length: int) -> Registers:
    """The registers after one map."""
    if isinstance(change, Linear):
        return _linear(state, change)
    if isinstance(change, Modulo):
        return _counted(
            state,
            change.terms,
            lambda sums: sums % change.modulus,
            lambda sums: _residues(change, sums),
            change.target,
        )
    if isinstance(change, Clamp):
        return _clamped(state, change, length)
    if not all(state.is_narrow(name) for name in change.reads):
        raise InvalidInput(f"{', '.join(change.writes)} reads a sum as it is")
    given = {name: state.value[name][None, :] for name in change.reads}
    value, share = dict(state.value), dict(state.share)
    for name, held in change.apply(given, "causal").items():
        value[name], share[name] = held[0], np.zeros(state.machine.steps.shape[2], dtype=np.int64)
    return replace(state, value=value, share=share)


def _clamped(state: Registers, change: Clamp, length: int) -> Registers:
    """A sum that only grows is followed until it is clamped for good; any other one between the ends it is
    clamped to, where a letter may take it inside or not, or exactly, up to a length.
    """
    total, shared = _combined(state, change.terms)

    def meaning(sums: Integers) -> Integers:
        return np.clip(sums + change.offset, change.low, change.high)

    if not shared.any():
        return _counted(state, change.terms, None, meaning, change.target)
    if (state.machine.steps @ shared).min() >= 0:
        cap = max(0, change.high - change.offset - int(total.min()))
        return _counted(state, change.terms, lambda sums: np.minimum(sums, cap), meaning, change.target)
    ends = change.low - change.offset - int(total.max()), change.high - change.offset - int(total.min())
    fold, whole = Fold(0, min(0, ends[0]), max(0, ends[1])), Fold(0, -UNBOUNDED, UNBOUNDED)
    choices = choices_of(fold, whole, state.machine.steps @ shared)
    if choices <= state.choices:
        left = replace(state, choices=state.choices // choices)
        return _counted(left, change.terms, fold, meaning, change.target, choices)
    bounded = replace(state, limit=min(state.limit, length, LONGEST))
    return _counted(bounded, change.terms, None, meaning, change.target)


def _residues(change: Modulo, total: Integers) -> Integers:
    residue = (total + change.offset) % change.modulus
    return residue if change.values is None else np.array(change.values, dtype=np.int64)[residue]


def _combined(state: Registers, terms: tuple[tuple[str, int], ...]) -> tuple[Integers, Integers]:
    plain = next(iter(state.value.values()))
    value, share = np.zeros_like(plain), np.zeros(state.machine.steps.shape[2], dtype=np.int64)
    for name, factor in terms:
        value, share = value + factor * state.value[name], share + factor * state.share[name]
    return value, share


def _linear(state: Registers, change: Linear) -> Registers:
    total, shared = _combined(state, change.terms)
    value, share = dict(state.value), dict(state.share)
    value[change.target], share[change.target] = total + change.offset, shared
    return replace(state, value=value, share=share)


def _counted(
    state: Registers,
    terms: tuple[tuple[str, int], ...],
    reduce: Callable[[Integers], Integers] | Fold | None,
    meaning: Callable[[Integers], Integers],
    target: str,
    choices: int = 1,
) -> Registers:
    """Follows a combination of counters, reduced as far as the meaning allows, and applies the meaning."""
    total, shared = _combined(state, terms)
    after, sums = state, np.zeros((len(total), 1), dtype=np.int64)
    if shared.any():

        def advance(memory: Integers, shown: Integers, steps: Integers) -> tuple[Integers, Integers]:
            if isinstance(reduce, Fold):
                drawn = np.arange(steps.shape[1]) % choices
                whole = Fold(0, -UNBOUNDED, UNBOUNDED)
                kept = step(reduce, whole, memory, steps @ shared, drawn)[..., None]
                return kept, kept
            moved = memory[:, None, :] + (steps @ shared)[..., None]
            moved = moved if reduce is None else reduce(moved)
            return moved, moved

        after, sums = remembering(state, np.zeros(1, dtype=np.int64), advance, choices)
        total, _ = _combined(after, terms)
    value, share = dict(after.value), dict(after.share)
    value[target] = meaning(total + sums[:, 0])
    share[target] = np.zeros(after.machine.steps.shape[2], dtype=np.int64)
    return replace(after, value=value, share=share)


def resolved(state: Registers, names: list[str], length: int) -> Registers:
    """Sums that the read-out reads as they are, followed exactly up to the length."""
    for name in names:
        if not state.is_narrow(name):
            bounded = replace(state, limit=min(state.limit, length, LONGEST))
            state = _counted(bounded, ((name, 1),), None, lambda total: total, name)
    return state


def forget(state: Registers, needed: set[str]) -> Registers:
    """Keeps the registers that are still read, the counters they carry, and no state twice."""
    names = sorted(set(state.value) & needed)
    shares = np.array([state.share[name] for name in names], dtype=np.int64).reshape(len(names), -1)
    counters = np.flatnonzero(shares.any(axis=0))
    rows, classes = distinct_rows(np.stack([state.value[name] for name in names], axis=1))
    machine = state.machine
    seen = replace(machine, shown=classes[machine.shown], steps=machine.steps[:, :, counters])
    value = {name: rows[:, number] for number, name in enumerate(names)}
    share = {name: state.share[name][counters] for name in names}
    return replace(state, machine=minimise(seen), value=value, share=share)
