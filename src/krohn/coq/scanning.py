"""Hints for Coq on a Transformer whose heads look back by a fixed distance; Coq checks every one of them.

Each letter is a transformation of a few points, held in registers: register i says where point i goes. A
layer composes the registers of two neighbouring windows of letters, so that windows double. ``Scan.v`` has
the same records.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.coq.heads import GRID, MOST_MARGIN, TIGHT, NoCounters
from krohn.network.transformer import Head, Layer, Matrix, Transformer


@dataclass(frozen=True)
class ScanHint:
    """A layer: how far the score of the right position leads, on the grid, and channels for each register.

    Attributes:
        gap: the lead.
        current, back, following: the channels of the registers, of their copies, and after the layer.
        value: which value of the head copies the register.
    """

    gap: int
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


def scanning(network: Transformer, automaton: Semiautomaton) -> Scanning:
    """The hints for a network; Coq decides whether they are right."""
    if any(len(layer.heads) != 1 for layer in network.layers):
        raise NoCounters("a network that looks back must have one head in each layer")
    start = network.padding[0] + network.positions[0]
    copies = [_copies(layer.heads[0], start) for layer in network.layers]
    current = copies[0][0]
    codes = start[list(current)]
    letters = tuple(
        tuple(int(np.abs(codes - number).argmin()) for number in row[list(current)])
        for row in network.embedding
    )
    states, right = _rows(letters, automaton)
    layers = []
    for number, (layer, (channels, value, back)) in enumerate(zip(network.layers, copies, strict=True)):
        following = copies[number + 1][0] if number + 1 < len(copies) else channels
        layers.append(ScanHint(_gap(layer, network.positions, 2**number), channels, value, back, following))
    return Scanning(letters, states, tuple(layers), right)


def _copies(head: Head, start: Matrix) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """For each register, in the order of the points: its channel, the value that copies it, the copy."""
    # At the start register i holds the code of point i, so sorting the codes numbers the registers.
    current = np.abs(head.value).argmax(axis=0)
    order = np.argsort(start[current], kind="stable")
    back = np.abs(head.output).argmax(axis=1)
    return _whole(current[order]), _whole(order), _whole(back[order])


def _whole(numbers: npt.NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(int(number) for number in numbers)


def _gap(layer: Layer, positions: Matrix, distance: int) -> int:
    """The least lead of the score of the position that far back (or of the first one) over all others."""
    (head,) = layer.heads
    scores = (positions @ head.query) @ (positions @ head.key).T
    least = np.inf
    for place in range(1, len(positions)):
        at = max(place - distance, 0)
        others = np.delete(scores[place, : place + 1], at)
        least = min(least, float(scores[place, at] - others.max()))
    if not least > 0:
        raise NoCounters(f"a head must look back by {distance}; other positions have higher scores")
    return int(TIGHT * min(least, MOST_MARGIN) * GRID)


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
