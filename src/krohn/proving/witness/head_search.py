"""The search for the rule that each head of a layer follows, by what its scores are on what may stand there.

The search may use any heuristic: the checker trusts none of it.
"""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from krohn.base.portable import few_bits
from krohn.check.files.reader import Head, Layer
from krohn.check.files.witness import (
    Attention,
    Back,
    Cells,
    Lift,
    Pair,
    Rule,
    Silent,
    Sum,
)
from krohn.check.ground import Array, Flags, Integers, require
from krohn.check.transformer.head_rules import entered
from krohn.check.transformer.order import AT, order_after
from krohn.check.transformer.stream import Moment, live_states
from krohn.errors import LimitExceeded
from krohn.proving.witness.machines import (
    explore,
    groups,
    label,
    middle,
)
from krohn.proving.witness.memories import MemoryMachine, memories_of, remembered
from krohn.proving.witness.suffixes import FEW, Suffixes

MAX_BACK = 64


CLOSE = 1e-3
"""Scores that differ by less count as equal."""


UNSEEN = 30.0
"""Scores that are lower by more do not count in a sum."""


LEAST = 1e6
"""A head that gives a letter less than 1 / LEAST of its weight does not sum letters."""


MOST_SCORES = 1 << 26


LATE = 96
"""How many of the first letters t, and of the last, are examined."""


@dataclass(frozen=True)
class Sight:
    """Scores between groups at some letters t: ``letters[q, t, k, i]``, ``pads[q, t, j]``; the mask."""

    query_of: Integers
    key_of: Integers
    times: Integers
    letters: Array
    pads: Array
    seen: Flags


def sight(moment: Moment, head: Head) -> Sight:
    """Scores at the middles of boxes."""
    tau, vectors = len(moment.pads), middle(moment.box)
    query_of, key_of = _alike(vectors, head.query), _alike(vectors, head.key)
    # A guess needs no more: codes of positions show their habits at either end, and the checker sees all.
    times = np.unique(np.r_[: min(LATE, moment.length), max(0, moment.length - LATE) : moment.length])

    def projected(labels: Integers, weight: Array, at: Integers) -> Array:
        leaders = np.unique(labels, return_index=True)[1]
        out: Array = (vectors[leaders] @ weight)[:, None] + (moment.places[at] @ weight)[None]
        return out

    scores = int((query_of.max() + 1) * (key_of.max() + 1)) * len(times) * moment.length
    require(scores <= MOST_SCORES, f"{scores:,} scores between classes and places are too many to look at")
    queries = projected(query_of, head.query, times)
    keys = projected(key_of, head.key, np.arange(moment.length))
    return Sight(
        query_of,
        key_of,
        times,
        np.einsum("atk,bik->atbi", queries, keys),
        np.einsum("atk,jk->atj", queries, middle(moment.pads) @ head.key),
        np.arange(tau + moment.length) <= tau + times[:, None],
    )


def _alike(vectors: Array, weight: Array) -> Integers:
    """Groups vectors with equal projections; or, if their hulls are too wide, with equal channels read."""
    labels, used = groups(vectors @ weight), (weight != 0).any(axis=1)
    ends = np.full((2, labels.max() + 1, vectors.shape[1]), -np.inf)
    for end, sign in zip(ends, (1, -1), strict=True):
        np.maximum.at(end, labels, sign * vectors)
    blurred = (ends.sum(axis=0) @ np.abs(weight)).max(initial=0.0) > CLOSE * (
        1 + np.abs(vectors @ weight).max()
    )
    return groups(vectors[:, used]) if blurred else labels


