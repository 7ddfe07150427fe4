"""Hints for Coq on a Transformer whose heads look back by a fixed distance; Coq checks every one of them.

Each letter is a transformation of a few points, held in registers: register i says where point i goes. A
layer composes the registers of two neighbouring windows of letters, so that windows double. ``Scan.v`` has
the same records.
"""

from dataclasses import dataclass

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.transformer.witness import Scan
from krohn.coq.heads import NoCounters
from krohn.network.transformer import Transformer


@dataclass(frozen=True)
class ScanHint:
    """A layer, for each register.

    Attributes:
        current, back, following: the channels of the registers, of their copies, and after the layer.
        value: which value of the head copies the register.
    """

    current: tuple[int, ...]
    value: tuple[int, ...]
    back: tuple[int, ...]
    following: tuple[int, ...]


@dataclass(frozen=True)
class Scanning:
    """All hints: the registers of each letter and of each state, and the layers."""

    letters: tuple[tuple[int, ...], ...]
    states: tuple[tuple[int, ...], ...]
    layers: tuple[ScanHint, ...]
    right: bool

    @property
    def registers(self) -> int:
        """How many points there are."""
        return len(self.letters[0])


def scanning(network: Transformer, automaton: Semiautomaton, found: Scan) -> Scanning:
    """The hints for a network, from the witness of a scan; Coq decides whether they are right."""
    if any(len(layer.heads) != 1 for layer in network.layers):
        raise NoCounters("a network that looks back must have one head in each layer")
    letters = tuple(map(tuple, found.letters.tolist()))
    states, right = _rows(letters, automaton)
    layers = []
    for number, layer in enumerate(network.layers):
        (head,), current = layer.heads, found.channels[number]
        value = np.abs(head.value[current]).argmax(axis=1)
        places = current, value, np.abs(head.output[value]).argmax(axis=1), found.channels[number + 1]
        layers.append(ScanHint(*(tuple(each.tolist()) for each in places)))
    return Scanning(letters, states, tuple(layers), right)


def _rows(
    letters: tuple[tuple[int, ...], ...], automaton: Semiautomaton
) -> tuple[tuple[tuple[int, ...], ...], bool]:
    """The registers of each state, as words lead to it; and whether all words that lead to it agree."""
    rows = {automaton.start: tuple(range(len(letters[0])))}
    right = True
    for state in (waiting := [automaton.start]):
        for letter, row in enumerate(letters):
            target, after = int(automaton.table[state, letter]), tuple(row[i] for i in rows[state])
            if target not in rows:
                rows[target] = after
                waiting.append(target)
            right &= rows[target] == after
    if len(rows) < automaton.num_states:
        raise NoCounters("words must reach every state; some state of this automaton is out of reach")
    return tuple(rows[state] for state in range(automaton.num_states)), right
