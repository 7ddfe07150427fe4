"""The search for a proof about a graph: boxes for classes of inputs, bisected until the right logit leads.

What is found is a witness; ``krohn.check.graph.proof`` decides whether it is one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from krohn.check.graph.columns import Case, words_of
from krohn.check.graph.graph import Graph
from krohn.check.graph.head import (
    Classes,
    Frame,
    Sums,
    Tables,
    classes_of,
    cut_of,
    frame_of,
    leads,
    tables_of,
)
from krohn.check.graph.proof import AXES, BETWEEN, LEAF, WORK, Ends, halves, word_leads
from krohn.check.ground import Array, Flags, Integers, Refused, Work, require
from krohn.proving.inputs import at_the_end, read_edges

DEPTH, MOST_BOXES = 16, 200_000
"""Bisections of a class, and boxes of an answer, for an effort of 1."""
MOST_AXES = 10
"""Numbers behind the heads of whose values boxes are made."""
FEW_WORDS = 20_000
"""Inputs that are evaluated one by one, where that is cheaper than to look for classes."""


@dataclass(frozen=True, eq=False)
class OpenClass:
    """A class of inputs that is neither proved nor refuted."""

    case: Case
    asked: tuple[int, int]
    sums: Sums
    ends: Ends
    lead: float

    @property
    def pivot(self) -> int:
        """The token where it is answered."""
        return int(self.sums.tables.pivots[self.sums.classes.pivot[0]])


@dataclass
class Found:
    """A witness, or what stays open."""

    proof: Any = None
    open: list[OpenClass] = field(default_factory=list)
    classes: int = 0
    left: int = 0
    boxes: int = 0
    reason: str = ""
    shares: list[float] = field(default_factory=list)


def find_proof(
    graph: Graph, case: Case, budget: Work, effort: float = 1.0, log: Callable[[str], None] | None = None
) -> Found:
    """A proof for all inputs of one length: by classes where heads can be cut, else word by word."""
    found = Found(proof=[])
    count = case.count
    try:
        for asked in case.asked:
            found.proof.append(_by_classes(graph, case, asked, effort, found))
            if log:
                log(
                    f"{case.length} tokens: {found.classes:,} classes, {found.boxes:,} boxes, "
                    f"{len(found.open)} open"
                )
    except Refused as refusal:
        found.reason = str(refusal)
    if not found.reason and not found.open:
        return found
    if count <= FEW_WORDS * max(1.0, effort):
        return _by_words(graph, case, budget, found)
    if found.reason:
        found.proof = None
    return found


def _by_words(graph: Graph, case: Case, budget: Work, before: Found) -> Found:
    norms = [node.first for node in graph.nodes if node.op == "norm"]
    reason = before.reason
    # Symbols cost time, and the last norms gain most by them.
    for fresh in (norms[len(norms) - count :] for count in range(len(norms) + 1)):
        try:
            for _ in word_leads(graph, case, frozenset(fresh), budget):
                pass
        except Refused as refusal:
            reason = str(refusal)
        else:
            return Found(proof={"fresh": fresh}, classes=case.count, boxes=case.count)
    return Found(reason=reason, open=before.open, classes=before.classes, boxes=before.boxes, shares=[0.0])


def _by_classes(
    graph: Graph, case: Case, asked: tuple[int, int], effort: float, found: Found
) -> list[dict[str, Any]]:
    position, column = asked
    cut = cut_of(graph, position)
    require(
        cut.axes <= MOST_AXES, f"{cut.axes} numbers cross the cut behind the heads; up to {MOST_AXES} can"
    )
    tables = tables_of(cut, case)
    here = case.columns[column]
    _, group = np.unique(np.column_stack([here.before, here.right, here.after]), axis=0, return_inverse=True)
    edges = np.arange(len(here.before))
    parts: list[dict[str, Any]] = []
    total = int(effort * MOST_BOXES)
    every = left = classes_of(case, tables, column, group.reshape(-1))
    some = np.flatnonzero(Sums(case, tables, column, every).possible)
    found.classes += len(some)
    leads_left = np.zeros(0)
    frames = axes_tried(cut.axes)
    for number, rows in enumerate([frames[0], *frames]):
        grouping = edges if number else group.reshape(-1)
        every = classes_of(case, tables, column, grouping)
        if number:
            # Single edges of the classes that are open.
            wanted = np.zeros((len(tables.pivots), len(edges)), dtype=bool)
            np.logical_or.at(wanted, left.pivot, left.edges)
            some = np.flatnonzero(wanted[every.pivot, edges[None].repeat(len(tables.pivots), 0).reshape(-1)])
            some = some[Sums(case, tables, column, every.some(some)).possible]
        classes = every.some(some)
        sums = Sums(case, tables.turned(rows), column, classes)
        ends = ends_of(sums)
        depth = DEPTH if number else DEPTH // 2 + 2
        closed, levels, boxes, least = bisected(tables, frame_of(tables, rows), classes, ends, depth, total)
        found.boxes += boxes
        done = np.flatnonzero(closed)
        if len(done):
            kept = ends.some(done)
            parts.append(
                {
                    "group": grouping.tolist(),
                    "classes": some[done].tolist(),
                    "axes": rows.tolist(),
                    "low": kept.low.tolist(),
                    "high": kept.high.tolist(),
                    "split": kept.split.tolist(),
                    "ratio": kept.ratio.tolist(),
                    "levels": BETWEEN.join(levels),
                }
            )
        left, leads_left = classes.some(~closed), least[~closed]
        if closed.all():
            return parts
    pivot, edge = np.nonzero(left.edges)
    found.left += len(np.unique(np.column_stack([left.pivot[pivot], group.reshape(-1)[edge]]), axis=0))
    for one in np.argsort(leads_left, kind="stable").tolist():
        open_ = Sums(case, sums.tables, column, left.some(np.array([one])))
        found.open.append(
            OpenClass(case, asked, open_, ends.some(np.flatnonzero(~closed)[[one]]), leads_left[one])
        )
    return parts


def axes_tried(count: int) -> list[Array]:
    """The axes of the cut; those of two numbers turned, too: what is reached may be long and thin."""
    turns = (0.0, 0.25, 0.75, 0.5, 1.0) if count == 2 else ()
    pairs = [(np.cos(turn), np.sin(turn)) for turn in turns[1:]]
    return [np.eye(count), *(np.array([[a, b], [-b, a]]).round(6) for a, b in pairs)]


def ends_of(sums: Sums) -> Ends:
    """Boxes of what crosses the cut, each end by Dinkelbach's iteration, at first for each head alone."""
    tables, pivot, count = sums.tables, sums.classes.pivot, len(sums.classes)
    heads, axes = len(tables.cut.heads), tables.cut.axes
    most = [sums.largest(tables.high[head][pivot]) for head in range(heads)]
    ratio = np.ones((count, heads - 1, 2))
    for head in range(1, heads):
        ratio[:, head - 1] = ratios_of(sums, head)
    ends = np.empty((2, count, axes))
    split = np.zeros((count, axes, 2, heads))
    for axis in range(axes):
        of = tables.heads_of(axis)
        for end, sign in ((0, -1.0), (1, 1.0)):
            for head in of:
                split[:, axis, end, head] = one_head(sums, head, axis, sign, most[head])
            bound = split[:, axis, end].sum(axis=1)
            if len(of) > 1:
                bound = together(sums, axis, sign, split[:, axis, end], ratio)
            ends[end, :, axis] = sign * bound
    return Ends(ends[0], ends[1], split, ratio)