def rule_of(moment: Moment, head: Head) -> Rule:
    """A rule without its memory, guessed from scores."""
    if not head.output.any():
        return Silent()
    view, tau = sight(moment, head), len(moment.pads)
    counts = _counting(moment, view, tau)
    seen = view.seen[:, tau:] & counts.any(axis=0)
    some: Flags = np.asarray(seen.any(axis=1))
    inside = (seen[:, None] & counts)[some]
    with np.errstate(invalid="ignore"):  # where scores overflow, nothing is close
        high = np.where(inside, view.letters.max(axis=0)[some], -np.inf).max(axis=(1, 2), initial=-np.inf)
        low = np.where(inside, view.letters.min(axis=0)[some], np.inf).min(axis=(1, 2), initial=np.inf)
        spread = high - low
    # Equal scores make a sum, whatever else holds. Of the others, one distance that always wins is a
    # look-back, which needs a queue of letters and no classes of keys; what is left is a memory.
    if not some.any() and np.diff(np.sort(view.pads, axis=2)[..., -2:]).max(initial=0.0) < 2:  # padding alone
        steps, wide = np.zeros((moment.classes, 0), dtype=np.int64), np.zeros((moment.box.lo.shape[1], 0))
        return Sum(view.query_of, view.key_of, steps, wide)
    if some.any() and spread.max() < CLOSE:
        result = _sum_rule(moment, head, view, inside, some, counts)
        if result is not None:
            return result
    values = np.concatenate([middle(moment.box) @ head.value, middle(moment.pads) @ head.value])
    if _positions_of(moment, head).any():  # padding has a code of its own
        values = np.c_[values, np.arange(len(values)) >= moment.classes]
    value_of = groups(values)
    nothing = np.zeros((0, 0), dtype=np.int64)
    distance = _distance(moment, view, tau)
    # A head that returns its own position may be compared with another, and what is compared remembers.
    if distance is not None and (distance or not _positions_of(moment, head).any()):
        return Back(view.query_of, view.key_of, value_of, distance, nothing, nothing)
    member, order = _cells(view, tau)
    return Cells(
        view.query_of, view.key_of, value_of, member, order, nothing, nothing, _falls(view, member, order)
    )


def _positions_of(moment: Moment, head: Head) -> Flags:
    """Channels in which the head delivers position codes."""
    codes: Flags = np.asarray(moment.places.any(axis=0))
    out: Flags = (np.abs(head.value) * codes[:, None]).sum(axis=0) @ np.abs(head.output) > 0
    return out


def _falls(view: Sight, member: Flags, order: tuple[tuple[int, ...], ...]) -> bool:
    """Whether scores of the best kind decrease with position."""
    letters = np.flatnonzero(member[order[0][0], : view.letters.shape[2]])
    return any(bool(view.letters[0, -1, group, 0] > view.letters[0, -1, group, -1]) for group in letters)


def _counting(moment: Moment, view: Sight, tau: int) -> Flags:
    """[key group, letter]: all; or, where they can occur, the groups whose score is near the best."""
    last = view.letters[0, -1][:, view.seen[-1, tau:]]
    every = np.ones(view.letters.shape[2:], dtype=bool)
    if not last.max(initial=-np.inf) - last.min(initial=np.inf) > UNSEEN:
        return every
    where = moment.machine.standing(moment.classes, moment.length)
    stands = np.stack([where[view.key_of == group].any(axis=0) for group in range(len(last))])
    best = np.where(stands & view.seen[-1, tau:], view.letters[0, -1], -np.inf).max(axis=1)
    near = best > best.max() - UNSEEN
    mixed = stands[near].any(axis=0) & stands[~near].any(axis=0)
    return every if mixed.any() else stands & near[:, None]


