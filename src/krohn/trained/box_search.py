"""Finds boxes for ``box_check``: nothing here is trusted.

A box stands for a state of the automaton and the last letters read. One box for each state alone is not
enough: letters enter the gates of a cell additively, and a network that holds a state and corrects errors
refreshes it from h, so its code depends on how the state was reached.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.trained.box_check import Box, Boxes, BoxVerdict, Cell, Floats, Ints, check, margins

Short = type[np.float16] | type[np.float32]

MAX_BOXES = 4096
GROWTH, STEP = 0.05, 1e-6
"""A side that moves is pushed further by this share, and by this much: else it converges for ever."""


@dataclass(frozen=True, eq=False)
class Claim:
    """An automaton and the words that are claimed: those whose letters are all allowed [state, letter]."""

    table: Ints
    start: int
    allowed: npt.NDArray[np.bool_]


def all_words(automaton: Semiautomaton) -> Claim:
    """The claim about every word."""
    table = automaton.table.astype(np.int64)
    return Claim(table, int(automaton.start), np.ones(table.shape, dtype=bool))


@dataclass(frozen=True, eq=False)
class Contexts:
    """States with the last letters read, each a box to be; number 0 is the empty word."""

    state: Ints
    follower: Ints
    last: Ints  # the last letter, −1 for the empty word


def contexts(claim: Claim, letters: int = 1) -> Contexts | None:
    """All reachable pairs of a state and at most so many last letters; none if they are too many."""
    first: tuple[int, tuple[int, ...]] = (claim.start, ())
    number, order, rows = {(first, True): 0}, [first], []
    for state, word in order:  # grows while it is read
        row = []
        for letter in range(claim.table.shape[1]):
            if not claim.allowed[state, letter]:
                row.append(-1)
                continue
            key = (int(claim.table[state, letter]), (*word, letter)[-letters:])
            if (key, False) not in number:
                number[key, False] = len(order)
                order.append(key)
            row.append(number[key, False])
        rows.append(row)
        if len(order) > MAX_BOXES:
            return None
    last = [word[-1] if word else -1 for _, word in order]
    return Contexts(np.array([state for state, _ in order]), np.array(rows), np.array(last))


def search(
    cell: Cell, claim: Claim, found: Contexts, begin: Box | None = None, rounds: int = 300
) -> tuple[Boxes, BoxVerdict]:
    """Grows boxes from the empty word, or from a guess, until no letter leaves them; then checks them."""
    count = len(found.state)
    low, high = np.full((count, cell.size), np.inf), np.full((count, cell.size), -np.inf)
    dirty = np.arange(count) == 0
    if begin is not None:
        low, high, dirty = begin[0].copy(), begin[1].copy(), np.ones(count, bool)
    low[0] = high[0] = 0.0
    with np.errstate(all="ignore"):
        for turn in range(rounds):
            grown = _grow(cell, found.follower, low, high, dirty)
            dirty = np.isin(np.arange(count), grown)
            if not dirty.any():
                break
            seen = np.isfinite(low[:, 0]) & (np.arange(count) > 0)
            if turn % 5 == 4 and not (margins(cell, low[seen], high[seen], found.state[seen]) > 0).all():
                break
    boxes = Boxes(found.state, found.follower, low, high)
    return boxes, check(cell, boxes, claim.table, claim.start, claim.allowed)


def shortened(cell: Cell, boxes: Boxes, sides: Short, rounds: int = 60) -> Boxes:
    """Boxes whose sides are short floats: rounded outwards, and grown until no letter leaves them."""
    low, high = _outwards(boxes.low, boxes.high, sides)
    dirty = np.ones(len(low), bool)
    for _ in range(rounds):
        grown = _grow(cell, boxes.follower, low, high, dirty)
        if not len(grown):
            break
        low, high = _outwards(low, high, sides)
        dirty = np.isin(np.arange(len(low)), grown)
    return Boxes(boxes.state, boxes.follower, low, high)


def _outwards(low: Floats, high: Floats, sides: Short) -> Box:
    """The nearest short floats that do not lie inside."""
    with np.errstate(over="ignore"):
        down, up = (side.astype(sides).astype(np.float64) for side in (low, high))
        below = np.nextafter(down.astype(sides), sides(-np.inf)).astype(np.float64)
        above = np.nextafter(up.astype(sides), sides(np.inf)).astype(np.float64)
    return np.where(down > low, below, down), np.where(up < high, above, up)


def told(boxes: Boxes, verdict: BoxVerdict, automaton: Semiautomaton) -> str:
    """The failure with the box named by its state and the letters that lead to it."""
    if verdict.at is None:
        return verdict.failure
    box, letter = verdict.at
    state = automaton.state_names[boxes.state[box]]
    into = [name for a, name in enumerate(automaton.letter_names) if (boxes.follower[:, a] == box).any()]
    where = f"state {state} after letter {' or '.join(into)}" if box else "the empty word"
    if letter < 0:
        return f"{verdict.failure} ({where})"
    target = automaton.state_names[boxes.state[boxes.follower[box, letter]]]
    read = automaton.letter_names[letter]
    return f"{verdict.failure} ({where}; letter {read} must lead to state {target})"


def _grow(
    cell: Cell, follower: Ints, low: Floats, high: Floats, dirty: npt.NDArray[np.bool_]
) -> npt.NDArray[np.intp]:
    """Encloses the images of the dirty boxes; which boxes became larger."""
    new_low, new_high = np.full_like(low, np.inf), np.full_like(high, -np.inf)
    for letter in range(follower.shape[1]):
        source = np.flatnonzero(dirty & (follower[:, letter] >= 0))
        target = follower[source, letter]
        image_low, image_high = cell.image(low[source], high[source], letter)
        np.minimum.at(new_low, target, image_low)
        np.maximum.at(new_high, target, image_high)
    down, up = new_low < low, new_high > high
    by_down = np.nan_to_num(np.where(down, low - new_low, 0), posinf=0)
    by_up = np.nan_to_num(np.where(up, new_high - high, 0), posinf=0)
    low[:] = np.where(down, new_low - GROWTH * by_down - STEP, low)
    high[:] = np.where(up, new_high + GROWTH * by_up + STEP, high)
    return np.flatnonzero((down | up).any(1))
