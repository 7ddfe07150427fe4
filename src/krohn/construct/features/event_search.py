"""Features of events that tell all classes apart, asked for by each conflict and chosen by a greedy cover.

Two words with equal values and different classes are a conflict. It asks for the features that tell its
words apart: counts of the events in which they differ, subsequences that one of them contains, first
departures from the classes on the way. The features chosen are those that tell most conflicts apart and,
over all words, most classes. That they suffice is proved by a product of finite machines, for words of every
length.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from krohn.base.portable import Budget
from krohn.construct.features.event_features import (
    Departures,
    EventCount,
    EventFeature,
    Members,
    Subsequence,
)
from krohn.construct.features.events import ENTRY, EventMachine, Flags, Integers
from krohn.errors import LimitExceeded, Unsupported

MOST_NODES = 120_000
MOST_ROUNDS, MOST_FEATURES, MOST_POOLED = 400, 24, 400
DEEPEST = 6
MOST_COUNTED = 6
"""The largest bound of a count is one more."""
MOST_SEPARATING, SEPARATING_NODES = 12, 4_000
A_FEATURE, A_LEVEL = 100, 300
"""Units of work for a feature on two words, and for a level of a breadth-first search."""

Path = list[int]


@dataclass(frozen=True, eq=False)
class Product:
    """The reachable combinations: node of the walk, value of each feature, and the way there."""

    nodes: Integers
    values: tuple[Integers, ...]
    parent: Integers
    letter: Integers

    def word(self, item: int) -> Path:
        """The letters on the way to a combination."""
        result: Path = []
        while item:
            result.append(int(self.letter[item]))
            item = int(self.parent[item])
        return result[::-1]

    def labels(self, sizes: Sequence[int]) -> Integers:
        """One number for the values of all features."""
        key = np.zeros(len(self.nodes), dtype=np.int64)
        for size, value in zip(sizes, self.values, strict=True):
            key = key * size + value
        return key


def explore(
    follow: Integers,
    event: Integers,
    start: int,
    features: Sequence[EventFeature],
    budget: Budget,
    ends: Sequence[Flags | None] = (),
    most: int = MOST_NODES,
) -> Product:
    """Breadth first; words end at values that ``ends`` flags."""
    sizes = [len(follow), *(len(feature.after) for feature in features)]
    if float(np.prod(np.array(sizes, dtype=np.float64))) >= 2.0**62:
        raise LimitExceeded("the features have too many values together")
    scale = np.cumprod([1, *sizes[:-1]]).astype(np.int64)
    frontier = np.array([start], dtype=np.int64)
    seen, offset, letters = frontier, 0, follow.shape[1]
    codes, parents, reads = [frontier], [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    while len(frontier):
        budget.spend(A_LEVEL + ENTRY * len(frontier) * letters * (2 + len(features)))
        node, shown = frontier % sizes[0], event[frontier % sizes[0]]
        after, keep = follow[node], np.ones(shown.shape, dtype=bool)
        for number, feature in enumerate(features):
            value = feature.after[(frontier // scale[1 + number] % sizes[1 + number])[:, None], shown]
            after = after + value * scale[1 + number]
            end = ends[number] if ends else None
            if end is not None:
                keep &= ~end[value]
        place = np.flatnonzero(keep.reshape(-1))
        fresh, first = np.unique(after.reshape(-1)[place], return_index=True)
        at = np.minimum(np.searchsorted(seen, fresh), len(seen) - 1)
        new = seen[at] != fresh
        frontier, first = fresh[new], place[first[new]]
        codes.append(frontier)
        parents.append(first // letters + offset)
        reads.append(first % letters)
        offset += len(node)
        seen = np.sort(np.concatenate([seen, frontier]))
        if len(seen) > most:
            raise LimitExceeded(f"the product of features has more than {most:,} states")
    every = np.concatenate(codes)
    values = tuple(every // s % size for s, size in zip(scale[1:], sizes[1:], strict=True))
    return Product(every % sizes[0], values, np.concatenate(parents), np.concatenate(reads))


@dataclass(eq=False)
class Candidate:
    """A feature, the conflicts that it resolves, the pairs of classes that never share a value, and its
    values that only a final class has.
    """

    feature: EventFeature
    hits: set[int] = field(default_factory=set)
    power: int = 0
    ends: Flags | None = None

    @property
    def rank(self) -> tuple[int, ...]:
        """Sort key after the worth: power, few layers, easily written, few values."""
        return self.power, -self.feature.layers, -_awkward(self.feature), -len(self.feature.after)


def _awkward(feature: EventFeature) -> int:
    if isinstance(feature, Departures):
        return 3 if feature.layers > 1 else 1
    if isinstance(feature, Subsequence):
        return 2 * any(one & two for one, two in pairwise(feature.sets))
    return 0


class FeatureSearch:
    """The search for features of at most ``layers`` layers over one machine of events."""

    def __init__(self, machine: EventMachine, layers: int, budget: Budget) -> None:
        self.machine, self.walk, self.layers, self.budget = machine, machine.walked, layers, budget
        self.pairs: list[tuple[Path, Path]] = []
        self.pool: dict[tuple[object, ...], Candidate] = {}
        classes = np.arange(len(machine.moves))
        self.final = (machine.moves == classes[:, None]).all(axis=1)

    def run(self) -> list[EventFeature]:
        """The features, no two combinations of which look alike and differ in their class."""
        chosen: list[Candidate] = []
        for _ in range(MOST_ROUNDS):
            conflict = self._conflict(chosen)
            if conflict is None:
                return [each.feature for each in self._needed(chosen)]
            self._note(conflict)
            chosen = self._cover()
            if len(chosen) > MOST_FEATURES:
                raise Unsupported(f"more than {MOST_FEATURES} features of events are needed")
        raise Unsupported(f"{MOST_ROUNDS} conflicts do not suffice")

    def _product(self, chosen: Sequence[Candidate]) -> Product:
        features = [each.feature for each in chosen]
        walk, ends = self.walk, [each.ends for each in chosen]
        return explore(walk.follow, walk.event, walk.start, features, self.budget, ends)

    def _conflict(self, chosen: Sequence[Candidate]) -> tuple[Path, Path] | None:
        """The first two words with equal values and different classes."""
        product = self._product(chosen)
        key, part = product.labels([len(c.feature.after) for c in chosen]), self.walk.part[product.nodes]
        _, first, label = np.unique(key, return_index=True, return_inverse=True)
        differ = np.flatnonzero(part != part[first[label.reshape(-1)]])
        if not len(differ):
            return None
        item = int(differ[0])
        other = int(first[label.reshape(-1)[item]])
        return self._events(product.word(item)), self._events(product.word(other))

    def _events(self, word: Path) -> Path:
        node, result = self.walk.start, []
        for letter in word:
            result.append(int(self.walk.event[node, letter]))
            node = int(self.walk.follow[node, letter])
        return result

    def _note(self, conflict: tuple[Path, Path]) -> None:
        """Adds the conflict, and the features that it asks for."""
        number = len(self.pairs)
        self.pairs.append(conflict)
        found = 0
        for feature in self._asked(*conflict):
            self.budget.spend(A_FEATURE)
            if feature.layers > self.layers or not _tells(feature, conflict):
                continue
            found += 1
            if feature.key not in self.pool:
                candidate = Candidate(feature)
                if len(self.pool) < MOST_POOLED:
                    self._weigh(candidate)
                candidate.hits = {n for n, pair in enumerate(self.pairs[:-1]) if _tells(feature, pair)}
                self.pool[feature.key] = candidate
        if not found:
            raise Unsupported(f"no feature of {self.layers} layers tells two words apart")
        for candidate in self.pool.values():
            if _tells(candidate.feature, conflict):
                candidate.hits.add(number)

    def _weigh(self, candidate: Candidate) -> None:
        """Finds which classes go with which values."""
        product = self._product([candidate])
        count = len(self.final)
        goes = np.zeros((len(candidate.feature.after), count), dtype=bool)
        goes[product.values[0], self.walk.part[product.nodes]] = True
        alone = goes.sum(axis=1) == 1
        candidate.ends = candidate.feature.stays & alone & (goes & self.final).any(axis=1)
        shared = goes.T.astype(np.float32) @ goes.astype(np.float32)
        candidate.power = int((shared == 0).sum()) // 2 + int(candidate.ends.sum()) * count

    def _cover(self) -> list[Candidate]:
        """Candidates that together resolve all conflicts, the most telling first."""
        left, chosen = set(range(len(self.pairs))), list[Candidate]()
        self.budget.spend(len(self.pool))
        while left:
            best = max(
                self.pool.values(), key=lambda each: (len(each.hits & left) * (1 + each.power), each.rank)
            )
            chosen.append(best)
            left -= best.hits
        return chosen

    def _needed(self, chosen: list[Candidate]) -> list[Candidate]:
        """Without features that the others make superfluous, those of most layers first."""
        order = sorted(chosen, key=lambda each: (-each.feature.layers, -len(each.feature.after)))
        for candidate in order:
            rest = [each for each in chosen if each is not candidate]
            try:
                if rest and self._conflict(rest) is None:
                    chosen = rest
            except LimitExceeded:
                continue
        return chosen

    def _asked(self, one: Path, two: Path) -> Iterator[EventFeature]:
        """Features that may tell two sequences of events apart."""
        machine, count = self.machine, self.machine.events
        paths = [_path(machine, word) for word in (one, two)]
        often = [np.bincount(np.array(word, dtype=np.int64), minlength=count) for word in (one, two)]
        kept = (machine.moves == np.arange(len(machine.moves))[:, None]).all(axis=0)
        sets = [frozenset([event]) for event in range(count) if not kept[event]]
        for part in sorted({*paths[0], *paths[1]}):
            row = machine.moves[part]
            sets.append(_where(row != part))
            sets += [_where(row == after) for after in np.unique(row).tolist() if after != part]
        for members in dict.fromkeys(sets):
            numbers = [int(sum(each[event] for event in members)) for each in often]
            if numbers[0] != numbers[1] and min(numbers) < MOST_COUNTED:
                yield EventCount(members, min(numbers) + 1, count)
        for word, path in zip((one, two), paths, strict=True):
            for stage in list(dict.fromkeys(path))[1:]:
                for last_first in (False, True):
                    short = self._shortened(word, stage, last_first=last_first)
                    if short:
                        yield from self._in_order(short)
            yield from self._left(path)
        separating = _separating(one, two, count)
        if separating and len(separating) <= MOST_SEPARATING:
            yield from self._sequence([frozenset([event]) for event in separating])

    def _shortened(self, word: Path, stage: int, *, last_first: bool) -> Path:
        """Events are dropped one by one as long as the class after the rest follows ``stage``."""
        machine = self.machine
        path = _path(machine, word)
        rest = [event for event, (p, q) in zip(word, pairwise(path), strict=True) if p != q]
        changed = True
        while changed:
            changed = False
            places = range(len(rest) - 1, -1, -1) if last_first else range(len(rest))
            for place in [*places]:
                fewer = rest[:place] + rest[place + 1 :]
                self.budget.spend(len(rest) / 4)
                if machine.reach[stage, _path(machine, fewer)[-1]]:
                    rest, changed = fewer, True
                    break
        return rest

    def _in_order(self, word: Path) -> Iterator[EventFeature]:
        """The events themselves; or at each place all that lead to the same class, or to a later one."""
        machine, path = self.machine, _path(self.machine, word)
        yield from self._sequence([frozenset([event]) for event in word])
        steps = list(pairwise(path))
        yield from self._sequence([_where(machine.moves[p] == q) for p, q in steps])
        yield from self._sequence([_where(machine.reach[q][machine.moves[p]]) for p, q in steps])
        yield from self._left(path)

    def _sequence(self, sets: list[Members]) -> Iterator[EventFeature]:
        if not all(sets):
            return
        count = self.machine.events
        if len(set(sets)) == 1:
            if len(sets) <= 1 + MOST_COUNTED:
                yield EventCount(sets[0], len(sets), count)
        else:
            yield Subsequence(tuple(sets), count)

    def _left(self, path: Path) -> Iterator[EventFeature]:
        """First departures along a path, as far as layers allow."""
        stages = list(dict.fromkeys(path))
        rows = [self.machine.moves[part] for part in stages]
        leave = [_where(row != part) for row, part in zip(rows, stages, strict=True)]
        good = [_where(row == after) for row, after in zip(rows, stages[1:], strict=False)]
        for moves in range(1, min(len(good), self.layers) + 1):
            if all(good[:moves]):
                yield Departures(tuple(leave[:moves]), tuple(good[:moves]), self.machine.events)


def _where(flags: Flags) -> Members:
    return frozenset(np.flatnonzero(flags).tolist())


def _path(machine: EventMachine, events: Sequence[int]) -> Path:
    """The classes along a sequence of events."""
    result, moves = [machine.first], machine.moves
    for event in events:
        result.append(int(moves[result[-1], event]))
    return result


def _tells(feature: EventFeature, pair: tuple[Path, Path]) -> bool:
    return feature.values(pair[0])[-1] != feature.values(pair[1])[-1]


def _separating(one: Path, two: Path, count: int) -> Path | None:
    """A shortest sequence that is a subsequence of exactly one of them."""
    first, second = _next_places(one, count), _next_places(two, count)
    came: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {(0, 0): None}
    queue = deque([(0, 0)])
    events = sorted({*one, *two})
    while queue and len(came) < SEPARATING_NODES:
        place = queue.popleft()
        for event in events:
            after = (first[place[0]][event], second[place[1]][event])
            if after in came or after == (-1, -1):
                continue
            came[after] = (place, event)
            if -1 in after:
                result: Path = []
                step = came[after]
                while step is not None:
                    result.append(step[1])
                    step = came[step[0]]
                return result[::-1]
            queue.append(after)
    return None


def _next_places(word: Path, count: int) -> list[list[int]]:
    """By place: where each event is met next, −1 if never."""
    result = [[-1] * count]
    for place in range(len(word) - 1, -1, -1):
        row = result[-1][:]
        row[word[place]] = place + 1
        result.append(row)
    return result[::-1]


def few_features(machine: EventMachine, budget: Budget) -> list[EventFeature]:
    """Features of any depth first; then, with a part of the work, as few layers as possible."""
    if (machine.moves == np.arange(len(machine.moves))[:, None]).all():
        return []
    before = budget.done
    result: list[EventFeature] = []
    with suppress(LimitExceeded, Unsupported):
        result = FeatureSearch(machine, DEEPEST, budget).run()
    spent = budget.done - before
    layers = max((feature.layers for feature in result), default=DEEPEST)
    for fewer in range(1, layers):
        part = budget.part(min(max(spent * 2, budget.units / 6), budget.left / 2))
        try:
            return FeatureSearch(machine, fewer, part).run()
        except (LimitExceeded, Unsupported):
            continue
    if not result:
        raise Unsupported("no features of events tell the components apart")
    return result
