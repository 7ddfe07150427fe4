"""A head on a regular language of inputs: the extremes of what it averages, for each class of inputs.

The weights of a head are e_j / Σ e with e_j = exp(score_j) > 0. In a direction u the average is at most λ on
all inputs of a class exactly if Σ e_j (u·v_j − λ) ≤ 0 on all of them, and where score and value of a term
depend on the token at one position and on the token at the position that answers, this is a sum over
positions.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from krohn.check.graph.affine import UNDERFLOW, UNIT, Affine, rounding_of
from krohn.check.graph.columns import Case, extremes
from krohn.check.graph.evaluate import Plan, Step, in_parts, positions_of
from krohn.check.graph.graph import Graph
from krohn.check.ground import SAFE, Array, Flags, Integers, afford, require

GREATER = 1 + 2.0**-40
"""Covers what exp and products round here."""


@dataclass(frozen=True, eq=False)
class Head:
    """One row of softmax and what it averages: scores [term], values [term, width], average [width]."""

    scores: Integers
    weights: Integers
    values: Integers
    average: Integers
    seen: Flags
    place: Integers
    rounds: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Cut:
    """Where a graph is cut for one answer: behind its heads, at the fewest numbers."""

    graph: Graph
    position: int
    answer: Integers
    heads: tuple[Head, ...]
    scalars: Integers
    behind: Plan

    @property
    def axes(self) -> int:
        """How many numbers cross the cut."""
        return len(self.scalars)


# Rule: the cut.
# Hypotheses: the answer reads softmax only through sums of products with values; term j of each has a score
# and a value that depend on the tokens at the answer's position and one other position alone; given the
# averages, the answer depends on the token at its own position alone. Conclusion: on every input it lies
# where the averages, wherever they can be, and that token put it. Why: the dependences cover all that is
# read.
def cut_of(graph: Graph, position: int) -> Cut:
    """The cut for the answer at a position."""
    answer = graph.answer[position]
    plan = Plan(graph, answer)
    reach = positions_of(graph)
    softs = [step for step in plan.steps if step.node.op == "softmax"]
    require(softs, "the answer reads no attention")
    heads = [one for soft in softs for one in heads_of(graph, plan, soft, reach, position)]
    cut = np.concatenate([head.average for head in heads])
    narrow = cut
    if len(heads) == 1:
        narrow = narrowest(plan, cut)
    behind = Plan(graph, answer, narrow)
    require(
        not (positions_of(graph, dict.fromkeys(narrow.tolist(), 0))[answer].sum(axis=0) > 0)[
            _others(graph, position)
        ].any(),
        "behind the heads the answer depends on more than its own token",
    )
    return Cut(graph, position, answer, tuple(heads), narrow, behind)


def _others(graph: Graph, position: int) -> Flags:
    out: Flags = np.arange(graph.length) != position
    return out


def heads_of(graph: Graph, plan: Plan, soft: Step, reach: Flags, position: int) -> list[Head]:
    """Each row of a softmax that is read."""
    rows, width = soft.sizes
    scores, weights = soft.args[0].reshape(rows, width), soft.out.reshape(rows, width)
    made = set(soft.out.tolist())
    readers = [step for step in plan.steps if any(made & set(arg.tolist()) for arg in step.args)]
    require(
        len(readers) == 1 and readers[0].node.op == "matmul" and not made & set(readers[0].args[1].tolist()),
        "weights of attention are read by more than one product",
    )
    reader = readers[0]
    b, n, k, m = reader.sizes
    left, right = reader.args[0].reshape(b, n, k), reader.args[1].reshape(b, k, m)
    out = reader.out.reshape(b, n, m)
    known, _ = graph.known
    found = []
    for batch in range(b):
        for row in range(n):
            same = (weights == left[batch, row][None]).all(axis=1) if k == width else np.zeros(1, dtype=bool)
            which = np.flatnonzero(same)
            require(len(which) == 1, "a product reads more than the weights of one head")
            own = scores[int(which[0])]
            constant = own < graph.held
            hidden = constant & np.isneginf(np.where(constant, known[np.where(constant, own, 0)], 0.0))
            place = np.zeros(width, dtype=np.int64)
            for term in range(width):
                reads = reach[own[term]] | reach[right[batch, term]].any(axis=0)
                others = np.flatnonzero(reads & _others(graph, position))
                # A term that reads its own position alone is one of that position.
                require(
                    hidden[term] or len(others) <= 1,
                    "a score and its value depend on more than two positions",
                )
                place[term] = others[0] if len(others) and not hidden[term] else -1
            place[place < 0] = _free(place, hidden, position, graph.length)
            rounds = soft.node.rounds, reader.node.rounds
            found.append(
                Head(own, weights[int(which[0])], right[batch], out[batch, row], ~hidden, place, rounds)
            )
    return found


def _free(place: Integers, hidden: Flags, position: int, length: int) -> Integers:
    """Positions for the terms that read no other: whatever stands there, they are the same."""
    open_ = place < 0
    used = set(place[~open_].tolist())
    free = [position] + [one for one in range(length) if one != position]
    left = [one for one in free if one not in used]
    require((~hidden[open_]).sum() <= len(left), "more terms of a head read no token than positions are free")
    places = iter(left)
    return np.array([position if hide else next(places) for hide in hidden[open_].tolist()], dtype=np.int64)


def narrowest(plan: Plan, cut: Integers) -> Integers:
    """The fewest numbers that are made of these alone by matrices of constants."""
    best, now = cut, cut
    for step in plan.steps:
        if step.node.op != "matmul" or step.sizes[:2] != (1, 1):
            continue
        if np.array_equal(np.sort(step.args[0]), np.sort(now)) and (step.args[1] < plan.graph.held).all():
            now = step.out
            best = now if len(now) < len(best) else best
    return best


@dataclass(frozen=True, eq=False)
class Tables:
    """Ends of e and of values, for each head [a, position, token] and [a, position, token, axis]."""

    cut: Cut
    pivots: Integers
    low: list[Array]
    high: list[Array]
    least: list[Array]
    most: list[Array]
    axes: list[slice]


@np.errstate(all="ignore")
def tables_of(cut: Cut, case: Case) -> Tables:
    """For each token at the answer's position and each token that may stand at another."""
    graph, position = cut.graph, cut.position
    read = [one for column in case.columns for one in column.tokens.values()]
    tokens = np.unique(np.concatenate([*read, np.array([0, *case.fixed.values()], dtype=np.int64)]))
    pivots = np.unique(tokens_at(case, position))
    a, b = (
        one.reshape(-1) for one in np.meshgrid(np.arange(len(pivots)), np.arange(len(tokens)), indexing="ij")
    )
    afford(len(b) * graph.length, "words for a table", each=16)
    words = np.repeat(tokens[b][:, None], graph.length, axis=1)
    words[:, position] = pivots[a]
    top = int(tokens.max()) + 1
    made: list[list[Array]] = []
    axes, done = [], 0
    for head in cut.heads:
        width = head.values.shape[1]
        wanted = np.concatenate([head.scores, head.values.reshape(-1)])
        plan = Plan(graph, wanted)
        found = joined([plan.run(words[part]) for part in in_parts(plan, words)])
        terms = len(head.scores)
        scores, values = _part(found, slice(0, terms)), _part(found, slice(terms, None))
        # One factor for all weights of a head is of no account.
        c = np.where(head.seen, scores.c, -np.inf)
        rad = np.where(head.seen, scores.rad, 0.0)
        shift = np.zeros(len(pivots))
        np.maximum.at(shift, a, np.where(np.isfinite(c).any(axis=1), c.max(axis=1), 0.0))
        require(np.isfinite(rad).all(), "a score can be anything")
        e_low = np.exp(c - rad - shift[a][:, None]) / GREATER
        e_high = np.where(head.seen, np.exp(c + rad - shift[a][:, None]) * GREATER + 1e-300, 0.0)
        off = rounding_of(
            Affine(scores.c[:, None], scores.r[:, None], np.zeros((0, len(words), 1, terms))), head.rounds[0]
        )
        off = off.max() + (terms + 4 + head.rounds[1]) * UNIT
        v = Affine(
            values.c.reshape(-1, terms, width), values.rad.reshape(-1, terms, width), np.zeros((0, 1, 1, 1))
        )
        size = np.abs(v.c) + v.r
        seen = head.seen[None, :, None]
        require(np.isfinite(np.where(seen, size, 0.0)).all(), "a value can be anything")
        faint = terms * UNDERFLOW * np.where(seen, size, 0.0).max(initial=0.0)
        r = np.where(seen, SAFE * (v.r + off * size) + faint, 0.0)
        c = np.where(seen, v.c, 0.0)
        if len(cut.heads) == 1 and not np.array_equal(cut.scalars, head.average):
            c, r = _mapped(cut, head, c, r)
        axes.append(slice(done, done + c.shape[2]))
        done += c.shape[2]
        ends = _placed(head, (e_low, e_high, c - r, c + r), (a, tokens[b], len(pivots), top, graph.length))
        made.append(ends)
    low, high, least, most = (list(one) for one in zip(*made, strict=True))
    return Tables(cut, pivots, low, high, least, most, axes)


