"""A head on a regular language of inputs: the extremes of what it averages, for each class of inputs.

The weights of a head are e_j / Σ e with e_j = exp(score_j) > 0. In a direction u the average is at most λ on
all inputs of a class exactly if Σ e_j (u·v_j − λ) ≤ 0 on all of them, and where score and value of a term
depend on the token at one position and on the token at the position that answers, this is a sum over
positions.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from krohn.check.graph.affine import UNDERFLOW, UNIT, Affine, rounding_of
from krohn.check.graph.columns import Case, extremes
from krohn.check.graph.evaluate import Plan, Step, in_parts, positions_of
from krohn.check.graph.graph import Graph
from krohn.check.ground import SAFE, Array, Flags, Integers, afford, require

GREATER = 1 + 2.0**-40
"""Covers what exp and products round here."""
MOST_HEADS = 5
"""Heads of one axis: the ends of their ratios are tried in all combinations."""


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
    def readout(self) -> frozenset[int]:
        """The last product behind the cut: what is rounded before it becomes symbols, which logits share."""
        products = [step.node.first for step in self.behind.steps if step.node.op == "matmul"]
        return frozenset(products[-1:])

    @property
    def axes(self) -> int:
        """How many numbers cross the cut."""
        return len(self.scalars)

    @property
    def averages(self) -> Integers:
        """What the heads average, one after another."""
        return np.concatenate([head.average for head in self.heads])


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
    """For each head the ends of e [a, position, token] and of what a value adds to the cut [..., axis]."""

    cut: Cut
    pivots: Integers
    low: list[Array]
    high: list[Array]
    least: list[Array]
    most: list[Array]

    def heads_of(self, axis: int) -> list[int]:
        """The heads that an axis is made of."""
        ends = enumerate(zip(self.least, self.most, strict=True))
        found = [head for head, (low, high) in ends if low[..., axis].any() or high[..., axis].any()]
        return found or [0]

    # Rule: other axes.
    # Hypotheses: rows u of a matrix. Conclusion: ends of u·v for the values of each head, so of u·x for what
    # crosses the cut. Why: it is linear; what float64 rounds is added.
    def turned(self, rows: Array) -> "Tables":
        """The same along the rows of a matrix."""
        least, most = [], []
        for low, high in zip(self.least, self.most, strict=True):
            middle, half = (low + high) / 2 @ rows.T, (high - low) / 2 @ np.abs(rows).T
            size = np.maximum(np.abs(low), np.abs(high)) @ np.abs(rows).T
            half = GREATER * half + 2.0**-48 * size
            least.append(middle - half)
            most.append(middle + half)
        return replace(self, least=least, most=most)


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
    mapped, done = not np.array_equal(cut.scalars, cut.averages), 0
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
        aside = done, len(cut.averages) - done - width
        c, r = (np.pad(one, ((0, 0), (0, 0), aside)) for one in (c, r))
        done += width
        if mapped:
            c, r = _mapped(cut, c, r)
        ends = _placed(head, (e_low, e_high, c - r, c + r), (a, tokens[b], len(pivots), top, graph.length))
        made.append(ends)
    low, high, least, most = (list(one) for one in zip(*made, strict=True))
    return Tables(cut, pivots, low, high, least, most)


def joined(parts: list[Affine]) -> Affine:
    """Words of several runs."""
    return Affine(
        np.concatenate([p.c for p in parts]),
        np.concatenate([p.r for p in parts]),
        np.concatenate([p.g for p in parts], axis=1),
    )


def _part(x: Affine, keep: slice) -> Affine:
    return Affine(x.c[:, keep], x.r[:, keep], x.g[:, :, keep])


# Rule: what is rounded behind the averages.
# Hypotheses: the cut is made of the averages by matrices of constants. Conclusion: it is the sum over heads
# of averages, by the weights of each, of what these make of its values with zeros for the other heads, with
# the rounding of each. Why: what is exact is linear; a bound on rounding is convex, homogeneous and, up to
# one term for numbers near 0 that each head has, at most the sum of those of the parts; the weights add up
# to 1.
def _mapped(cut: Cut, c: Array, r: Array) -> tuple[Array, Array]:
    plan = Plan(cut.graph, cut.scalars, cut.averages)
    rows = c.reshape(-1, c.shape[2]), r.reshape(-1, c.shape[2])
    words = np.zeros((len(rows[0]), cut.graph.length), dtype=np.int64)

    def made(times: float) -> Affine:
        given = [times * one for one in rows]
        empty = np.zeros((0, *rows[0].shape))
        parts = in_parts(plan, words)
        return joined(
            [plan.run(words[some], Affine(given[0][some], given[1][some], empty[:, some])) for some in parts]
        )

    # No sum of parts overflows if none does that is as many times as large.
    fits = np.isfinite(made(float(len(cut.heads))).r).all()
    require(fits, "what is made of the averages may overflow")
    found = made(1.0)
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

    @np.errstate(all="ignore")
    def pull(self, head: int, axis: int, bound: Array, sign: float) -> Array:
        """At least e (sign·v − λ) of each term of a head [class, position, token]."""
        tables, pivot = self.tables, self.classes.pivot
        ends = tables.most if sign > 0 else tables.least
        gap = sign * ends[head][pivot, :, :, axis] - bound[:, None, None]
        out: Array = np.where(gap > 0, tables.high[head][pivot], tables.low[head][pivot]) * gap
        return out

    # Rule: the ends of a ratio.
    # Conclusion: on all inputs of a class Σe of the first head is at most so many times that of the other if
    # this is at most 0 (at least, if with sign −1). Why: a sum over positions.
    def beyond(self, head: int, times: Array, sign: float) -> Array:
        """At least the largest sign·(Σe − times·Σe′), e of the first head and e′ of this one."""
        pivot, many = self.classes.pivot, times[:, None, None]
        ends = self.tables.high, self.tables.low
        first, other = ends if sign > 0 else ends[::-1]
        return self.largest(sign * (first[0][pivot] - many * other[head][pivot]))

    # Rule: an end of an axis.
    # Hypotheses: an axis is the sum over heads of Σ e v / Σ e; Σe of the first over Σe of another lies
    # between the ends of ``ratio``; the λ of the heads add up to at most the bound. Conclusion: the bound
    # holds on all inputs of a class if this is at most 0. Why: axis − Σλ = Σ T/Z with T = Σ e (v − λ) and
    # Z = Σ e > 0. Times Z of the first head that is T + Σ ρ T′, linear in each ρ, so largest where each is at
    # an end, and there a sum over positions. Of one head alone it is T. e is taken at the end that makes a
    # term largest.
    def above(self, axis: int, bound: Array, sign: float, split: Array, ratio: Array) -> Array:
        """At least the largest T + Σ ρ T′ of each class; ``split`` [class, head] has the λ of all heads.

        That of the last head is lowered to what the bound leaves.
        """
        heads = self.tables.heads_of(axis)
        if len(heads) == 1:
            return self.largest(self.pull(heads[0], axis, bound, sign))
        require(heads[0] == 0 and len(heads) <= MOST_HEADS, "an axis is made of heads that have no ratio")
        rest = bound - split[:, heads[:-1]].sum(axis=1)
        rest = rest - 2.0**-48 * (np.abs(bound) + np.abs(split).sum(axis=1))
        terms = [self.pull(one, axis, split[:, one], sign) for one in heads[:-1]]
        terms.append(self.pull(heads[-1], axis, rest, sign))
        found = np.full(len(bound), -np.inf)
        for corner in product((0, 1), repeat=len(heads) - 1):
            weight = terms[0]
            for one, end, term in zip(heads[1:], corner, terms[1:], strict=True):
                weight = weight + ratio[:, one - 1, end, None, None] * term
            found = np.maximum(found, self.largest(weight))
        return found


@dataclass(frozen=True, eq=False)
class Frame:
    """Axes of boxes: rows u, what crosses the cut is back @ (u·x) up to ``off`` [axis]."""

    rows: Array
    back: Array
    off: Array


# Rule: boxes along other axes.
# Conclusion: x = W(Ux) + (1 − WU)x, and the last part is at most |1 − WU| times a bound on |x|. Why: what
# crosses the cut is a sum of averages, each at most the largest of its values; float64 rounding is added.
def frame_of(tables: Tables, rows: Array) -> Frame:
    """The frame for these rows; where they are those of the identity nothing is lost."""
    axes = len(rows)
    if np.array_equal(rows, np.eye(axes)):
        return Frame(rows, rows, np.zeros(axes))
    require(np.isfinite(rows).all() and abs(np.linalg.det(rows)) > 1e-6, "witness: axes must be independent")
    back: Array = np.linalg.inv(rows).astype(np.float64)
    size = np.zeros(axes)
    for low, high in zip(tables.least, tables.most, strict=True):
        size = size + np.maximum(np.abs(low), np.abs(high)).max(axis=(0, 1, 2))
    lost = np.abs(np.eye(axes) - back @ rows) + 2.0**-48 * (np.eye(axes) + np.abs(back) @ np.abs(rows))
    return Frame(rows, back, GREATER * (lost @ size))


def leads(
    cut: Cut, frame: Frame, pivot: Integers, right: Integers, box: tuple[Array, Array]
) -> tuple[Array, Array]:
    """At least the lead of the right token in each box [class, axis], and what each axis takes of it."""
    low, high = box
    count, axes = low.shape
    words = np.zeros((count, cut.graph.length), dtype=np.int64)
    words[:, cut.position] = pivot
    out, shares = np.empty(count), np.empty((count, axes))
    for part in in_parts(cut.behind, words, axes):
        half = (high[part] - low[part]) / 2 * GREATER
        g = half.T[:, :, None] * frame.back.T[:, None, :]
        r = 2.0**-48 * (np.abs(low[part]) + np.abs(high[part])) @ np.abs(frame.back).T + frame.off
        given = Affine((low[part] + high[part]) / 2 @ frame.back.T, r, g)
        out[part], shares[part] = lead_of(cut.behind.run(words[part], given, cut.readout), right[part], axes)
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
