"""What heads that look back or remember hold, as columns of the rows of a machine."""

from dataclasses import dataclass

import numpy as np

from krohn.check.files.reader import Layer
from krohn.check.files.witness import EMPTY, UNKNOWN, Back, Cells, Rule
from krohn.check.ground import Integers
from krohn.check.transformer.head_rules import entered
from krohn.check.transformer.stream import Moment


@dataclass
class MemoryMachine:
    """The columns of a head's cells in the rows of the machine: values, then the counts since."""

    rule: Back | Cells
    number: int
    at: int
    counters: Integers

    @property
    def end(self) -> int:
        """The first column after it."""
        return self.at + self.number * (1 + len(self.counters))


def memories_of(moment: Moment, layer: Layer, rules: list[Rule]) -> tuple[list[MemoryMachine], list[int]]:
    """The columns of each head's cells, and their initial contents, as padding leaves them."""
    memories, start, tau = [], [0], len(moment.pads)
    for head, rule in zip(layer.heads, rules, strict=True):
        if not isinstance(rule, (Back, Cells)):
            continue
        pads = rule.value_of[moment.classes :]
        if isinstance(rule, Back):
            first = [int(pads[max(tau - 1 - n, 0)]) for n in range(rule.distance)]
        else:
            groups_of = rule.member.shape[1] - tau
            first = [EMPTY] * len(rule.member)
            for j in range(tau):
                for cell in np.flatnonzero(rule.member[:, groups_of + j]):
                    first[cell] = int(pads[j])
        counters = np.flatnonzero((head.value.T @ moment.wide != 0).any(axis=0))
        memories.append(MemoryMachine(rule, len(first), len(start), counters))
        start += [*first, *[0] * (len(first) * len(counters))]
    return memories, start


def remembered(
    moment: Moment, memory: MemoryMachine, rows: Integers, letters: Integers
) -> tuple[Integers, list[Integers]]:
    """The cells after each of the letters, and what the head reads: a value and the counts since."""
    state, rule, n = rows[:, :1], memory.rule, memory.number
    own = moment.machine.shown[state, letters]
    steps = moment.machine.steps[state, letters][:, :, memory.counters]
    shape = own.shape
    held = np.repeat(rows[:, None, memory.at : memory.at + n], shape[1], axis=1)
    far = np.repeat(rows[:, None, memory.at + n : memory.end], shape[1], axis=1)
    far = far.reshape(*shape, n, len(memory.counters)) + steps[:, :, None]
    value = rule.value_of[own]
    if isinstance(rule, Back):  # a queue: each letter pushes the others one further back
        now = np.concatenate([value[..., None], held], axis=2)
        since = np.concatenate([np.zeros((*shape, 1, far.shape[3]), dtype=np.int64), far], axis=2)
        cells, offsets = now[..., :n], since[:, :, :n]
        read = [now[..., n : n + 1], since[:, :, n]]
    else:
        hit = entered(rule, own, held)
        cells = np.where(hit, value[..., None], held)
        offsets = np.where(hit[..., None] | (cells == EMPTY)[..., None], 0, far)
        read = _read(rule, own, cells, offsets)
        cells, offsets = _forgotten(moment, rule, cells, offsets)
    return np.concatenate([cells, offsets.reshape(*shape, n * len(memory.counters))], axis=2), read


def _read(rule: Cells, own: Integers, cells: Integers, offsets: Integers) -> list[Integers]:
    value, far = np.full(own.shape, EMPTY), np.zeros((*own.shape, offsets.shape[3]), dtype=np.int64)
    for query, order in enumerate(rule.order):
        waiting = rule.query_of[own] == query
        for cell in order:
            if not waiting.any():
                break
            here = waiting & (cells[..., cell] != EMPTY)
            np.copyto(value, cells[..., cell], where=here)
            np.copyto(far, offsets[..., cell, :], where=here[..., None])
            waiting = waiting & ~here
    return [value[..., None], far]


def _forgotten(moment: Moment, rule: Cells, cells: Integers, offsets: Integers) -> tuple[Integers, Integers]:
    """Forgets cells that only padding fills, once every order that reads them has a better cell filled."""
    written = np.asarray(rule.member[:, : rule.member.shape[1] - len(moment.pads)].any(axis=1))
    for cell in np.flatnonzero(~written):
        gone = np.ones(cells.shape[:2], dtype=bool)
        for order in rule.order:
            if cell in order:
                full = np.zeros(cells.shape[:2], dtype=bool)
                for better in order[: order.index(cell)]:
                    if written[better]:
                        full |= cells[..., better] != EMPTY
                gone &= full
        np.copyto(cells[..., cell], UNKNOWN, where=gone)
        np.copyto(offsets[..., cell, :], 0, where=gone[..., None])
    return cells, offsets
