"""One attention head on one moment: its scores, and the rules by which it adds, looks back or remembers.

The forward pass says what is multiplied by what; a rule decides which keys can win, and with what weight.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from krohn.check.arithmetic.format import Box, Norm, normalise, whole
from krohn.check.files.reader import Head
from krohn.check.files.witness import EMPTY, UNKNOWN, Back, Cells, Sum
from krohn.check.ground import (
    Array,
    Flags,
    Integers,
    Real,
    ample,
    between,
    hull,
    join,
    leak_of,
    point,
    require,
    rivals,
)
from krohn.check.transformer.stream import Lifted, Moment, Setting

SCORES_AT_ONCE = 1 << 18
"""Scores that are bounded together, and numbers added over positions: 2 MB each."""
MANY = 1 << 10
"""Letters up to which a lead is taken over the scores of all pairs of positions."""
HELD = 60.0
"""Work of a number in an array of all classes at all positions: this bounds memory."""
CELL = 1000.0
"""Work of a cell in the order of a query, however few the states and letters are."""
UNSEEN = 30.0
"""Letters whose scores are below the best by more than this do not count in a sum."""
NO_LEAD = "give the position it should copy a larger lead: scale W_Q or W_K up, or use a wider dtype"


@dataclass(frozen=True)
class Part:
    """What a head adds at each (state, letter): a value, minus ``offset`` times the worth ``carried``."""

    values: Box
    number: Integers
    offset: Integers
    carried: Array  # d × counters
    remainder: Real
    memory: "Memory | None" = None


class Read(NamedTuple):
    """What a matrix reads of the stream, unevaluated: rows are computed where a rule needs them."""

    norm: Norm
    matrix: Array


class Average(NamedTuple):
    """What a head averages, unevaluated: no rule bounds an average, only what a matrix makes of it."""

    query: Read
    key: Read
    value: Read


class Letters(ABC):
    """The arithmetic of heads at the letters of all words, for ``stream.after_heads``.

    Boxes for all keys at all positions would fill the memory, so nothing is computed before the head's rule
    says which rows it needs: queries, keys and values stay ``Read``, their average stays ``Average``.
    """

    def __init__(self, setting: Setting, moment: Moment) -> None:
        self.setting, self.moment = setting, moment

    @abstractmethod
    def written(self, read: Average, output: Array) -> Any:
        """What a head adds, as its rule says: its average times a matrix, stored."""

    def normalise(self, x: Moment, gain: Array | None, shift: None = None) -> Norm:
        """LayerNorm, bounded for all positions."""
        return normalise(self.setting.fmt, x.anywhere, gain, self.setting.epsilon)

    def attend(self, query: Read, key: Read, value: Read) -> Average:
        """What a head averages."""
        return Average(query, key, value)

    def linear(self, x: Norm | Average, weight: Array, bias: None = None) -> Any:
        """What a matrix reads of the stream; or makes of an average, which is all that a head adds."""
        return Read(x, weight) if isinstance(x, Norm) else self.written(x, weight)

    def kept(self, x: Moment, flags: Array) -> Array:
        """Which channels keep the stream: ``total`` has the stream, so the flags say it all."""
        return flags


class Look:
    """Queries, keys and values of one head, for classes grouped as the witness says."""

    def __init__(self, on: Letters, read: Average, query_of: Integers, key_of: Integers) -> None:
        self.setting, self.moment, self.fmt, (query, key, value) = on.setting, on.moment, on.setting.fmt, read
        self.value, moment = value, on.moment
        self.query_of, self.key_of = _grouping(query_of, moment.classes), _grouping(key_of, moment.classes)
        self.tau, self.length = len(moment.pads), moment.length
        self.last = self.tau + np.arange(self.length)  # each letter sees itself
        self.queries, self.keys = self._project(self.query_of, *query), self._project(self.key_of, *key)
        pads = whole(moment.pads)
        self.pad_keys, self.pad_values = (norm.linear(pads, weight).part for norm, weight in (key, value))
        # Values without their counters, which are worth ``value_wide`` in them.
        # Counters may be large, and a box around their range would be as wide as that: what they are worth is
        # kept beside the box, as a number per counter, and only what rounding leaves of it goes into the box.
        exact = (point(moment.wide.T) * point(value.norm.scale)) @ value.matrix
        self.value_wide = exact.lo.T
        self.left = moment.remainder(Real(exact.lo.T, exact.hi.T), self.value_wide)
        self.values = self.read_values(moment.box + moment.codes)
        self.carries = (self.value_wide != 0).any(axis=0)

    def read_values(self, rows: Real) -> Box:
        """The values of rows that are given without their counters."""
        beyond = np.broadcast_to(self.moment.counted, rows.lo.shape)
        made = self.value.norm.linear(Box(rows, beyond), self.value.matrix)
        return Box(made.part + self.left, made.beyond)

    def _project(self, groups: Integers, norm: Norm, weight: Array) -> Real:
        """[group, t, k]: only the channels that the matrix reads matter."""
        moment, used = self.moment, np.flatnonzero((weight != 0).any(axis=1))
        # Scores need numbers, not worth: here counters do count with their whole range.
        grouped = hull(moment.over_counters(moment.box, moment.wide), groups)[:, used]
        places = point(moment.places[:, used]).reshape(1, self.length, len(used))
        rows = grouped.reshape(len(grouped), 1, len(used)) + places
        self.setting.budget.spend(rows.lo.size * (weight.shape[1] + HELD), "queries and keys")
        flat = whole(rows.reshape(len(grouped) * self.length, len(used)))
        made = norm[used].linear(flat, weight[used]).part
        return made.reshape(len(grouped), self.length, weight.shape[1])

    @cached_property
    def every_key(self) -> Real:
        """[key group, position, k]: keys of padding, which all groups see, and of letters."""
        groups, _, width = self.keys.lo.shape
        pads = self.pad_keys.reshape(1, self.tau, width).spread(groups, self.tau, width)
        return join([pads, self.keys], axis=1)

    def block(self, query: int, part: slice) -> tuple[Real, Flags]:
        """Scores [t, key group, position] of some letters t, and which positions are visible."""
        groups, _, width = self.keys.lo.shape
        count, reach = part.stop - part.start, self.tau + part.stop
        self.setting.budget.spend(count * groups * reach * (width + 8), "scores")
        there = self.every_key[:, :reach].reshape(groups * reach, width)
        scores = self.fmt.scores(self.queries[query, part], there, self.setting.root)
        return scores.reshape(count, groups, reach), np.arange(reach) <= self.last[part, None]

    def at_last(self) -> tuple[Real, Flags]:
        """The scores of the last letter, which sees all positions, in the first query group."""
        scores, seen = self.block(0, slice(self.length - 1, self.length))
        return scores[0], seen[0]

    def blocks(self, query: int) -> Iterator[tuple[slice, Real, Flags]]:
        """Blocks of letters t: scores [t, key group, position], and which positions are visible."""
        groups = len(self.keys)
        rows = max(1, SCORES_AT_ONCE // (groups * (self.tau + self.length)))
        for first in range(0, self.length, rows):
            part = slice(first, min(first + rows, self.length))
            yield part, *self.block(query, part)

    def passed(self, rows: Real, lead: "Lead", output: Array) -> Box:
        """What a head that copies these values adds, leaked attention included."""
        leak = leak_of(lead.least, lead.size)
        require(leak < 0.5, f"the head does not select one position (it leaks {leak:.3g})", NO_LEAD)
        moment, fmt = self.moment, self.fmt
        full = join([moment.over_counters(self.values.part, self.value_wide), self.pad_values])
        beyond = self.values.beyond.reshape(-1, self.values.beyond.shape[-1]).max(axis=0)
        # Beyond a certain lead exp returns 0 for all others: the copy is exact, and nothing leaks.
        if not fmt.certain(lead.least):
            # ``full`` bounds whole numbers: a value is in ``part`` plus ``value_wide`` · Z, which
            # ``over_counters`` adds for all Z. ``beyond``, the size of the latter, would count it twice.
            size, spread = full.size.max(axis=0), full.hi.max(axis=0) - full.lo.min(axis=0)
            rows = rows.widen(fmt.copied(size, spread, leak, self.tau + self.length))
        return fmt.linear(fmt.stored(Box(rows, beyond)), output)

    def deliver(self, value_of: Integers, lead: "Lead", output: Array) -> tuple[Box, Array, Real]:
        """What a copying head adds for each value, then for any; the worth of the counters copied with it."""
        rows = hull(join([self.values.part, self.pad_values]), value_of)
        out = self.passed(join([rows, rows.over(0).reshape(1, -1)]), lead, output)
        exact = point(self.value_wide.T) @ output
        return out, exact.lo.T, self.moment.remainder(Real(exact.lo.T, exact.hi.T), exact.lo.T)

    def named(self, number: Integers, values: Box) -> Integers:
        """The row of each value: of an open one, the last, which holds all."""
        require(not self.carries.any() or (number != UNKNOWN).all(), "witness: an open value with counters")
        return np.where(number == UNKNOWN, len(values.part) - 1, number)


def scores_of(moment: Moment, rule: Sum | Back | Cells, head: Head) -> int:
    """What the scores of a head cost at least: every letter sees the padding and the letters up to it."""
    queries, keys = (1 + int(labels.max(initial=-1)) for labels in (rule.query_of, rule.key_of))
    seen = moment.length * (len(moment.pads) + (moment.length + 1) // 2)
    return int(queries * keys * seen * (head.query.shape[1] + 8))


def _grouping(labels: Integers, count: int) -> Integers:
    require(labels.shape == (count,) and (labels < count).all(), "witness: groups")
    return labels


@dataclass(frozen=True)
class Counted:
    """What a summing head counts: classes and positions of letters; and which key groups can be where."""

    classes: Flags
    positions: Flags
    stands: Flags


def choose_counted(look: Look) -> Counted:
    """All letters; or those whose score is near the best, if the position alone decides which these are.

    Any choice is sound, as long as no position can be of both kinds.
    """
    moment, groups = look.moment, len(look.keys)
    sizes = (moment.classes,), (look.length,), (groups, look.length)
    classes, positions, anywhere = (np.ones(size, dtype=bool) for size in sizes)
    every = Counted(classes, positions, anywhere)
    scores, seen = look.at_last()
    # Judged at the last letter, which sees all positions; what is chosen here is proved for every letter by
    # ``_sum_weights``, whose intervals only become wide if the choice was a bad one.
    top = np.where(seen, scores.hi, -np.inf)[:, look.tau :]
    if not top.max() - np.where(seen, scores.lo, np.inf)[:, look.tau :].min() > UNSEEN:
        return every
    where = moment.machine.standing(moment.classes, look.length)
    stands = np.stack([where[look.key_of == group].any(axis=0) for group in range(groups)])
    best = np.where(stands[:, : top.shape[1]], top, -np.inf).max(axis=1)
    near = (best > best.max() - UNSEEN)[look.key_of]
    here, there = (where[which].any(axis=0) for which in (near, ~near))
    return every if (here & there).any() or not near.any() else Counted(near, here, stands)


# Rule: a head that adds up.
# Hypotheses: at each letter t the scores of all letters that count lie in one interval, whatever stands
# where; which positions count does not depend on the word; class c adds steps[c] to the counters.
# Conclusion: the head writes wide · Z, Z being the steps added up so far, plus a number in the box.
# Why: softmax gives equal scores equal weights, so the head writes Σ w·v·W_C with w in one interval. Less
# wide · Z that is at most as many terms as letters count, each in the hull over classes of w·v·W_C − wide ·
# steps. Padding and letters that do not count add weight times value; then comes rounding.
def add_up(look: Look, rule: Sum, output: Array) -> Box:
    """Counted letters have equal weights: what class c adds beyond its steps."""
    moment, fmt, tau = look.moment, look.fmt, look.tau
    fits = (
        rule.steps.shape == (moment.classes, rule.wide.shape[1]) and len(rule.wide) == moment.box.lo.shape[1]
    )
    require(fits, "witness: steps")
    chosen = choose_counted(look)
    letters = 1 + np.arange(look.length)
    count, others = (np.r_[0.0, np.cumsum(which)][letters] for which in (chosen.positions, ~chosen.positions))
    weights = _sum_weights(look, chosen, count, others)
    # Columns of the weights: paddings, a counted letter, one that is not counted. Values with their counters:
    # an average mixes counters of many positions, and ``wide`` · Z says what they come to.
    v = moment.over_counters(look.values.part, look.value_wide)
    w, p = weights[:, tau], weights[:, :tau]
    look.setting.budget.spend(look.length * moment.classes * len(rule.wide), "sums")
    # ``worth`` is what a letter of the class adds by the conclusion, wide · steps, and ``added`` what it does
    # add before it is weighted. The box holds the difference, of letters that do not count too.
    worth, added = point(rule.steps) @ rule.wide.T, v @ output
    total = point(np.zeros((look.length, len(rule.wide))))
    for which, weight, number in (
        (chosen.classes, w, count),
        (~chosen.classes, weights[:, tau + 1], others),
    ):
        if which.any():
            total = total + _each(weight, added[which], worth[which]) * point(number).reshape(-1, 1)
    padded = p.reshape(*p.lo.shape, 1) * (look.pad_values @ output).reshape(1, tau, len(rule.wide))
    # Rounding of the sum over positions, and of W_C. Whatever the word, a term is at most ``largest`` and all
    # together at most ``size``.
    # ``averaged`` takes the better of two bounds; one of them needs the largest term.
    largest = np.maximum(w.hi, weights.hi[:, tau + 1])[:, None] * v.size.max(axis=0)
    size = (count + others)[:, None] * largest + p.hi @ look.pad_values.size
    alone = not look.pad_values.size.any()
    off = fmt.averaged(
        size,
        largest if alone else np.full_like(largest, np.inf),
        (count + others)[:, None],
        float(tau + look.length),
    )
    off = off + fmt.rounding(size + off)  # the average is stored
    lost = fmt.measured(whole(Real(-size - off, size + off)), output, np.zeros(len(rule.wide)))[1]
    box = (total + padded.total(1)).widen(ample(off @ np.abs(output)) + lost).over(0)
    out = box.spread(*worth.lo.shape)
    beyond = np.abs(rule.wide) @ (look.length * np.abs(rule.steps).max(axis=0, initial=0).astype(np.float64))
    return Box(out, np.broadcast_to(beyond, out.lo.shape))


def _each(weight: Real, added: Real, worth: Real) -> Real:
    """[t, channel]: weight[t] · added − worth, over all classes; letters in blocks, which bounds memory."""
    rows, shape = max(1, SCORES_AT_ONCE // max(1, added.lo.size)), (1, *added.lo.shape)
    parts = (weight[first : first + rows].reshape(-1, 1, 1) for first in range(0, len(weight), rows))
    return join([(part * added.reshape(*shape) - worth.reshape(*shape)).over(1) for part in parts])


def _sum_weights(look: Look, chosen: Counted, count: Array, others: Array) -> Real:
    """[t, …]: bounds on the weights of the padding positions, a counted letter, and one not counted."""
    tau, shape = look.tau, (look.length, look.tau + 2)
    lo, hi = np.full(shape, np.inf), np.full(shape, -np.inf)
    for query in range(len(look.queries)):
        for part, scores, seen in look.blocks(query):
            ends = [scores.lo[:, 0, :tau]], [scores.hi[:, 0, :tau]]
            reach = seen.shape[1] - tau
            for which in (chosen.positions, ~chosen.positions):
                letters = (seen[:, tau:] & which[:reach])[:, None] & chosen.stands[None, :, :reach]
                ends[0].append(np.where(letters, scores.lo[:, :, tau:], np.inf).min(axis=(1, 2))[:, None])
                ends[1].append(np.where(letters, scores.hi[:, :, tau:], -np.inf).max(axis=(1, 2))[:, None])
            lo[part] = np.minimum(lo[part], np.concatenate(ends[0], axis=1))
            hi[part] = np.maximum(hi[part], np.concatenate(ends[1], axis=1))
    table = np.c_[np.arange(tau) <= look.last[:, None], count > 0, others > 0]
    lo, hi = np.where(table, lo, 0.0), np.where(table, hi, 0.0)
    many = np.c_[np.ones((look.length, tau)), np.maximum(count, 1), np.maximum(others, 1)]
    return look.fmt.weights(between(lo, hi), table, many)


@dataclass
class Lead:
    """The least lead of the target's score over all others, taken together, and the size of scores."""

    least: float = np.inf
    size: float = 0.0

    def note(self, lowest: Array, before: Array, after: Array, target: Flags) -> None:
        """Target i scores at least ``lowest``; others up to before[j], j < i, and after[j], j > i."""
        if target.any():
            behind = (rivals(before, after) - np.where(target, lowest, 0.0))[target].max()
            require(not np.isnan(behind), "scores are not numbers")
            self.least = float(np.minimum(self.least, -behind))
            self.size = float(np.maximum(self.size, np.abs(lowest[target]).max()))


