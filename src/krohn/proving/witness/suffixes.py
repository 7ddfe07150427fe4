"""The machine of a first layer that looks back: states know no more of a word's end than the MLP needs.

Heads that look d positions back can hold as many values as there are words of d letters. If the MLP only asks
which of some suffixes a word has, states that know these suffixes are enough: what lies further back is left
open, as the hull of all values. A suffix is long enough if the MLP then returns known numbers, by plain
intervals, whatever letter comes next.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from krohn.automata.suffixes import BEGIN, Word, follow_contexts
from krohn.check.files.reader import UNKNOWN, Attention, Back, Layer, Lift, Rule, Silent
from krohn.check.ground import Array, Flags, Integers
from krohn.check.transformer.stream import Moment, live_states
from krohn.proving.witness.machines import label, middle

FEW = 100
"""States that need no saving."""
MOST_NODES = 20_000
KNOWN = 1e-3
"""Numbers whose intervals are narrower count as known."""


class Suffixes:
    """What the layer makes of a letter after a suffix; words are of classes of the moment."""

    def __init__(self, moment: Moment, layer: Layer, rules: Sequence[Rule], live: Flags) -> None:
        self.moment, self.layer, self.live = moment, layer, live
        own, where = np.unique(moment.machine.shown[0], return_inverse=True)
        self.own, self.where = own, where.reshape(-1)
        self.tau, self.stream = len(moment.pads), middle(moment.box)
        self.rules = [(at, rule) for at, rule in enumerate(rules) if isinstance(rule, Back)]
        vectors = np.concatenate([self.stream, middle(moment.pads)])
        self.added = [vectors @ layer.heads[at].value @ layer.heads[at].output for at, _ in self.rules]
        seen = np.concatenate([own, moment.classes + np.arange(self.tau)])
        self.open = [(rows[seen].min(axis=0), rows[seen].max(axis=0)) for rows in self.added]

    @property
    def farthest(self) -> int:
        """The largest distance."""
        return max(rule.distance for _, rule in self.rules)

    @property
    def states(self) -> int:
        """How many states know all values of the lines, at most."""
        result = 1
        for place in range(1, self.farthest + 1):
            told = [rule.value_of[self.own] for _, rule in self.rules if rule.distance >= place]
            result = min(result * len(np.unique(np.column_stack(told), axis=0)), 1 << 40)
        return result

    def source(self, word: Word, distance: int) -> int:
        """The row that stands so far back: a class, a padding position, or −1 if it is open."""
        if distance <= len(word) and word[-distance] != BEGIN:
            return int(self.own[word[-distance]])
        if not word or word[0] != BEGIN:
            return -1
        return self.moment.classes + max(self.tau - 1 - (distance - len(word)), 0)

    def decided(self, words: Sequence[Word]) -> Flags:
        """For each suffix: whether the MLP returns known numbers after every next letter."""
        rows = self.stream[self.own] * self.layer.keep_attention
        low = np.repeat(rows[None], len(words), axis=0)
        high = low.copy()
        for (_, rule), added, (least, most) in zip(self.rules, self.added, self.open, strict=True):
            at = np.array([self.source(word, rule.distance) if rule.distance else 0 for word in words])
            gone = (at < 0)[:, None]
            if rule.distance:
                low += np.where(gone, least, added[at])[:, None]
                high += np.where(gone, most, added[at])[:, None]
            else:
                low, high = low + added[self.own], high + added[self.own]
        channels = low.shape[2]
        low, high = self._run(low.reshape(-1, channels), high.reshape(-1, channels))
        width = (high - low)[:, self.live].max(axis=1, initial=0.0).reshape(len(words), -1)
        out: Flags = width.max(axis=1) <= KNOWN
        return out

    def _run(self, low: Array, high: Array) -> tuple[Array, Array]:
        kept = low * self.layer.keep_mlp, high * self.layer.keep_mlp
        last = len(self.layer.weights) - 1
        for at, (weight, bias) in enumerate(zip(self.layer.weights, self.layer.biases, strict=True)):
            up, down = np.maximum(weight, 0), np.minimum(weight, 0)
            low, high = low @ up + high @ down + bias, high @ up + low @ down + bias
            if at < last:
                low, high = np.maximum(low, 0), np.maximum(high, 0)
        return low + kept[0], high + kept[1]

    def shortest(self) -> tuple[Word, ...] | None:
        """The shortest suffixes that decide; ``None`` if there are too many."""
        todo: deque[Word] = deque([()])
        result: list[Word] = []
        while todo:
            some = [todo.popleft() for _ in range(min(len(todo), 256))]
            for word, enough in zip(some, self.decided(some).tolist(), strict=True):
                if enough or (word and word[0] == BEGIN) or len(word) == self.farthest:
                    result.append(word)
                else:
                    todo.append((BEGIN, *word))
                    todo.extend((letter, *word) for letter in range(len(self.own)))
            if len(result) + len(todo) > MOST_NODES:
                return None
        return tuple(result)


def suffix_step(moment: Moment, layer: Layer, rules: Sequence[Rule], live: Flags) -> Attention | None:
    """The step for a first layer whose heads all look back, where that saves states."""
    plain = len(moment.machine.follow) == 1 and not len(moment.low)
    looks = all(isinstance(rule, Back | Silent) for rule in rules)
    curved = any(code.any() for code in layer.sine)
    if not plain or not looks or curved or not any(isinstance(rule, Back) for rule in rules):
        return None
    seen = Suffixes(moment, layer, rules, live)
    if seen.states <= FEW:
        return None
    words = seen.shortest()
    if words is None:
        return None
    known = follow_contexts(words, len(seen.own), range(len(seen.own)))
    follow, finished, outputs = known.after[:, seen.where], [*rules], []
    for at, rule in seen.rules:
        sources = [[seen.source(word, n + 1) for n in range(rule.distance)] for word in known.known]
        line = np.array(sources, dtype=np.int64).reshape(len(sources), rule.distance)
        held = np.where(line < 0, UNKNOWN, rule.value_of[line])
        own = np.broadcast_to(rule.value_of[moment.machine.shown], follow.shape)
        read = np.broadcast_to(held[:, -1:], follow.shape) if rule.distance else own
        outputs.append(read)
        offset = np.zeros((*held.shape, 0), dtype=np.int64)
        finished[at] = replace(rule, held=held, offset=offset)
    outputs.append(np.broadcast_to(moment.machine.shown, follow.shape))
    shown = label(np.stack(outputs, axis=2), live_states(follow, moment.length))
    base: Integers = np.zeros(len(follow), dtype=np.int64)
    return Attention(Lift(follow, base, shown), tuple(finished))