def ratios_of(sums: Sums, head: int) -> Array:
    """Both ends of Σe of the first head over Σe of another, for each class."""
    tables, pivot = sums.tables, sums.classes.pivot
    below = sums.largest(tables.high[head][pivot])
    out = []
    for sign in (-1.0, 1.0):
        first = sums.largest(tables.high[0][pivot]) if sign > 0 else -sums.largest(-tables.low[0][pivot])
        other = -sums.largest(-tables.low[head][pivot]) if sign > 0 else below
        now = first / other * (1 + sign * 1e-9)
        for _ in range(6):
            worst = sums.beyond(head, now, sign)
            new = now + sign * np.minimum(worst, 0.0) / below + sign * 1e-9 * np.abs(now)
            now = np.where((sums.beyond(head, new, sign) <= 0) & (sign * (now - new) > 0), new, now)
        out.append(now)
    found: Array = np.column_stack(out)
    return found


def one_head(sums: Sums, head: int, axis: int, sign: float, most: Array, steps: int = 40) -> Array:
    """An end of what one head adds to an axis: from F(λ) ≤ 0 follows that λ + F/Σe is an end, too."""
    tables, pivot = sums.tables, sums.classes.pivot
    ends = (tables.most if sign > 0 else tables.least)[head][..., axis]
    first = (sign * ends[pivot]).max(axis=(1, 2))
    out: Array = first + 1e-6 * (1 + np.abs(first))
    todo = np.arange(len(pivot))
    for _ in range(steps):
        some, now = Sums(sums.case, tables, sums.column, sums.classes.some(todo)), out[todo]
        worst = some.largest(some.pull(head, axis, now, sign))
        new = now + np.where(worst < 0, worst / most[todo], 0.0) + 1e-9 * (1 + np.abs(now))
        good = some.largest(some.pull(head, axis, new, sign)) <= 0
        better = good & (new < now)
        small = now - new < 1e-6 * (1 + np.abs(now))
        out[todo] = np.where(better, new, now)
        todo = todo[better & ~small]
        if not len(todo):
            break
    return out