@dataclass(frozen=True)
class Memory:
    """How a head selects what it copies, what that is multiplied by, and which cells each letter fills."""

    look: Look
    rule: Cells
    lead: Lead
    output: Array
    filled: Flags  # (state, letter, cell)


# Lead of a position: its least score less the logarithm of what all others weigh together at most. If it is
# positive, others have at most e^(−lead) of the weight of this one: the head copies its value but for a leak.
def lead_back(look: Look, distance: int) -> Lead:
    """The lead of the position ``distance`` back (or the first), at every letter, for all classes."""
    lead, places = Lead(), np.maximum(look.last - distance, 0)
    if look.length > MANY:
        from krohn.check.transformer.many_keys import Seen, lead_over_many  # lazy import: few are so long

        return Lead(*lead_over_many(Seen(look.setting, look.last), look.queries, look.every_key, places))
    for query in range(len(look.queries)):
        for part, scores, seen in look.blocks(query):
            target = np.arange(seen.shape[1]) == places[part, None]
            require(seen[target], "the position it should copy is not visible")
            others = np.where(seen & ~target, scores.hi.max(axis=1), -np.inf)
            lead.note(scores.lo.min(axis=1), others, others, target)
    return lead


# Rule: a head that looks back.
# Hypotheses: at every letter the position ``distance`` back, or the first one, is visible and leads, whatever
# the classes are; state 0 holds the values of the last paddings, and each letter shifts the line of values
# and adds its steps to their offsets. A state may leave values open, if values carry no counters.
# Conclusion: at (state, letter) the head writes the value at the end of the line, less its counters' offset;
# some value, where that is open.
# Why: the line holds what stands there, by induction over letters; the lead says that it is copied. What is
# left open stays open: less is claimed, and the hull of all values holds each.
def look_back(look: Look, rule: Back, new: Lifted, output: Array) -> Part:
    """The head copies from ``distance`` back: every state holds the values of the last positions."""
    k, value_of = rule.distance, _grouping(rule.value_of, look.moment.classes + look.tau)
    counters = new.steps.shape[2]
    require(len(rule.held) == len(new.live) and rule.offset.shape[2] == counters, "witness: delay line")
    require((rule.held <= value_of.max()).all() and k <= look.tau + look.length, "witness: delay line")
    # Before the first letter the line holds the last paddings, and position 0 again and again before them.
    first = [value_of[look.moment.classes + max(look.tau - 1 - n, 0)] for n in range(k)]
    gone = rule.held == UNKNOWN
    require(gone[0] | (rule.held[0] == first), "witness: what padding leaves in the delay line")
    # The value copied has the counters of then, those of now less the offset. At padding they were 0.
    require(rule.offset[0] == 0, "witness: offsets")
    own, follow = new.own, new.step.follow
    line = np.broadcast_to(rule.held[:, None], (*own.shape, k))
    now = np.concatenate([value_of[own][..., None], line], axis=2)
    nothing = np.zeros((*own.shape, 1, counters), dtype=np.int64)
    far = np.concatenate([nothing, rule.offset[:, None] + new.steps[:, :, None]], axis=2)
    shifted = ((rule.held[follow] == now[..., :k]) | gone[follow]).all(axis=2)
    counted = (rule.offset[follow] == far[:, :, :k])[..., look.carries].all(axis=(2, 3))
    require((shifted & counted)[new.moves], "witness: the delay line does not move along")
    lead = lead_back(look, k)
    values, carried, rest = look.deliver(value_of, lead, output)
    return Part(values, look.named(now[..., k], values), far[:, :, k], carried, rest)


