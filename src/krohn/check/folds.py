"""Counters and the states that keep a fold of them: which values are possible where, and the rows to run."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from krohn.check.machine import Claim, Lifted, Setting
from krohn.check.real import Integers, Real, point
from krohn.check.verdict import require
from krohn.check.witness import Tabulate

MOST_VALUES = 1 << 24
NOTHING = -(1 << 50)
"""Stands for "the state after the last letter": it reads nothing, so nothing is known of what it keeps."""


@dataclass(frozen=True)
class Situations:
    """Each row: class, what every fold held, the step, what it holds then, and the label to be shown."""

    table: Integers
    counters: int

    def columns(self, read: Integers) -> Integers:
        """Class and the columns of some counters."""
        wanted = [0, *(1 + n * self.counters + k for n in range(3) for k in read.tolist())]
        return self.table[:, wanted]


def follow_folds(setting: Setting, claim: Claim, step: Tabulate, new: Lifted) -> Situations:
    """Shows that each value of a counter goes, for some choice, to one that the next state allows."""
    follow, counters = step.lift.follow, len(claim.low)
    require(step.kept.shape == (len(follow), counters) and len(step.folds) == counters, "witness: folds")
    require(step.wide.shape == claim.wide.shape, "witness: worth of counters")
    uncertain = 0
    for k in range(counters):
        uncertain += not _one_fold(setting, claim, step, new, k)
    require(uncertain <= 1, "choices of two folds at once need not be right together")
    later = np.where(new.live[follow][..., None], step.kept[follow], NOTHING)
    held = np.broadcast_to(step.kept[:, None], new.steps.shape)
    parts = [new.own[..., None], held, new.steps, later, step.lift.shown[..., None]]
    return Situations(np.unique(np.concatenate(parts, axis=2)[new.rows], axis=0), counters)


def _one_fold(setting: Setting, claim: Claim, step: Tabulate, new: Lifted, k: int) -> bool:
    """Refuses unless some choice is right for every value; returns whether all of them are."""
    fold, kept = step.folds[k], step.kept[:, k]
    require(claim.high[k] - claim.low[k] < MOST_VALUES, "witness: a counter has too many values")
    values = np.arange(claim.low[k], claim.high[k] + 1)
    names = fold(values)
    require(fold(np.zeros(1, dtype=np.int64))[0] == kept[0], "witness: the start of a fold")
    follow, choices = step.lift.follow, new.choices
    shape = (len(follow), follow.shape[1] // choices, choices)
    jumps = new.steps[:, ::choices, k]
    # What matters of a (state, letter): what is held, the jump, and what may be held then.
    after = np.where(new.live[follow], kept[follow], NOTHING).reshape(shape)
    held = np.broadcast_to(kept[:, None, None], (*shape[:2], 1))
    cases = np.unique(
        np.concatenate([held, jumps[..., None], after], axis=2)[new.live].reshape(-1, 2 + choices), axis=0
    )
    setting.budget.spend(len(cases) * len(values) * (1 + choices), "folds")
    certain = True
    for case in cases:
        possible = np.flatnonzero(names == case[0])
        index = possible + case[1]
        index = index[(index >= 0) & (index < len(values))]
        right = (names[index][:, None] == case[2:]) | (case[2:] == NOTHING)
        require(right.any(axis=1), "witness: a fold does not follow its counter")
        certain = certain and bool(right.all())
    return certain


@dataclass(frozen=True)
class Rows:
    """Inputs of a block: each (class, values of counters) once, and to which situations they belong."""

    box: Real
    sums: Integers
    back: Integers  # entry → input
    names: Integers  # entry → distinct situation
    where: Integers  # situation → distinct situation


def rows_of(setting: Setting, claim: Claim, step: Tabulate, situations: Situations, read: Integers) -> Rows:
    """All values that the counters ``read`` can have in each situation; other counters are left at 0."""
    distinct, where = np.unique(situations.columns(read), axis=0, return_inverse=True)
    ranges = [np.arange(claim.low[k], claim.high[k] + 1) for k in range(len(claim.low))]
    sets: list[list[Integers]] = []
    for row in distinct:
        was, jump, then = row[1:].reshape(3, len(read))
        chosen = [np.zeros(1, dtype=np.int64)] * len(claim.low)
        for n, k in enumerate(read.tolist()):
            fold, values = step.folds[k], ranges[k]
            allowed = (fold(values) == then[n]) | (then[n] == NOTHING)
            before = values - jump[n]
            allowed &= (before >= claim.low[k]) & (before <= claim.high[k])
            chosen[k] = values[allowed & (fold(before) == was[n])]
        sets.append(chosen)
    setting.budget.spend(len(distinct) * sum(map(len, ranges)), "values of counters")
    counts = [int(np.prod([len(values) for values in chosen], dtype=np.float64)) for chosen in sets]
    setting.budget.spend(4.0 * sum(counts) * (1 + claim.box.lo.shape[1]), "rows of counters")
    shapes = [(count, len(claim.low)) for count in counts]
    every = zip(sets, shapes, strict=True)
    sums = [np.array(list(product(*chosen)), dtype=np.int64).reshape(shape) for chosen, shape in every]
    entries = np.concatenate(
        [np.c_[np.full(len(s), row[0]), s] for row, s in zip(distinct, sums, strict=True)]
    )
    names = np.repeat(np.arange(len(distinct)), counts)
    inputs, back = np.unique(entries, axis=0, return_inverse=True)
    box = claim.box[inputs[:, 0]] + point(inputs[:, 1:]) @ claim.wide.T
    return Rows(box, inputs[:, 1:], back.reshape(-1), names, where.reshape(-1))