def _sum_rule(
    moment: Moment, head: Head, view: Sight, inside: Flags, some: Flags, counts: Flags
) -> Sum | None:
    """Equal weights: what a letter adds, measured in the smallest steps."""
    tau, vectors = len(moment.pads), middle(moment.box)
    level = np.nanmean(np.where(inside, view.letters[:, some], np.nan), axis=(0, 2, 3))
    pads = np.exp(np.clip(view.pads[0][some] - level[:, None], -700, 700)) * view.seen[some, :tau]
    letters = (view.seen[some, tau:] & counts.any(axis=0)).sum(axis=1)
    total = float(np.median(letters + pads.sum(axis=1)))
    if not 1.6 < total < LEAST:  # one position has all the weight, or letters have next to none
        return None
    counted: Flags = np.asarray(counts.any(axis=1))
    added = vectors @ head.value @ head.output / total * counted[view.key_of][:, None]
    # What the width of the boxes explains is no step: a counter of it would never be read.
    noise = (moment.box.hi - moment.box.lo) @ np.abs(head.value) @ np.abs(head.output) / total
    added = np.where(np.abs(added) > np.maximum(noise, 1e-300), added, 0.0)
    columns, steps = [], []
    for channel in np.flatnonzero(added.any(axis=0)):
        measured = measure(added[:, channel])
        if measured is None:
            return None
        column = np.zeros(vectors.shape[1])
        column[channel] = measured[0]
        columns.append(column)
        steps.append(measured[1])
    shape = (vectors.shape[1], len(columns))
    wide = np.array(columns).T.reshape(shape)
    return Sum(
        view.query_of, view.key_of, np.array(steps, dtype=np.int64).T.reshape(len(vectors), shape[1]), wide
    )


def measure(numbers: Array) -> tuple[float, Integers] | None:
    """A unit of which all numbers are whole multiples, and the multiples."""
    sizes = np.abs(numbers)
    least = sizes[sizes > 1e-9 * sizes.max()].min()
    for parts in range(1, 65):  # the least number need not be the unit: 2 and 3 are counted in ones
        multiples = np.rint(numbers / (least / parts))
        if np.abs(numbers / (least / parts) - multiples).max() < 1e-3:
            return few_bits(float(least / parts), 32), multiples.astype(np.int64)
    return None


def _distance(moment: Moment, view: Sight, tau: int) -> int | None:
    """The distance back to the best position, if it is the same everywhere."""
    high = np.concatenate([view.pads, view.letters.max(axis=2)], axis=2)
    high = np.where(view.seen[None], high, -np.inf)
    best = high.argmax(axis=2)
    place = tau + view.times
    distance = int(place[-1] - best[0, -1])
    if distance > MAX_BACK or (best != np.maximum(place - distance, 0)).any():
        return None
    low = np.concatenate([view.pads, view.letters.min(axis=2)], axis=2)
    lowest = np.take_along_axis(low, best[:, :, None], axis=2)[..., 0]
    np.put_along_axis(high, best[:, :, None], -np.inf, axis=2)
    return distance if (lowest - high.max(axis=2)).min() > 2 else None


def _cells(view: Sight, tau: int) -> tuple[Flags, tuple[tuple[int, ...], ...]]:
    """Groups of keys by dominance: a better cell beats a worse one at every t."""
    count = view.letters.shape[2]
    members: list[tuple[bool, ...]] = []
    orders: list[tuple[int, ...]] = []
    for query in range(len(view.letters)):
        best, worst = _ends(view, query, tau)
        waiting, order = sorted(range(count + tau), key=lambda b: -best[:, b].max()), []
        while waiting:
            tier = [waiting.pop(0)]
            while True:
                floor = worst[:, tier].min(axis=1)
                joining = [b for b in waiting if not (best[:, b] < floor).all()]
                if not joining:
                    break
                tier += joining
                waiting = [b for b in waiting if b not in joining]
            row = tuple(b in tier for b in range(count + tau))
            if row not in members:
                members.append(row)
            order.append(members.index(row))
            if any(b >= count for b in tier):
                break  # padding is always there, so nothing worse is ever looked at
        orders.append(tuple(order))
    return np.array(members, dtype=bool), tuple(orders)


