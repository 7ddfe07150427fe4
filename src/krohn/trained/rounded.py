"""Rounded states: a recurrent network whose state is rounded to multiples of 2^-bits after every letter.

Such a network is a finite automaton, and following all words decides it: right on every word, or a wrong
word. The statement is about the rounded network, so the rounding must be part of what is deployed. Float32
results are enclosed by ``box_check``; where an enclosure meets a tie both roundings are followed, so every
machine is covered.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from krohn.trained.box_check import Cell, Floats, margins
from krohn.trained.box_search import Claim

MAX_STATES = 20_000
MAX_TIES = 6
"""Coordinates of one state that may lie at a tie: 64 roundings are followed."""

Grid = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Closure:
    """``decided`` and no ``wrong`` word: the rounded network is right on words of every length.

    Attributes:
        bits: the state is rounded to multiples of 2^-bits.
        states: pairs of a rounded state and a state of the automaton that were reached.
        reason: why nothing was decided.
    """

    bits: int
    states: int
    wrong: tuple[int, ...] | None = None
    reason: str = ""

    @property
    def proved(self) -> bool:
        """Whether all words were followed, and none is wrong."""
        return self.wrong is None and not self.reason


def close(cell: Cell, claim: Claim, bits: int, most: int = MAX_STATES) -> Closure:
    """Follows every allowed word, breadth first, until nothing new is reached."""
    scale = 2.0**bits
    first = np.zeros(cell.size, dtype=np.int64)
    seen: dict[tuple[bytes, int], tuple[int, ...]] = {(first.tobytes(), claim.start): ()}
    frontier = [(first, claim.start)]
    while frontier:
        fresh: list[tuple[Grid, int]] = []
        for letter in range(claim.table.shape[1]):
            sources = [(point, state) for point, state in frontier if claim.allowed[state, letter]]
            if not sources:
                continue
            points = np.stack([point for point, _ in sources]) / scale
            low, high = (
                np.rint(side * scale).astype(np.int64) for side in cell.image(points, points, letter)
            )
            for (point, state), down, up in zip(sources, low, high, strict=True):
                word = (*seen[point.tobytes(), state], letter)
                target = int(claim.table[state, letter])
                if (up - down > 1).any():
                    return Closure(bits, len(seen), reason="rounding leaves a state between far points open")
                if np.count_nonzero(down != up) > MAX_TIES:
                    return Closure(bits, len(seen), reason=f"a state lies at more than {MAX_TIES} ties")
                for rounded in _roundings(down, up):
                    # Asked before it is looked up: the start is known, and has no answer of its own.
                    lead = _lead(cell, rounded / scale, target)
                    if not lead > 0:
                        return _refuted(cell, rounded / scale, target, Closure(bits, len(seen), word))
                    if (rounded.tobytes(), target) not in seen:
                        seen[rounded.tobytes(), target] = word
                        fresh.append((rounded, target))
            if len(seen) > most:
                return Closure(bits, len(seen), reason=f"more than {most:,} states are reached")
        frontier = fresh
    return Closure(bits, len(seen))


def _lead(cell: Cell, point: Floats, state: int) -> float:
    return float(margins(cell, point[None], point[None], np.array([state]))[0])


def _refuted(cell: Cell, point: Floats, state: int, wrong: Closure) -> Closure:
    """A wrong word, unless the two best answers are too close to tell in float32."""
    answer = int((point[: cell.hidden] @ cell.head + cell.head_bias).argmax())
    if answer != state and _lead(cell, point, answer) > 0:
        return wrong
    return Closure(wrong.bits, wrong.states, reason="two answers are too close to tell in float32")


def _roundings(down: Grid, up: Grid) -> list[Grid]:
    """The grid points between two neighbours: one, or two for each coordinate that differs."""
    places = np.flatnonzero(down != up)
    made = []
    for choice in product((0, 1), repeat=len(places)):
        point = down.copy()
        point[places] = np.where(np.array(choice, dtype=bool), up[places], down[places])
        made.append(point)
    return made
