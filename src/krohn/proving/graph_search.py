"""The search for a proof about a graph: boxes for classes of inputs, bisected until the right logit leads.

What is found is a witness; ``krohn.check.graph.proof`` decides whether it is one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from krohn.check.graph.columns import Case, words_of
from krohn.check.graph.graph import Graph
from krohn.check.graph.head import Classes, Sums, Tables, classes_of, cut_of, leads, tables_of
from krohn.check.graph.proof import AXES, BETWEEN, LEAF, WORK, halves, word_leads
from krohn.check.ground import Array, Flags, Integers, Refused, Work, require

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
    sums: Sums
    low: Array
    high: Array
    share: int

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
    for number, grouping in enumerate((group.reshape(-1), edges)):
        every = classes_of(case, tables, column, grouping)
        if number:
            # Single edges of the classes that are open.
            wanted = np.zeros((len(tables.pivots), len(edges)), dtype=bool)
            np.logical_or.at(wanted, left.pivot, left.edges)
            some = np.flatnonzero(wanted[every.pivot, edges[None].repeat(len(tables.pivots), 0).reshape(-1)])
            some = some[Sums(case, tables, column, every.some(some)).possible]
        classes = every.some(some)
        sums = Sums(case, tables, column, classes)
        low, high = ends_of(sums)
        depth = DEPTH if number else DEPTH // 2 + 2
        closed, levels, boxes = bisected(tables, case, classes, (low, high), depth, total)
        found.boxes += boxes
        done = np.flatnonzero(closed)
        if len(done):
            parts.append(
                {
                    "group": grouping.tolist(),
                    "classes": some[done].tolist(),
                    "low": low[done].tolist(),
                    "high": high[done].tolist(),
                    "levels": BETWEEN.join(levels),
                }
            )
        left = classes.some(~closed)
        if closed.all():
            return parts
    for one in np.flatnonzero(~closed):
        keep = np.array([one])
        found.open.append(
            OpenClass(case, Sums(case, tables, column, classes.some(keep)), low[one], high[one], 0)
        )
    return parts


def ends_of(sums: Sums, steps: int = 40) -> tuple[Array, Array]:
    """Boxes of what crosses the cut, each end by Dinkelbach's iteration."""
    tables, pivot = sums.tables, sums.classes.pivot
    low, high = np.empty((len(pivot), tables.cut.axes)), np.empty((len(pivot), tables.cut.axes))
    for head, axes in enumerate(tables.axes):
        shape = tables.high[head][pivot]
        most = sums.largest(shape)
        for axis in range(axes.stop - axes.start):
            for sign, into in ((1.0, high), (-1.0, low)):
                ends = (tables.most if sign > 0 else tables.least)[head][..., axis]
                now = (sign * ends[pivot]).max(axis=(1, 2))
                now = now + 1e-6 * (1 + np.abs(now))
                for _ in range(steps):
                    worst = sums.above(head, axis, now, sign)
                    # From F(λ) ≤ 0 follows that λ + F/Σe is an end, too.
                    new = now + np.where(worst < 0, worst / most, 0.0) + 1e-9 * (1 + np.abs(now))
                    good = sums.above(head, axis, new, sign) <= 0
                    better = good & (new < now)
                    small = now - new < 1e-6 * (1 + np.abs(now))
                    now = np.where(better, new, now)
                    if (small | ~better).all():
                        break
                into[:, axes.start + axis] = sign * now
    return low, high


def bisected(
    tables: Tables, case: Case, classes: Classes, box: tuple[Array, Array], depth: int, most: int
) -> tuple[Any, list[str], int]:
    """Which classes are proved, and the signs of all their boxes, level by level."""
    low, high = box
    owner = np.arange(len(low))
    closed = np.ones(len(low), dtype=bool)
    rows: list[tuple[Integers, Any]] = []
    boxes = 0
    for level in range(depth + 1):
        if not len(owner):
            break
        boxes += len(owner)
        pivot = tables.pivots[classes.pivot[owner]]
        found, share = leads(tables.cut, case, pivot, classes.right[owner], (low, high))
        good: Flags = found > 0
        broken: Flags = np.asarray(~np.isfinite(share).all(axis=1))
        share = np.where(broken[:, None], high - low, share)
        axis = share.argmax(axis=1)
        signs = np.where(good, LEAF, np.array(list(AXES))[axis])
        rows.append((owner, signs))
        if level == depth or boxes > most:
            closed[owner[~good]] = False
            break
        keep = ~good
        owner, low, high = halves(owner[keep], low[keep], high[keep], axis[keep])
        keep = closed[owner]
        owner, low, high = owner[keep], low[keep], high[keep]
    levels = ["".join(signs[closed[own]].tolist()) for own, signs in rows]
    while levels and not levels[-1]:
        levels.pop()
    return closed, levels, boxes


__all__ = ["WORK", "Found", "find_proof", "words_of"]