def together(sums: Sums, axis: int, sign: float, split: Array, ratio: Array) -> Array:
    """An end of what several heads add up to; ``split`` becomes the λ of each where it is reached."""
    case, tables, classes = sums.case, sums.tables, sums.classes
    heads = tables.heads_of(axis)
    place = tables.cut.position
    held = -1 if place in case.fixed else place
    best: Array = split.sum(axis=1)
    best = best + 1e-9 * (1 + np.abs(best))
    now = split.copy()
    middle = np.ones((len(split), len(tables.cut.heads)))
    middle[:, 1:] = np.sqrt(ratio[:, :, 0] * ratio[:, :, 1])
    for _ in range(2):
        weight = sum(
            middle[:, head, None, None] * sums.pull(head, axis, now[:, head], sign) for head in heads
        )
        paths = at_the_end(
            case, np.asarray(weight), sums.column, classes.edges, held, tables.pivots[classes.pivot]
        )
        words, _ = read_edges(case, paths)
        center = np.zeros_like(split)
        scale = np.zeros_like(split)
        for head in heads:
            ends = (tables.most if sign > 0 else tables.least)[head][classes.pivot, :, :, axis]
            e = (tables.low[head] + tables.high[head])[classes.pivot] / 2
            rows = np.arange(len(words))[:, None], np.arange(words.shape[1])[None], words
            share = e[rows]
            scale[:, head] = share.sum(axis=1)
            center[:, head] = sign * (share * ends[rows]).sum(axis=1) / scale[:, head]
        # From F > 0 at the center: what all λ must be raised by, at most.
        part = np.zeros_like(split)
        part[:, heads] = 1 / len(heads)
        low, high = np.zeros(len(split)), best - center.sum(axis=1)
        for step in range(7):
            raised = high if not step else (low + high) / 2
            trial = center + raised[:, None] * part
            bound = trial.sum(axis=1) + 1e-12 * np.abs(trial).sum(axis=1)
            good = sums.above(axis, bound, sign, trial, ratio) <= 0
            better = good & (bound < best)
            split[better], best = trial[better], np.where(better, bound, best)
            low, high = np.where(good, low, raised), np.where(good, raised, high)
        now = center
    worse = sums.above(axis, best, sign, split, ratio) > 0
    while worse.any():  # each head at its own end, which holds
        best = np.where(worse, best + 1e-6 * (1 + np.abs(best)), best)
        worse = sums.above(axis, best, sign, split, ratio) > 0
    return best


def bisected(
    tables: Tables, frame: Frame, classes: Classes, ends: Ends, depth: int, most: int
) -> tuple[Any, list[str], int, Array]:
    """Which classes are proved, the signs of their boxes, level by level, and the leads of the others."""
    low, high = ends.low, ends.high
    owner = np.arange(len(low))
    closed, least = np.ones(len(low), dtype=bool), np.full(len(low), np.inf)
    rows: list[tuple[Integers, Any]] = []
    boxes = 0
    for level in range(depth + 1):
        if not len(owner):
            break
        boxes += len(owner)
        pivot = tables.pivots[classes.pivot[owner]]
        found, share = leads(tables.cut, frame, pivot, classes.right[owner], (low, high))
        good: Flags = found > 0
        broken: Flags = np.asarray(~np.isfinite(share).all(axis=1))
        share = np.where(broken[:, None], high - low, share)
        axis = share.argmax(axis=1)
        signs = np.where(good, LEAF, np.array(list(AXES))[axis])
        rows.append((owner, signs))
        if level == depth or boxes > most:
            closed[owner[~good]] = False
            np.minimum.at(least, owner, found)
            break
        keep = ~good
        owner, low, high = halves(owner[keep], low[keep], high[keep], axis[keep])
        keep = closed[owner]
        owner, low, high = owner[keep], low[keep], high[keep]
    levels = ["".join(signs[closed[own]].tolist()) for own, signs in rows]
    while levels and not levels[-1]:
        levels.pop()
    return closed, levels, boxes, least


__all__ = ["WORK", "Found", "find_proof", "words_of"]