# Rule: a head that remembers.
# Hypotheses: each key belongs to cells; a state holds the value of the latest (earliest) member of each, from
# padding on; for each query the cells are ordered, one of them is not empty, and its latest member leads all
# that can be there while better cells are empty. A state may leave cells open, if values carry no counters.
# Conclusion: at (state, letter) the head writes the value that the first cell with a member holds; some value
# of the head, if the first cell that may have a member is open.
# Why: cells hold what was read, by induction; while no better cell has a member, only members of this cell
# and of worse ones compete, and the lead is over all of them together.
def remember(look: Look, rule: Cells, new: Lifted, output: Array) -> Part:
    """The head copies from the latest member of the best cell that has one."""
    value_of, groups = _grouping(rule.value_of, look.moment.classes + look.tau), len(look.keys)
    counters, own, follow = new.steps.shape[2], new.own, new.step.follow
    fits = rule.member.shape[1] == groups + look.tau and len(rule.order) == len(look.queries)
    fits = fits and len(rule.held) == len(new.live) and rule.offset.shape[2] == counters
    require(fits and (rule.held <= value_of.max()).all(), "witness: cells")
    start = np.full(len(rule.member), EMPTY)
    for j in range(look.tau):  # the latest member stays; of an earliest cell there is one at most (below)
        start[rule.member[:, groups + j]] = value_of[look.moment.classes + j]
    require((rule.held[0] == start) | (rule.held[0] == UNKNOWN), "witness: what padding leaves in the cells")
    require(rule.offset[0] == 0, "witness: offsets")
    if rule.earliest:
        letters, pads = rule.member[:, :groups].any(axis=1), rule.member[:, groups:].sum(axis=1)
        require(np.where(letters, pads == 0, pads <= 1), "witness: what an earliest cell may hold")
    # The offsets of the counters of a cell that is entered begin at 0.
    before = np.broadcast_to(rule.held[:, None], (*own.shape, len(rule.member)))
    hit = entered(rule, own, before)
    far = np.broadcast_to(rule.offset[:, None], (*hit.shape, counters)) + new.steps[:, :, None]
    after, far_after = np.where(hit, value_of[own][..., None], before), np.where(hit[..., None], 0, far)
    counted = (after == EMPTY)[..., None] | (rule.offset[follow] == far_after)
    right = (rule.held[follow] == after) & counted[..., look.carries].all(axis=3)
    require(
        (right | (rule.held[follow] == UNKNOWN)).all(axis=2)[new.moves],
        "witness: cells do not hold what was read",
    )
    cells = sum(map(len, rule.order))
    look.setting.budget.spend(cells * (CELL + 4.0 * own.size), "cells of queries")
    number, offset, used = _contents(look, rule, new, after, far_after)
    lead = Lead()
    for query, pairs in used.items():
        for _, scores, seen in look.blocks(query):
            look.setting.budget.spend(float(scores.lo.size) * len(pairs), "leads of cells")
            for member, higher in pairs:
                _lead_of_cell(lead, scores, seen, look.tau, (member, higher), earliest=rule.earliest)
    values, carried, rest = look.deliver(value_of, lead, output)
    memory = None if (number == UNKNOWN).any() else Memory(look, rule, lead, output, hit)
    return Part(values, look.named(number, values), offset, carried, rest, memory)


