"""Heads that copy from the most recent position of the best kind (Lemma "memory", heads of Theorem 3).

For every class of queries the classes of keys fall into tiers: any visible member of a higher tier beats
every member of a lower one, and inside a tier the later position wins. So the head copies from the latest
member of the highest tier present, and a cell of memory per tier says what that is. A padding position is
always there: what ranks below it is never copied.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.certify.action import Action, Usage
from krohn.certify.arithmetic import Arithmetic, Array
from krohn.certify.findings import Record
from krohn.certify.machine import Integers
from krohn.certify.scores import Scores
from krohn.certify.softmax import NO_LEAK, Leak, copied_error, leak_of
from krohn.certify.stream import Stream
from krohn.certify.values import Values, delivered
from krohn.network.transformer import Head

Tier = frozenset[int]


@dataclass(frozen=True, eq=False)
class Ranking:
    """For each query class its tiers, best first; the last one always has a member."""

    tiers: tuple[tuple[Tier, ...], ...]

    @property
    def cells(self) -> list[Tier]:
        """The distinct tiers: one cell of memory each."""
        return sorted({tier for order in self.tiers for tier in order}, key=sorted)


def recall(
    stream: Stream, head: Head, scores: Scores, values: Values, arith: Arithmetic, record: Record
) -> Action:
    """The head as cells of memory."""
    ranking = Ranking(tuple(_tiers(scores, query, record) for query in range(len(scores.queries))))
    cells, usage = ranking.cells, Usage()
    counters = np.flatnonzero(values.wide.any(axis=1)) if values.wide.size else np.zeros(0, dtype=np.int64)
    strict = not scores.seen[0, stream.num_padding]
    forgettable = _forgettable(ranking, cells, set(scores.letter_keys))

    def advance(memory: Integers, shown: Integers, steps: Integers) -> tuple[Integers, Integers]:
        count, letters = shown.shape
        held = memory.reshape(count, 1, len(cells), -1).repeat(letters, axis=1)
        held[..., 1:] -= steps[:, :, None, counters] * (held[..., :1] > 0)
        after = held.copy()
        for number, cell in enumerate(cells):
            hit = np.isin(scores.key_of[shown], list(cell))
            after[hit, number, 0], after[hit, number, 1:] = values.of[shown][hit] + 1, 0
        for number, betters in forgettable:
            unread = np.all([(after[:, :, better, 0] > 0).any(axis=2) for better in betters], axis=0)
            after[unread, number] = 0
        read = held if strict else after
        out = np.zeros((count, letters, read.shape[3]), dtype=np.int64)
        for query, order in enumerate(ranking.tiers):
            waiting = scores.query_of[shown] == query
            for rank, tier in enumerate(order):
                content = read[:, :, cells.index(tier)]
                here = waiting & (content[..., 0] > 0)
                usage.note(query, rank, here)
                out[here] = content[here]
                waiting &= ~here
            if waiting.any():
                raise record.refuse("memory", "no position of any kind is there to copy")
        out[..., 0] -= 1
        return after.reshape(count, letters, -1), out

    def finish() -> tuple[Array, Array, Array]:
        leak = NO_LEAK
        for query, rank in sorted(usage.met):
            leak = leak.worse(_leak(scores, ranking.tiers[query], query, rank, arith))
        kinds = f"{len(cells)} kinds of position" if len(cells) > 1 else "one kind of position"
        own = 2 * (scores.error - scores.common)
        record.require("memory", own, leak.gap, leak.lead_of(f"the latest of {kinds}"))
        record.require("memory leak", leak.total, 0.5, "weight off the wanted position")
        error = values.error + copied_error(
            leak, values.spread, values.stride, values.size, scores.seen.shape[1], arith
        )
        return delivered(head, values, error, arith)

    text = f"copies from the latest position of {len(cells)} kind{'s' if len(cells) > 1 else ''}"
    return Action(text, _start(scores, values, cells, len(counters)), advance, counters, finish)


def _forgettable(ranking: Ranking, cells: list[Tier], letters: set[int]) -> list[tuple[int, list[list[int]]]]:
    """Cells no letter writes, and per query that may read one the better cells that hide it once filled.

    They must be forgotten then: the distance of their value to a counter grows without bound.
    """
    found = []
    for number, cell in enumerate(cells):
        if cell & letters:
            continue
        orders = [order[: order.index(cell)] for order in ranking.tiers if cell in order]
        found.append((number, [[cells.index(tier) for tier in order if tier & letters] for order in orders]))
    return found


def _start(scores: Scores, values: Values, cells: list[Tier], counters: int) -> Integers:
    """What the padding positions leave in the cells: 0 for nothing, else the value's number plus 1."""
    start = np.zeros((len(cells), 1 + counters), dtype=np.int64)
    for number, cell in enumerate(cells):
        for position, key in enumerate(scores.key_of_pad.tolist()):
            if key in cell:
                start[number, 0] = values.of_pad[position] + 1
    return start.reshape(-1)


def _tiers(scores: Scores, query: int, record: Record) -> tuple[Tier, ...]:
    """Groups key classes by strict dominance, best first, down to the first tier with a padding position."""
    table = scores.table(query)
    possible = scores.allowed[:, None, :] & scores.seen[None, :, :]
    best = np.where(possible, table, -np.inf).max(axis=2)  # [class, t]
    worst = np.where(possible, table, np.inf).min(axis=2)
    pads = set(scores.key_of_pad.tolist())
    waiting = sorted(range(len(best)), key=lambda b: -float(best[b].max()))
    tiers: list[Tier] = []
    while waiting:
        tier = [waiting.pop(0)]
        while True:
            floor = worst[tier].min(axis=0)
            joining = [b for b in waiting if not (best[b] < floor).all()]
            if not joining:
                break
            tier += joining
            waiting = [b for b in waiting if b not in joining]
        tiers.append(frozenset(tier))
        if pads & set(tier):
            break
    _require_recency(scores, table, possible, tiers, record)
    return tuple(tiers)


def _require_recency(
    scores: Scores, table: Array, possible: npt.NDArray[np.bool_], tiers: list[Tier], record: Record
) -> None:
    for tier in tiers:
        members = sorted(tier)
        inside = np.where(possible[members], table[members], -np.inf).max(axis=0)
        lowest = np.where(possible[members], table[members], np.inf).min(axis=0)
        before = np.maximum.accumulate(inside, axis=1)
        if (lowest[:, 1:] <= before[:, :-1]).any():
            raise record.refuse("memory", "later positions of one kind do not score higher")


def _leak(scores: Scores, order: tuple[Tier, ...], query: int, rank: int, arith: Arithmetic) -> Leak:
    """Worst leak when the best tier present is number ``rank``: higher tiers are absent everywhere."""
    table = scores.table(query)
    possible = scores.allowed[:, None, :] & scores.seen[None, :, :]
    members = sorted(order[rank])
    higher = {b for tier in order[:rank] for b in tier}
    lower = [b for b in range(len(table)) if b not in higher and b not in order[rank]]
    # A query's error moves all scores on one key class alike; other classes may gain by it.
    top = np.where(possible, table, -np.inf)
    top[lower if len(members) == 1 else slice(None)] += 2 * scores.common
    after = top[lower].max(axis=0) if lower else np.full(top.shape[1:], -np.inf)
    before = np.maximum(after, top[members].max(axis=0))
    lowest = np.where(possible[members], table[members], np.inf).min(axis=0)
    target = np.where(np.isposinf(lowest), -np.inf, lowest)
    return leak_of(target, before, after, scores.error - scores.common, arith)