def _ends(view: Sight, query: int, tau: int) -> tuple[Array, Array]:
    """Best and worst score of each group of keys and each padding position, per t."""
    letters, pads = view.seen[:, None, tau:], view.seen[:, :tau]
    best = np.c_[
        np.where(letters, view.letters[query], -np.inf).max(axis=2), np.where(pads, view.pads[query], -np.inf)
    ]
    worst = np.c_[
        np.where(letters, view.letters[query], np.inf).min(axis=2), np.where(pads, view.pads[query], np.inf)
    ]
    return best, worst


def attention_step(moment: Moment, layer: Layer, live: Flags) -> Attention:
    """Rules for all heads, and the machine that holds what they remember.

    ``live`` are the channels that something reads after the MLP.
    """
    rules = [rule_of(moment, head) for head in layer.heads]
    memories, start = memories_of(moment, layer, rules)
    # Columns of a row: the old state, the cells of each head with the counts since, then orders of positions.
    pairs, at = _pairs(moment, layer, rules), len(start)
    start += [AT] * len(pairs)
    old, every = moment.machine, np.arange(moment.machine.follow.shape[1])[None]
    memory_of = {id(memory.rule): memory for memory in memories}

    def expand(rows: Integers, letters: Integers = every) -> tuple[Integers, Integers]:
        state = rows[:, :1]
        after = np.repeat(rows[:, None], letters.shape[1], axis=1)
        after[:, :, 0] = old.follow[state, letters]
        out = [old.shown[state, letters][..., None]]
        for memory in memories:
            held, read = remembered(moment, memory, rows, letters)
            after[:, :, memory.at : memory.end] = held
            out += read
        for number, pair in enumerate(pairs, at):
            one, two = (
                _copied(moment, memory_of[id(rules[head])], rows, letters)
                for head in (pair.first, pair.second)
            )
            after[:, :, number] = order_after(np.broadcast_to(rows[:, number, None], one.shape), one, two)
            out.append(after[:, :, number, None])
        return after, np.concatenate(out, axis=2)

    try:
        rows, follow, outputs = explore(start, expand, moment.length, FEW)
    except LimitExceeded:
        short = None if pairs else Suffixes(moment, layer, rules, memories, expand, live).explore(start)
        rows, follow, outputs = short or explore(start, expand, moment.length)
    shown = label(outputs, live_states(follow, moment.length))
    finished: dict[int, Rule] = {}
    for memory in memories:
        held = rows[:, memory.at : memory.at + memory.number]
        offset = np.zeros((len(rows), memory.number, len(moment.low)), dtype=np.int64)
        since = rows[:, memory.at + memory.number : memory.end]
        offset[:, :, memory.counters] = since.reshape(len(rows), memory.number, len(memory.counters))
        finished[id(memory.rule)] = replace(memory.rule, held=held, offset=offset)
    heads = tuple(finished.get(id(rule), rule) for rule in rules)
    return Attention(Lift(follow, rows[:, 0], shown), heads, tuple(pairs))


def _pairs(moment: Moment, layer: Layer, rules: list[Rule]) -> list[Pair]:
    """Heads that remember positions and add them into one channel, two by two."""
    reach = {
        number: _positions_of(moment, head)
        for number, (head, rule) in enumerate(zip(layer.heads, rules, strict=True))
        if isinstance(rule, Cells) and _positions_of(moment, head).any()
    }
    result: list[Pair] = []
    for first, second in combinations(reach, 2):
        taken = {head for pair in result for head in (pair.first, pair.second)}
        if (reach[first] & reach[second]).any() and not {first, second} & taken:
            result.append(Pair(first, second))
    return result


def _copied(moment: Moment, memory: MemoryMachine, rows: Integers, letters: Integers) -> Flags:
    """(row, letter): whether the best cell holds this letter from now on."""
    rule, held = memory.rule, rows[:, None, memory.at : memory.at + memory.number]
    assert isinstance(rule, Cells)
    return entered(rule, moment.machine.shown[rows[:, :1], letters], held)[..., rule.order[0][0]]
