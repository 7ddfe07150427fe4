"""Finds boxes for ``check.boxes``: nothing here is trusted.

A box stands for a state of the automaton and the last letter read. One box for each state alone is not
enough: letters enter the gates of a cell additively, and a network that holds a state and corrects errors
refreshes it from h, so its code depends on how the state was reached.
"""

from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from krohn.automata.graph import explore
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.files.reader import Automaton
from krohn.check.ground import Array, Integers, Refused, Verdict, refusal_of
from krohn.check.recurrent.boxes import MAX_BOXES, BoxCell, Boxes, check
from krohn.errors import LimitExceeded

Box = tuple[Array, Array]
Short = type[np.float16] | type[np.float32]
SHORT: dict[str, Short] = {"f2": np.float16, "f4": np.float32}
"""Short floats for the sides of boxes, by the names that witnesses give."""

GROWTH, STEP = 0.05, 1e-6
"""Overshoot of a side that moves, relative and absolute: otherwise it would approach its limit forever."""


@dataclass(frozen=True, eq=False)
class Contexts:
    """States with the last letter read, one box for each; number 0 is the empty word."""

    state: Integers
    follower: Integers
    last: Integers  # the last letter, −1 for the empty word


def contexts(automaton: Automaton) -> Contexts | None:
    """All reachable pairs of a state and the last letter; none if there are too many."""
    table = automaton.table.tolist()
    try:
        order, rows = explore(
            (automaton.start, -1), lambda pair: zip(table[pair[0]], count(), strict=False), MAX_BOXES
        )
    except LimitExceeded:
        return None
    state, last = np.array(order).T
    return Contexts(state, np.array(rows), last)


def search(cell: BoxCell, automaton: Automaton, found: Contexts, rounds: int = 300) -> tuple[Boxes, Verdict]:
    """Grows boxes from the empty word until closed under all letters; then checks them."""
    count = len(found.state)
    low, high = np.full((count, cell.size), np.inf), np.full((count, cell.size), -np.inf)
    dirty = np.arange(count) == 0
    low[0] = high[0] = 0.0
    try:
        with np.errstate(all="ignore"):
            _close(cell, found, automaton.shows[found.state], low, high, dirty, rounds)
            boxes = Boxes(found.state, found.follower, low, high)
            return boxes, check(cell, boxes, automaton)
    except Refused as refusal:
        return Boxes(found.state, found.follower, low, high), refusal_of(refusal)


def _close(
    cell: BoxCell,
    found: Contexts,
    outputs: Integers,
    low: Array,
    high: Array,
    dirty: npt.NDArray[np.bool_],
    rounds: int,
) -> None:
    """Grows boxes until closed under all letters, or until a read-out margin is not positive."""
    numbers = np.arange(len(low))
    for turn in range(rounds):
        grown = _grow(cell, found.follower, low, high, dirty)
        dirty = np.isin(numbers, grown)
        if not dirty.any():
            break
        # Boxes only grow, so a margin that is lost stays lost; the empty word is read by nobody.
        seen = np.isfinite(low[:, 0]) & (numbers > 0)
        if turn % 5 == 4 and not (cell.margins(low[seen], high[seen], outputs[seen]) > 0).all():
            break


def shorten(cell: BoxCell, boxes: Boxes, sides: str, rounds: int = 60) -> Boxes:
    """Boxes with short-float sides: rounded outwards, and grown until closed under all letters."""
    kind = SHORT[sides]
    low, high = outwards(boxes.low, boxes.high, kind)
    dirty = np.ones(len(low), bool)
    for _ in range(rounds):
        grown = _grow(cell, boxes.follower, low, high, dirty)
        if not len(grown):
            break
        low, high = outwards(low, high, kind)
        dirty = np.isin(np.arange(len(low)), grown)
    return Boxes(boxes.state, boxes.follower, low, high)


def outwards(low: Array, high: Array, sides: Short) -> Box:
    """Rounds a box outwards to the nearest short floats."""
    with np.errstate(over="ignore"):
        down, up = (side.astype(sides).astype(np.float64) for side in (low, high))
        below = np.nextafter(down.astype(sides), sides(-np.inf)).astype(np.float64)
        above = np.nextafter(up.astype(sides), sides(np.inf)).astype(np.float64)
    return np.where(down > low, below, down), np.where(up < high, above, up)


def proof_summary(boxes: Boxes, verdict: Verdict, automaton: Semiautomaton) -> str:
    """The failure with the box named by its state and the letters that lead to it."""
    if verdict.at is None:
        return verdict.reason
    box, letter = verdict.at
    state = automaton.state_names[boxes.state[box]]
    into = [name for a, name in enumerate(automaton.letter_names) if (boxes.follower[:, a] == box).any()]
    where = f"state {state} after letter {' or '.join(into)}" if box else "the empty word"
    if letter < 0:
        return f"{verdict.reason} ({where})"
    target = automaton.state_names[boxes.state[boxes.follower[box, letter]]]
    read = automaton.letter_names[letter]
    return f"{verdict.reason} ({where}; letter {read} must lead to state {target})"


def _grow(
    cell: BoxCell, follower: Integers, low: Array, high: Array, dirty: npt.NDArray[np.bool_]
) -> npt.NDArray[np.intp]:
    """Encloses the images of the dirty boxes; returns the boxes that grew."""
    new_low, new_high = np.full_like(low, np.inf), np.full_like(high, -np.inf)
    for letter in range(follower.shape[1]):
        source = np.flatnonzero(dirty)
        target = follower[source, letter]
        image_low, image_high = cell.image(low[source], high[source], letter)
        np.minimum.at(new_low, target, image_low)
        np.maximum.at(new_high, target, image_high)
    down, up = new_low < low, new_high > high
    # A box that was empty takes its image as it is: it has moved by infinity, which is no measure.
    by_down = np.nan_to_num(np.where(down, low - new_low, 0), posinf=0)
    by_up = np.nan_to_num(np.where(up, new_high - high, 0), posinf=0)
    low[:] = np.where(down, new_low - GROWTH * by_down - STEP, low)
    high[:] = np.where(up, new_high + GROWTH * by_up + STEP, high)
    return np.flatnonzero((down | up).any(1))