def entered(rule: Cells, own: Integers, held: Integers) -> Flags:
    """[…, cell]: the cells that a letter of class ``own`` enters; a filled earliest cell keeps its value."""
    hit: Flags = np.moveaxis(rule.member[:, rule.key_of[own]], 0, -1)
    return hit & (held == EMPTY) if rule.earliest else hit


def _contents(
    look: Look, rule: Cells, new: Lifted, content: Integers, distance: Integers
) -> tuple[Integers, Integers, dict[int, list[tuple[Flags, Flags]]]]:
    """What each query reads, and the cases (cell, better cells, all empty) that must be proved for it."""
    own, counters = new.own, new.steps.shape[2]
    number, offset = np.full(own.shape, EMPTY), np.zeros((*own.shape, counters), dtype=np.int64)
    used: dict[int, list[tuple[Flags, Flags]]] = {}
    for query, order in enumerate(rule.order):
        waiting = new.rows & (look.query_of[own] == query)
        higher, pairs = np.zeros(rule.member.shape[1], dtype=bool), []
        for cell in order:
            here, pads = waiting & (content[..., cell] != EMPTY), rule.member[cell, len(look.keys) :]
            if here.any():
                first = here & (number == EMPTY)
                number[first], offset[first] = content[..., cell][first], distance[..., cell, :][first]
                pairs.append((rule.member[cell], higher))
            # A cell that is left open may be empty, unless padding belongs to it: the next one counts too.
            waiting = waiting & ~(here & (pads.any() | (content[..., cell] != UNKNOWN)))
            higher = higher | rule.member[cell]
        require(
            not waiting.any(),
            "no position of any kind is there to copy",
            "add a padding position it may copy",
        )
        used[query] = pairs
    return number, offset, used


def _lead_of_cell(
    lead: Lead, scores: Real, seen: Flags, tau: int, cell: tuple[Flags, Flags], *, earliest: bool
) -> None:
    """The lead of this cell when it is the best one present: no position holds a member of a better cell."""
    groups, (member, higher) = scores.lo.shape[1], cell

    def table(which: Flags, source: Array, empty: float) -> Array:
        out = np.full((len(source), source.shape[2]), empty)
        pick = np.min if empty > 0 else np.max
        if which[:groups].any():
            out[:, tau:] = pick(source[:, which[:groups], tau:], axis=1)
        out[:, :tau] = np.where(which[groups:], source[:, 0, :tau], empty)
        return out

    # The latest member is copied: others of its cell stand before it, none after; better cells are empty.
    lowest = table(member, scores.lo, np.inf)
    before = np.where(seen, table(~higher, scores.hi, -np.inf), -np.inf)
    after = np.where(seen, table(~higher & ~member, scores.hi, -np.inf), -np.inf)
    present = np.concatenate([member[groups:], np.full(seen.shape[1] - tau, member[:groups].any())])
    if earliest:  # other members come after it, not before
        before, after = after, before
    lead.note(lowest, before, after, seen & present)
