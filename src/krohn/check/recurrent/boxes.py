"""The proof for every length of a trained LSTM or GRU: boxes that every letter maps into each other.

A witness names boxes of the hidden state. Box 0 holds the state before the first letter; each box belongs
to a state of the automaton and names, for each letter, the box that follows. We prove that the follower
belongs to the right state, that one step of the network from any point of a box ends inside the follower,
and that on every follower the read-out answers its state. By induction the network is right on words of
every length.

Hypotheses, and where they are asked for: every number is finite (``Sums``, ``Rounding.error``); the start
is in box 0, followers belong to the right states, every letter has one (``require_well_formed``);
steps end inside (``_check_images``); the right logit leads (``margins``).
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.arithmetic.format import FORMATS
from krohn.check.arithmetic.sums import Sums
from krohn.check.files.folders import whole_numbers
from krohn.check.files.reader import Automaton
from krohn.check.ground import (
    Array,
    Integers,
    Real,
    Refused,
    Verdict,
    Work,
    affine_error,
    inside,
    point,
    refusal_of,
    require,
)
from krohn.check.recurrent.cells import Gated, GruCell, LstmCell
from krohn.errors import need

FARTHEST = 1e12
"""Sides of boxes must be smaller: their sums and products are then far from the end of float32."""
MAX_BOXES = 4096
"""Every box is compared with the image of every other under each letter."""
GATED: dict[str, type[Gated]] = {"lstm": LstmCell, "gru": GruCell}
SIDES = {"f2": "<f2", "f4": "<f4", "f8": "<f8"}
"""Float types in which sides are stored; boxes are rounded outwards to them."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """``state`` [K], ``follower`` [K, A], sides [K, D]."""

    state: Integers
    follower: Integers
    low: Array
    high: Array

    @property
    def steps(self) -> int:
        """Pairs of a box and a letter, whose images must lie inside boxes."""
        return self.follower.size

    @property
    def widest(self) -> float:
        """The largest side of a box; sides without an end do not count."""
        sides = self.high - self.low
        return float(sides[np.isfinite(sides)].max(initial=0.0))


class BoxCell:
    """A gated cell on boxes of its state, in any order of adding."""

    def __init__(self, cell: Gated, dtype: str, budget: Work | None = None) -> None:
        self.cell, self.sums = cell, Sums(FORMATS[dtype], budget=budget)
        self.weights, self.rows = cell.stored(self.sums), cell.letters(self.sums)
        self.hidden, self.size = cell.hidden, cell.size

    def image(self, low: Array, high: Array, letter: int) -> tuple[Array, Array]:
        """Boxes that hold every result of one step from the given boxes [N, D]."""
        after = self.cell.after(self.sums, self.weights, self.rows[letter : letter + 1], Real(low, high))
        return after.lo, after.hi

    def margins(self, low: Array, high: Array, right: Integers) -> Array:
        """The least lead of the answers ``right`` [N] over every other, on each box, errors taken off."""
        h = Real(low[:, : self.hidden], high[:, : self.hidden])
        weight, bias = self.weights["head.weight"], self.weights["head.bias"]
        self.sums.product(h, weight, bias)
        # Both logits read the same h: their difference is bounded as one product, where its interval is
        # narrower than the difference of two; only the roundings count twice.
        error = self.sums.fmt.off_linear(h.size, weight, bias)
        error = error + affine_error(h.size @ np.abs(weight), len(weight))  # differences of weights, below
        least = np.full(len(low), np.inf)
        for answer in np.unique(right):
            rows, others = right == answer, np.arange(len(bias)) != answer
            lead = (h[rows] @ (weight[:, [answer]] - weight[:, others])).lo
            apart = (point(bias[answer]) - point(bias[others])).lo - error[rows, answer, None]
            least[rows] = (lead + apart - error[rows][:, others]).min(axis=1, initial=np.inf)
        return least


def build_gated(kind: str, tensors: Mapping[str, npt.NDArray[Any]], letters: int, states: int) -> Gated:
    """The cell of a training run, without the padding rows (letters) and columns (states) of its tensors.

    Padding must be 0: a row is multiplied by 0, and 0 times infinity is NaN; a column is not an answer.
    """
    need(kind in GATED, f"boxes are for {' and '.join(GATED)} networks")
    # How many outputs there are is what the claim says: any further column is 0, or the run is refused.
    used = dict(tensors)
    rows, columns = slice(letters), slice(states)
    names = {"wte": (rows,), "head.weight": (slice(None), columns), "head.bias": (columns,)}
    for name, part in names.items():
        need(name in used and used[name].ndim == len(part) + (name == "wte"), f"the cell must have {name}")
        used[name] = used[name][part]
        need(np.count_nonzero(tensors[name]) == np.count_nonzero(used[name]), f"padding of {name} must be 0")
    return GATED[kind](used)


def check(cell: BoxCell, boxes: Boxes, automaton: Automaton) -> Verdict:
    """Whether the boxes prove the cell right on every word."""
    try:
        require_well_formed(cell, boxes, automaton)
        return _check_images(cell, boxes, automaton)
    except Refused as refusal:
        return refusal_of(refusal)


def _check_images(cell: BoxCell, boxes: Boxes, automaton: Automaton) -> Verdict:
    """The same for boxes that are well formed."""
    state, follower, low, high = boxes.state, boxes.follower, boxes.low, boxes.high
    reached = np.zeros(len(state), dtype=bool)
    for letter in range(automaton.table.shape[1]):
        target = follower[:, letter]
        with inside(f"letter {letter}"):
            image_low, image_high = cell.image(low, high, letter)
        # Box by box, those that no word reaches too: then it holds of whatever words reach.
        fits = (image_low >= low[target]) & (image_high <= high[target])  # false where something is NaN
        if not fits.all():
            row, unit = np.argwhere(~fits)[0]
            failure = (
                f"letter {letter} must map box {row} into box {target[row]}; coordinate {unit} leaves it"
            )
            return Verdict(False, 0.0, failure, at=(int(row), letter))
        reached[target] = True
    # An answer is given after a letter: a box that follows no letter, as box 0 may, need not show its state.
    shown = np.flatnonzero(reached)
    leads = cell.margins(low[shown], high[shown], automaton.shows[state[shown]])
    if not (leads > 0).all():
        worst = int(shown[np.argmin(leads)])
        failure = f"the read-out must answer state {state[worst]} on all of box {worst}; it may not"
        return Verdict(False, 0.0, failure, at=(worst, -1))
    return Verdict(True, float(leads.min()), "")


def require_well_formed(cell: BoxCell, boxes: Boxes, automaton: Automaton) -> None:
    """Refuses a witness that is malformed, before any number is computed."""
    state, follower, low, high, table = boxes.state, boxes.follower, boxes.low, boxes.high, automaton.table
    count, (states, letters) = len(state), table.shape
    sizes = cell.cell.num_letters, cell.cell.num_states
    fits = sizes == (letters, int(automaton.shows.max()) + 1)
    require(fits, "the network must have the automaton's letters and states")
    fits = low.shape == (count, cell.size) and high.shape == low.shape and count > 0
    require(fits, f"boxes must have {cell.size} sides each, and there must be one at least")
    fits = follower.shape == (count, letters)
    require(fits, f"every box must name a follower for each of {letters} letters")
    moderate = (np.abs(low) <= FARTHEST) & (np.abs(high) <= FARTHEST)
    require(moderate, "sides of boxes must be numbers of moderate size")
    require(low <= high, "no box may be empty")
    fits = ((state >= 0) & (state < states)).all() and state[0] == automaton.start
    require(fits, "boxes must belong to states of the automaton, box 0 to its start")
    require((follower >= 0) & (follower < count), "every letter must have a follower")
    right = state[follower] == table[state]
    require(right, "a follower must belong to the state that the automaton moves to")
    start = (low[0] <= 0) & (high[0] >= 0)
    require(start, "box 0 must hold the state before the first letter, all zeros")


def boxes_from(witness: Any) -> Boxes:
    """The boxes in a witness; anything malformed is named."""
    wanted = {"state", "follower", "sides", "width", "low", "high"}
    need(isinstance(witness, dict) and set(witness) == wanted, f"boxes must have {', '.join(sorted(wanted))}")
    state, follower, width = witness["state"], witness["follower"], witness["width"]
    fits = whole_numbers(state, MAX_BOXES, None) and 0 < len(state) <= MAX_BOXES
    fits = fits and whole_numbers(follower, MAX_BOXES, len(state), None)
    fits = fits and all(len(row) == len(follower[0]) for row in follower)
    need(fits, f"boxes must be at most {MAX_BOXES}, each with a state and followers")
    need(witness["sides"] in SIDES and type(width) is int and width > 0, "boxes: sides must be f2, f4 or f8")
    low, high = (_decode(witness[name], witness["sides"], len(state), width) for name in ("low", "high"))
    return Boxes(np.array(state, dtype=np.int64), np.array(follower, dtype=np.int64), low, high)


def _decode(text: Any, sides: str, count: int, width: int) -> Array:
    kind = np.dtype(SIDES[sides])
    need(isinstance(text, str), "boxes: sides must be base64 text")
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        data = b""
    need(len(data) == count * width * kind.itemsize, f"boxes must have {width} sides each, in base64")
    return np.frombuffer(data, dtype=kind).reshape(count, width).astype(np.double)
