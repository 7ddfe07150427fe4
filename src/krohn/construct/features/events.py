"""Letters in context: an automaton whose state follows from its component and the last letters.

Letters that change no state are skipped; the others are the *tier*. If no two states of one strongly
connected component are reached by arbitrarily long equal words, the state follows from its component and the
last few letters of the tier, its *context*. Which component comes next depends on the letter and the context
before it: together an *event*. Over events the components are a machine without cycles. So the state after
every word is a function of the context and of what features tell about the order and the number of events.

A context is a shortest suffix that fixes the state in each component; a word that is shorter begins with
BEGIN. Components are merged into larger classes where contexts still tell their states apart.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from krohn.automata.graph import strong_components
from krohn.automata.quotients import component_numbers, reachable_states
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.suffixes import BEGIN, Contexts, Word, follow_contexts
from krohn.base.portable import Budget
from krohn.errors import LimitExceeded, Unsupported

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
MOST_LETTERS, MOST_CONTEXTS, MOST_PAIRS = 12, 4_000, 60_000
"""Letters of a context; nodes of the tree of contexts; pairs (state, context)."""
MOST_MERGES = 200
ENTRY = 0.05
"""Units of work for an entry of an array."""


@dataclass(frozen=True, eq=False)
class EventMachine:
    """Classes of states that events move, each event to itself or onwards.

    State q is state ``order[q]`` of the automaton, ``part[q]`` its class.
    ``moves[class, event]`` is the class after; ``event[context, letter]`` the event, −1 if it does not occur.
    Over pairs (state, context), pair 0 the first: ``pairs[pair, letter]`` is the next pair, ``states`` its
    state, ``contexts`` its context.
    """

    order: tuple[int, ...]
    tier: tuple[int, ...]
    part: Integers
    context: Contexts
    event: Integers
    moves: Integers
    pairs: Integers
    states: Integers
    contexts: Integers

    @property
    def events(self) -> int:
        """How many events there are."""
        return int(self.moves.shape[1])

    @property
    def first(self) -> int:
        """The class of the start."""
        return int(self.part.tolist()[0])

    @property
    def acyclic(self) -> bool:
        """Whether every class is one state."""
        return len(self.moves) == len(self.part)

    @cached_property
    def plain(self) -> bool:
        """Whether the letter alone says which event it is."""
        return all(len(set(column[column >= 0].tolist())) <= 1 for column in self.event.T)

    @cached_property
    def reach(self) -> Flags:
        """[class, class]: whether some events lead from one to the other."""
        count = len(self.moves)
        known = np.eye(count, dtype=bool)
        known[np.repeat(np.arange(count), self.events), self.moves.reshape(-1)] = True
        while True:
            wider = (known.astype(np.float32) @ known.astype(np.float32)) > 0
            if (wider == known).all():
                return known
            known = wider

    @cached_property
    def walked(self) -> "EventWalk":
        """The pairs as far as they tell classes and events apart."""
        event = self.event[self.contexts]
        labels = _dense(np.column_stack([self.part[self.states], event]))
        while True:
            finer = _dense(np.column_stack([labels, labels[self.pairs]]))
            if finer.max() == labels.max():
                break
            labels = finer
        first = np.unique(labels, return_index=True)[1]
        follow, shown = labels[self.pairs[first]], event[first]
        letters = np.unique(np.concatenate([follow, shown]), axis=1, return_index=True)[1]
        return EventWalk(follow[:, letters], shown[:, letters], self.part[self.states[first]], int(labels[0]))


@dataclass(frozen=True, eq=False)
class EventWalk:
    """``follow[node, letter]``, the event that the letter is there, and the class of each node."""

    follow: Integers
    event: Integers
    part: Integers
    start: int


def _dense(rows: Integers) -> Integers:
    found: Integers = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    return found


def event_machine(automaton: Semiautomaton, budget: Budget, *, merge: bool) -> EventMachine:
    """Refuses automata whose components need more than the last letters; letters must differ."""
    order = tuple(reachable_states(automaton))
    number = np.full(automaton.num_states, -1)
    number[list(order)] = np.arange(len(order))
    table: Integers = number[np.asarray(automaton.table)[list(order)]].astype(np.int64)
    every = np.arange(len(table))
    tier = tuple(a for a in range(table.shape[1]) if (table[:, a] != every).any())
    part = components(table)
    if not follows_from_suffix(table, part, tier, budget):
        raise Unsupported("two states of one component are reached by equal words of any length")
    if merge:
        try:
            part, context = _with_merged(table, part, tier, budget)
        except LimitExceeded:
            context = follow_contexts(shortest_contexts(table, part, tier, budget), table.shape[1], tier)
    else:
        context = follow_contexts(shortest_contexts(table, part, tier, budget), table.shape[1], tier)
    return _machine(order, table, tier, part, context, budget)


def _with_merged(table: Integers, part: Integers, tier: Word, budget: Budget) -> tuple[Integers, Contexts]:
    part = merge_transient(table, part, tier, budget)
    return part, follow_contexts(shortest_contexts(table, part, tier, budget), table.shape[1], tier)


def components(table: Integers) -> Integers:
    """The strongly connected component of each state."""
    successors = [sorted(set(row)) for row in table.tolist()]
    return np.array(component_numbers(strong_components(successors)), dtype=np.int64)


def follows_from_suffix(table: Integers, part: Integers, tier: Sequence[int], budget: Budget) -> bool:
    """Whether in each class the state follows from the last letters, however many that may take.

    Pairs of different states that arbitrarily long equal words reach are what is left if pairs without a
    predecessor are dropped again and again.
    """
    count = len(table)
    if np.bincount(part).max() == 1:
        return True
    alive = ~np.eye(count, dtype=bool)
    while True:
        one, two = np.nonzero(alive)
        budget.spend(ENTRY * (len(one) * len(tier) + 2_000))
        after = np.zeros((count, count), dtype=bool)
        for letter in tier:
            after[table[one, letter], table[two, letter]] = True
        after &= alive
        if (after == alive).all():
            return not bool((part[one] == part[two]).any())
        alive = after


def shortest_contexts(
    table: Integers, part: Integers, tier: Sequence[int], budget: Budget
) -> tuple[Word, ...]:
    """The shortest suffixes after which the class fixes the state."""
    todo: deque[tuple[Word, Integers]] = deque([((), np.arange(len(table)))])
    result: list[Word] = []
    nodes = 0
    while todo:
        word, reached = todo.popleft()
        nodes += 1
        budget.spend(ENTRY * (len(table) * (1 + len(tier)) + 200))
        states = np.unique(reached)
        if len(np.unique(part[states])) == len(states):
            result.append(word)
            continue
        if nodes > MOST_CONTEXTS or len(word) == MOST_LETTERS:
            most = f"{MOST_CONTEXTS:,} contexts of up to {MOST_LETTERS} letters"
            raise LimitExceeded(f"the state does not follow from its component and {most}")
        result.append((BEGIN, *word))
        todo.extend(((letter, *word), reached[table[:, letter]]) for letter in tier)
    return tuple(result)


def merge_transient(table: Integers, part: Integers, tier: Sequence[int], budget: Budget) -> Integers:
    """Merges states that every letter of the tier leaves with the class of a successor, where that works."""
    part, tried = part.copy(), set[tuple[int, int]]()
    for _ in range(MOST_MERGES):
        after: dict[int, set[int]] = {}
        for one, two in zip(
            part.repeat(table.shape[1]).tolist(), part[table].reshape(-1).tolist(), strict=True
        ):
            if one != two:
                after.setdefault(one, set()).add(two)
        left = (
            (one, two)
            for one in sorted(after)
            for two in sorted(after[one])
            if (one, two) not in tried and _is_transient(table, part, tier, one)
        )
        edge = next(left, None)
        if edge is None:
            break
        tried.add(edge)
        one, two = edge
        if _leads(after, after[one] - {two}, two):
            continue  # merging would make a cycle
        merged = np.where(part == one, two, part)
        if follows_from_suffix(table, merged, tier, budget):
            try:
                shortest_contexts(table, merged, tier, budget)
            except LimitExceeded:
                continue
            part = merged
            tried = {pair for pair in tried if not {one, two} & {*pair}}
    return np.unique(part, return_inverse=True)[1].reshape(-1)


def _is_transient(table: Integers, part: Integers, tier: Sequence[int], number: int) -> bool:
    members = np.flatnonzero(part == number)
    return len(members) == 1 and bool((table[members[0], list(tier)] != members[0]).all())


def _leads(after: dict[int, set[int]], sources: set[int], target: int) -> bool:
    """Whether one of the sources leads to the target."""
    seen: set[int] = set()
    todo = [*sources]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += after.get(node, ())
    return target in seen


def _machine(
    order: Word, table: Integers, tier: Word, part: Integers, context: Contexts, budget: Budget
) -> EventMachine:
    """Breadth first over pairs (state, node of the contexts)."""
    width, letters = len(context.after), table.shape[1]
    seen = np.zeros(1, dtype=np.int64)
    layers, frontier = [seen], seen
    while len(frontier):
        budget.spend(ENTRY * (len(frontier) * letters + 500))
        codes = table[frontier // width] * width + context.after[frontier % width]
        frontier = np.setdiff1d(codes, seen)
        seen = np.union1d(seen, frontier)
        layers.append(frontier)
        if len(seen) > MOST_PAIRS:
            raise LimitExceeded(f"there are more than {MOST_PAIRS:,} pairs of a state and a context")
    codes = np.concatenate(layers)
    by_code = np.argsort(codes)
    after = table[codes // width] * width + context.after[codes % width]
    pairs = by_code[np.searchsorted(codes[by_code], after)]
    states, contexts = codes // width, context.of[codes % width]
    # Rows of all pairs with one context are joined: where a class does not meet an event, it stays.
    count, classes = len(context.words), int(part.max()) + 1
    raw = contexts[:, None] * letters + np.arange(letters)[None, :]
    skipped = [letter for letter in range(letters) if letter not in tier]
    raw[:, skipped] = np.array(skipped, dtype=np.int64)
    moves = np.repeat(np.arange(classes)[:, None], count * letters, axis=1)
    moves[part[states][:, None], raw] = part[states[pairs]]
    occurs = np.zeros(count * letters, dtype=bool)
    occurs[raw] = True
    budget.spend(ENTRY * moves.size)
    _, first, labels = np.unique(moves[:, occurs], axis=1, return_index=True, return_inverse=True)
    event = np.full(count * letters, -1)
    event[occurs] = labels.reshape(-1)
    event = event.reshape(count, letters)
    event[:, skipped] = event[:1, skipped]
    return EventMachine(
        order, tier, part, context, event, moves[:, occurs][:, first], pairs, states, contexts
    )