def joined(parts: list[Affine]) -> Affine:
    """Words of several runs."""
    return Affine(
        np.concatenate([p.c for p in parts]),
        np.concatenate([p.r for p in parts]),
        np.concatenate([p.g for p in parts], axis=1),
    )


def _part(x: Affine, keep: slice) -> Affine:
    return Affine(x.c[:, keep], x.r[:, keep], x.g[:, :, keep])


# Rule: what is rounded behind the average.
# Hypotheses: the cut is made of the average by matrices of constants. Conclusion: it is an average, by the
# same weights, of what these make of each value, with their rounding. Why: a bound on rounding is convex in
# what it is a bound for, and the weights add up to 1.
def _mapped(cut: Cut, head: Head, c: Array, r: Array) -> tuple[Array, Array]:
    plan = Plan(cut.graph, cut.scalars, head.average)
    rows = c.reshape(-1, c.shape[2]), r.reshape(-1, c.shape[2])
    words = np.zeros((len(rows[0]), cut.graph.length), dtype=np.int64)
    found = joined(
        [
            plan.run(words[part], Affine(rows[0][part], rows[1][part], np.zeros((0, *rows[0][part].shape))))
            for part in in_parts(plan, words)
        ]
    )
    shape = (*c.shape[:2], len(cut.scalars))
    return found.c.reshape(shape), found.rad.reshape(shape) * GREATER


