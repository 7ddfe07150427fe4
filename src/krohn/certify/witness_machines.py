"""Parts of the search for witnesses: exploring machines, merging states, grouping numbers that look alike."""

from collections.abc import Callable

import numpy as np

from krohn.check.machine import Claim
from krohn.check.real import Array, Flags, Integers, Real
from krohn.check.witness import Merge
from krohn.errors import LimitExceeded

MAX_STATES = 100_000
DIGITS = 5
"""Numbers that agree to this many decimals (of their channel's size) are taken to be one."""
WORTH = 6
"""Counters whose worth agrees to this many digits are taken to be one."""

Expand = Callable[[Integers], tuple[Integers, Integers]]
"""Rows ``[n, w]`` to next rows ``[n, letters, w]`` and outputs ``[n, letters, p]``."""


def middle(box: Real) -> Array:
    """The middles of intervals."""
    out: Array = (box.lo + box.hi) / 2
    return out


def rows_alike(rows: Integers) -> Integers:
    """The number of each row among the different ones."""
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def dense(labels: Integers) -> Integers:
    """Labels 0, 1, … in the order in which they first appear."""
    _, first, where = np.unique(labels, return_index=True, return_inverse=True)
    out: Integers = np.argsort(np.argsort(first))[where.reshape(-1)]
    return out


def groups(vectors: Array) -> Integers:
    """Rows that agree to some digits have one label."""
    if not vectors.shape[1]:
        return np.zeros(len(vectors), dtype=np.int64)
    scale = np.maximum(np.abs(vectors).max(axis=0), 1e-300)
    return dense(rows_alike(np.rint(vectors / scale * 10.0**DIGITS).astype(np.int64)))


def explore(start: list[int], expand: Expand, depth: int) -> tuple[Integers, Integers, Integers]:
    """Breadth-first: rows, ``follow[s, a]`` and outputs of all states that ≤ ``depth`` letters reach."""
    first = np.array(start, dtype=np.int64)
    number = {first.tobytes(): 0}
    found, frontier = [first[None]], first[None]
    follows: list[Integers] = []
    outputs: list[Integers] = []
    for _ in range(depth):
        if not len(frontier):
            break
        after, shown = expand(frontier)
        flat = np.ascontiguousarray(after.reshape(-1, after.shape[2]))
        distinct, where = np.unique(flat, axis=0, return_inverse=True)
        known, fresh = np.empty(len(distinct), dtype=np.int64), []
        for index, row in enumerate(np.ascontiguousarray(distinct)):
            key = row.tobytes()
            if key not in number:
                number[key] = len(number)
                fresh.append(row)
            known[index] = number[key]
        if len(number) > MAX_STATES:
            raise LimitExceeded(f"the search may use at most {MAX_STATES:,} states; it needs more")
        follows.append(known[where.reshape(-1)].reshape(after.shape[:2]))
        outputs.append(shown)
        frontier = np.array(fresh, dtype=np.int64).reshape(len(fresh), len(first))
        found.append(frontier)
    if len(frontier):
        follows.append(np.zeros((len(frontier), follows[0].shape[1]), dtype=np.int64))
        outputs.append(np.repeat(outputs[0][:1], len(frontier), axis=0))
    return np.concatenate(found), np.concatenate(follows), np.concatenate(outputs)


def labelled(outputs: Integers, live: Flags) -> Integers:
    """One class per different output of a live state."""
    flat, rows = outputs.reshape(-1, outputs.shape[2]), np.repeat(live, outputs.shape[1])
    labels = np.zeros(len(flat), dtype=np.int64)
    labels[rows] = dense(rows_alike(flat[rows]))
    return labels.reshape(outputs.shape[:2])


def merged(claim: Claim, live: Flags) -> Merge:
    """States and classes that look alike in the channels something reads; counters that nothing reads go, and
    those that are worth the same become one, their sum.
    """
    machine, keep = claim.machine, live.astype(np.float64)
    worth: dict[tuple[str, ...], list[int]] = {}
    for counter in np.flatnonzero((claim.wide * keep[:, None] != 0).any(axis=0)).tolist():
        about = tuple(f"{entry + 0.0:.{WORTH}g}" for entry in claim.wide[:, counter].tolist())
        worth.setdefault(about, []).append(counter)
    turn = np.zeros((len(worth), len(claim.low)), dtype=np.int64)
    for number, alike in enumerate(worth.values()):
        turn[number, alike] = 1
    first = [alike[0] for alike in worth.values()]
    classes = groups(middle(claim.box) * keep)
    reading = machine.live(claim.length)
    width = machine.follow.shape[1] * len(turn)
    steps = (machine.steps @ turn.T).reshape(len(machine.follow), width)
    seen = np.concatenate([classes[machine.shown], steps], axis=1)
    states = _refined(machine.follow, seen, reading)
    return Merge(states, classes, turn, claim.wide[:, first])


def _refined(follow: Integers, seen: Integers, live: Flags) -> Integers:
    """Moore's refinement; states that never read join the start."""
    labels = rows_alike(np.concatenate([live[:, None].astype(np.int64), seen * live[:, None]], axis=1))
    while True:
        finer = rows_alike(np.concatenate([labels[:, None], labels[follow] * live[:, None]], axis=1))
        if finer.max() == labels.max():
            break
        labels = finer
    return dense(np.where(live, finer, finer[0]))
