"""Machines of heads that look back, on the letters or on a tier: states know no more than the MLP needs.

What such heads can hold are as many values as there are words of some letters. If the MLP only asks which of
some suffixes a word has, states that know these suffixes are enough: what was read before is left open, as
the hull of all values. A suffix is long enough if the MLP then returns known numbers, by plain intervals,
whatever state it began in and whatever letter comes next. Letters that no state moves on are skipped.
"""

from collections.abc import Callable, Sequence

import numpy as np

from krohn.automata.suffixes import BEGIN, Word, follow_contexts
from krohn.check.files.reader import Layer
from krohn.check.files.witness import UNKNOWN, Back, Cells, Rule
from krohn.check.ground import Array, Flags, Integers, distinct
from krohn.check.transformer.head_rules import entered
from krohn.check.transformer.stream import Moment, live_states
from krohn.proving.witness.machines import explore, middle
from krohn.proving.witness.memories import MemoryMachine

FEW = 400
"""States that need no saving."""
MOST_WORDS, MOST_ROWS = 500, 1 << 21
"""Suffixes that are tried; entries of rows that are looked at together."""
LONG_AGO = 1 << 20
"""The age of what no suffix holds."""
KNOWN = 1e-3
"""Numbers whose intervals are narrower count as known."""

Machine = tuple[Integers, Integers, Integers]

Expand = Callable[[Integers, Integers], tuple[Integers, Integers]]
"""Rows ``[n, w]`` and letters ``[n or 1, k]`` to next rows ``[n, k, w]`` and outputs ``[n, k, p]``."""