def _placed(
    head: Head, ends: tuple[Array, ...], sizes: tuple[Integers, Integers, int, int, int]
) -> list[Array]:
    """By position and token instead of by term; several terms of one position are refused."""
    a, token, pivots, top, length = sizes
    place = head.place[head.seen]
    require(len(set(place.tolist())) == len(place), "two terms of a head are about one position")
    out = []
    for one in ends:
        afford(pivots * length * top * float(np.prod(one.shape[2:])), "ends by position and token", each=32)
        made = np.zeros((pivots, length, top, *one.shape[2:]))
        made[a[:, None], place[None], token[:, None]] = one[:, head.seen]
        out.append(made)
    return out


def tokens_at(case: Case, position: int) -> Integers:
    """Tokens that may stand at a position."""
    if position in case.fixed:
        return np.array([case.fixed[position]])
    return np.concatenate([one for c in case.columns for p, one in c.tokens.items() if p == position])


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of inputs: the token at the answer's position (an index of ``pivots``) and a set of edges."""

    pivot: Integers
    edges: Flags
    right: Integers

    def __len__(self) -> int:
        return len(self.pivot)

    def some(self, keep: Integers | Flags) -> "Classes":
        """Some of them."""
        return Classes(self.pivot[keep], self.edges[keep], self.right[keep])


def classes_of(case: Case, tables: Tables, column: int, group: Integers) -> Classes:
    """All that a grouping of a column's edges makes; those of one group must have one right token."""
    here = case.columns[column]
    count = int(group.max()) + 1
    right = np.zeros(count, dtype=np.int64)
    right[group] = here.right
    require((right[group] == here.right).all(), "edges of one class have different right tokens")
    edges = group[None] == np.arange(count)[:, None]
    pivot = np.repeat(np.arange(len(tables.pivots)), count)
    return Classes(pivot, np.tile(edges, (len(tables.pivots), 1)), np.tile(right, len(tables.pivots)))


