"""Hints for Coq on a Transformer whose heads look back by a fixed distance; Coq checks every one of them.

Each letter is a transformation of a few points, held in registers: register i says where point i goes. A
layer composes the registers of two neighbouring windows of letters, so that windows double. ``Scan.v`` has
the same records.
"""

from dataclasses import dataclass

import numpy as np

from krohn.automata.graph import explore
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.files.witness import Scan
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

    @property
    def registers(self) -> int:
        """How many points there are."""
        return len(self.letters[0])


def scanning(network: Transformer, automaton: Semiautomaton, found: Scan) -> Scanning:
    """The hints for a network, from the witness of a scan; Coq decides whether they are right."""
    if any(len(layer.heads) != 1 for layer in network.layers):
        raise NoCounters("a network that looks back must have one head in each layer")
    letters = tuple(map(tuple, found.letters.tolist()))
    table, refusal = automaton.table.tolist(), "words that lead to one state must be one map of points"
    rows = dict(
        explore(
            (automaton.start, tuple(range(len(letters[0])))),
            lambda node: zip(
                table[node[0]], (tuple(row[i] for i in node[1]) for row in letters), strict=True
            ),
            automaton.num_states,
            f"{refusal} where heads look back; here they are not",
        )[0]
    )
    if len(rows) < automaton.num_states:
        raise NoCounters("words must reach every state; some state of this automaton is out of reach")
    states = tuple(rows[state] for state in range(automaton.num_states))
    layers = []
    for number, layer in enumerate(network.layers):
        (head,), current = layer.heads, found.channels[number]
        value = np.abs(head.value[current]).argmax(axis=1)
        places = current, value, np.abs(head.output[value]).argmax(axis=1), found.channels[number + 1]
        layers.append(ScanHint(*(tuple(each.tolist()) for each in places)))
    return Scanning(letters, states, tuple(layers))