class Suffixes:
    """What a layer makes of a letter after a suffix. Rows are as the search has them: a state, then cells."""

    def __init__(
        self,
        moment: Moment,
        layer: Layer,
        rules: Sequence[Rule],
        memories: Sequence[MemoryMachine],
        expand: Expand,
        live: Flags,
    ) -> None:
        self.moment, self.layer, self.memories, self.expand, self.live = moment, layer, memories, expand, live
        machine = moment.machine
        self.every = np.arange(machine.follow.shape[1])[None]
        columns = np.concatenate([machine.follow, machine.shown]).T
        self.group = distinct(columns)[1]  # letters alike at this moment
        self.leaders = np.unique(self.group, return_index=True)[1]
        self.states = np.flatnonzero(live_states(machine.follow, moment.length))
        stays = (machine.follow[self.states] == self.states[:, None]).all(axis=0)
        looks = any(isinstance(memory.rule, Back) for memory in memories)
        self.tier = [x for x, leader in enumerate(self.leaders.tolist()) if looks or not stays[leader]]
        self.width = max((memory.end for memory in memories), default=1)
        vectors = np.concatenate([middle(moment.box), middle(moment.pads)])
        by_rule = {id(rule): head for head, rule in zip(layer.heads, rules, strict=True)}
        self.added = []
        for memory in memories:
            head = by_rule[id(memory.rule)]
            rows = vectors @ head.value @ head.output
            first = np.unique(memory.rule.value_of, return_index=True)[1]
            self.added.append((rows[first], rows.min(axis=0), rows.max(axis=0)))

    @property
    def fits(self) -> bool:
        """Whether all that heads add is what they remember, without counters and position codes."""
        plain = not len(self.moment.low) and not any(len(memory.counters) for memory in self.memories)
        silent = sum(bool(head.output.any()) for head in self.layer.heads) == len(self.memories)
        late = all(not isinstance(each.rule, Cells) or not each.rule.earliest for each in self.memories)
        straight = not any(code.any() for code in self.layer.sine)
        return plain and silent and late and straight and bool(self.tier) and bool(self.memories)

    def explore(self, start: list[int]) -> Machine | None:
        """Rows, ``follow`` and outputs of a machine that knows the shortest suffixes that decide."""
        words = self.shortest(start) if self.fits else None
        if words is None:
            return None
        known = follow_contexts(words, len(self.leaders), self.tier)
        length = np.array([len(word) if not word or word[0] != BEGIN else LONG_AGO for word in known.known])
        first = [*start, 0, *[0] * self.ages]

        def expand(rows: Integers) -> tuple[Integers, Integers]:
            after, outputs = self.read(rows, self.every)
            node = known.after[rows[:, self.width]][:, self.group]
            after[:, :, self.width] = node
            return self.weaker(after, length[node]), outputs

        rows, follow, outputs = explore(first, expand, self.moment.length)
        return rows[:, : self.width], follow, outputs

    @property
    def ages(self) -> int:
        """Cells of all heads."""
        return sum(memory.number for memory in self.memories)

    def read(self, rows: Integers, letters: Integers) -> tuple[Integers, Integers]:
        """One letter more: rows with a node to be filled in, and letters of the tier since each cell."""
        after, outputs = self.expand(rows[:, : self.width], letters)
        ages = np.repeat(rows[:, None, self.width + 1 :], after.shape[1], axis=1)
        older = np.isin(self.group, self.tier).astype(np.int64)[letters][..., None]
        own, at = self.moment.machine.shown[rows[:, :1], letters], 0
        for memory in self.memories:
            part = slice(at, at + memory.number)
            if isinstance(memory.rule, Back):
                ages[:, :, part] = 1 + np.arange(memory.number)
            else:
                held = rows[:, None, memory.at : memory.at + memory.number]
                hit = entered(memory.rule, own, held)
                ages[:, :, part] = np.where(hit, 1, np.minimum(ages[:, :, part] + older, LONG_AGO))
            at += memory.number
        node = np.zeros((*after.shape[:2], 1), dtype=np.int64)
        return np.concatenate([after, node, ages], axis=2), outputs

    def weaker(self, after: Integers, known: Integers) -> Integers:
        """Cells that were filled before the last ``known`` letters of the tier are left open."""
        after, at = after.copy(), self.width + 1
        for memory in self.memories:
            cells, ages = after[:, :, memory.at : memory.end], after[:, :, at : at + memory.number]
            filled: Flags = np.ones(memory.number, dtype=bool)
            if isinstance(memory.rule, Cells):
                groups = memory.rule.member.shape[1] - len(self.moment.pads)
                filled = np.asarray(memory.rule.member[:, :groups].any(axis=1))  # others hold padding
            gone = (ages > known[..., None]) & filled
            after[:, :, memory.at : memory.end] = np.where(gone, UNKNOWN, cells)
            after[:, :, at : at + memory.number] = np.where(gone | ~filled, LONG_AGO, ages)
            at += memory.number
        return after

    def shortest(self, start: list[int]) -> tuple[Word, ...] | None:
        """The shortest suffixes that decide, level by level; ``None`` if there are too many."""
        most = max(memory.number for memory in self.memories)
        level: list[Word] = [()]
        result: list[Word] = []
        for length in range(most + 1):
            enough = self.decide(level, start) if length < most else [True] * len(level)
            longer: list[Word] = []
            for word, decides in zip(level, enough, strict=True):
                if decides:
                    result.append(word)
                else:
                    result.append((BEGIN, *word))
                    longer.extend((letter, *word) for letter in self.tier)
            level = longer
            if len(result) + len(level) > MOST_WORDS:
                return None
        return tuple(result)

    def decide(self, words: Sequence[Word], start: list[int]) -> list[bool]:
        """For words of one length: whether the MLP returns known numbers after this suffix, wherever it began
        and whatever follows.
        """
        many = max(1, MOST_ROWS // (len(self.states) * len(self.leaders) * (self.width + self.ages)))
        parts = (self._decide(words[at : at + many], start) for at in range(0, len(words), many))
        return [each for part in parts for each in part]

    def _decide(self, words: Sequence[Word], start: list[int]) -> list[bool]:
        count = len(words) * len(self.states)
        rows = np.zeros((count, self.width + 1 + self.ages), dtype=np.int64)
        rows[:, 1 : self.width] = np.array(start[1 : self.width])
        rows[:, self.width + 1 :] = LONG_AGO
        rows[:, 0] = np.tile(self.states, len(words))
        rows = self.weaker(rows[:, None], np.zeros((count, 1), dtype=np.int64))[:, 0]
        for place in range(len(words[0])):
            letters = self.leaders[np.repeat([word[place] for word in words], len(self.states))]
            after = self.read(rows, letters[:, None])[0]
            rows = self.weaker(after, np.full((count, 1), place + 1))[:, 0]
        which = np.repeat(np.arange(len(words)), len(self.states))
        different = distinct(np.concatenate([which[:, None], rows], axis=1))[0]
        read = self.expand(different[:, 1 : 1 + self.width], self.leaders[None])[1]
        owner = np.repeat(different[:, :1, None], read.shape[1], axis=1)
        outputs = distinct(np.concatenate([owner, read], axis=2).reshape(-1, 1 + read.shape[2]))[0]
        low = middle(self.moment.box)[outputs[:, 1]] * self.layer.keep_attention
        high = low.copy()
        for number, (values, least, most) in enumerate(self.added, 2):
            gone = (outputs[:, number] == UNKNOWN)[:, None]
            low += np.where(gone, least, values[outputs[:, number]])
            high += np.where(gone, most, values[outputs[:, number]])
        wide = self._passed(low, high)[:, self.live].max(axis=1, initial=0.0) > KNOWN
        return (np.bincount(outputs[:, 0], wide, len(words)) == 0).tolist()  # type: ignore[no-any-return]

    def _passed(self, low: Array, high: Array) -> Array:
        """The widths of what the MLP makes of rows of intervals."""
        kept, last = (high - low) * self.layer.keep_mlp, len(self.layer.weights) - 1
        for at, (weight, bias) in enumerate(zip(self.layer.weights, self.layer.biases, strict=True)):
            up, down = np.maximum(weight, 0), np.minimum(weight, 0)
            low, high = low @ up + high @ down + bias, high @ up + low @ down + bias
            if at < last:
                low, high = np.maximum(low, 0), np.maximum(high, 0)
        out: Array = high - low + kept
        return out