@dataclass(frozen=True, eq=False)
class Sums:
    """Largest sums over the inputs of each class."""

    case: Case
    tables: Tables
    column: int
    classes: Classes

    def largest(self, weight: Array) -> Array:
        """[class] for weights [class, position, token]; −∞ where a class has no input."""
        tables = self.tables
        token = tables.pivots[self.classes.pivot]
        place = tables.cut.position
        fixed = place in self.case.fixed
        found = extremes(self.case, weight, self.column, place, None if fixed else token)
        out: Array = np.where(self.classes.edges, found, -np.inf).max(axis=1)
        return out

    @cached_property
    def possible(self) -> Flags:
        """Which classes have an input."""
        shape = len(self.classes), self.tables.cut.graph.length, self.tables.low[0].shape[2]
        return np.isfinite(self.largest(np.zeros(shape)))

    # Rule: an end of an axis.
    # Conclusion: λ bounds the average on all inputs of a class if this is at most 0. Why: the head of the
    # file; e is taken at the end that makes the term largest.
    @np.errstate(all="ignore")
    def above(self, head: int, axis: int, bound: Array, sign: float) -> Array:
        """At least the largest Σ e (sign·v − λ) of each class; ``axis`` counts those of the head."""
        tables, pivot = self.tables, self.classes.pivot
        ends = tables.most if sign > 0 else tables.least
        gap = sign * ends[head][pivot, :, :, axis] - bound[:, None, None]
        weight = np.where(gap > 0, tables.high[head][pivot], tables.low[head][pivot]) * gap
        out: Array = self.largest(weight)
        return out


def leads(
    cut: Cut, case: Case, pivot: Integers, right: Integers, box: tuple[Array, Array]
) -> tuple[Array, Array]:
    """At least the lead of the right token in each box [class, axis], and what each axis takes of it."""
    low, high = box
    count, axes = low.shape
    words = np.zeros((count, cut.graph.length), dtype=np.int64)
    words[:, cut.position] = pivot
    out, shares = np.empty(count), np.empty((count, axes))
    for part in in_parts(cut.behind, words, axes):
        c = (low[part] + high[part]) / 2
        half = (high[part] - low[part]) / 2 * GREATER
        g = np.zeros((axes, *c.shape))
        g[np.arange(axes), :, np.arange(axes)] = half.T
        given = Affine(c, 2.0**-50 * (np.abs(low[part]) + np.abs(high[part])), g)
        out[part], shares[part] = lead_of(cut.behind.run(words[part], given), right[part], axes)
    return out, shares


# Rule: a lead.
# Conclusion: in every run of every point of the box the right logit is larger by this much. Why: derivatives
# are subtracted before they are bounded; what is left of both adds up.
@np.errstate(all="ignore")  # what is infinite or undefined leads nowhere
def lead_of(logits: Affine, right: Integers, axes: int = 0) -> tuple[Array, Array]:
    """[word] of logits [word, token], and the share of each of the first symbols."""
    at = right[:, None]
    pick = np.take_along_axis
    c = pick(logits.c, at, 1) - logits.c
    r = logits.r + pick(logits.r, at, 1)
    g = np.abs(pick(logits.g, np.broadcast_to(at, (len(logits.g), *at.shape)), 2) - logits.g)
    lead = c - GREATER * (r + g.sum(axis=0)) - 2.0**-50 * (np.abs(logits.c) + np.abs(pick(logits.c, at, 1)))
    lead = np.where(np.isfinite(lead), lead, -np.inf)
    np.put_along_axis(lead, at, np.inf, 1)
    worst = lead.argmin(axis=1)[:, None]
    share = (
        np.stack([pick(one, worst, 1)[:, 0] for one in g[:axes]], axis=1) if axes else np.zeros((len(c), 0))
    )
    return lead.min(axis=1), share
