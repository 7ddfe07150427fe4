"""The trusted part of a proof for every length: boxes that every letter maps into each other.

A certificate names boxes of the hidden state. Box 0 holds the state before the first letter; each box
belongs to a state of the automaton and names, for each letter, the box that follows. ``check`` proves that
the follower belongs to the right state, that one step of the network from any point of a box ends inside
the follower, and that on every follower the read-out answers its state. By induction the network is right
on words of every length.

The statement is about float32 as a machine computes it. With u = 2^-24, in any order of adding and with or
without fused multiply-add, a sum of n products is off by at most n·u/(1 − n·u) times the sum of its
absolute terms. Assumed of the library: sigmoid and tanh are off by at most 8u (half-units of 1). No other
assumption is made of them: they need not be monotone nor stay inside [0, 1]. Not covered: TF32, bfloat16
and float16.

This file evaluates bounds in float64, whose own errors are 2^-29 of u: each sum is granted two terms more
than it has, which covers them. It uses numpy alone and shares no code with the search that finds the boxes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Box = tuple[Floats, Floats]

UNIT = 2.0**-24
ACTIVATION = 8 * UNIT
"""Assumed absolute error of sigmoid and tanh."""
TINY = 2.0**-110
"""Covers what underflow, or flushing to zero, takes from a sum of fewer than 60,000 products."""
LARGEST = 2.0**40
"""Bounds and weights must be smaller: nothing overflows."""


@dataclass(frozen=True)
class BoxVerdict:
    """``failure`` is empty if the boxes are a proof.

    Attributes:
        margin: least lead of the right answer over any other, on all boxes, all errors taken off.
        steps: pairs of a box and a letter whose image was enclosed.
        widest: the largest side of a box.
        at: the box that fails, and the letter that leads out of it; −1 if it is the read-out.
    """

    failure: str
    margin: float = 0.0
    steps: int = 0
    widest: float = 0.0
    at: tuple[int, int] | None = None

    @property
    def proved(self) -> bool:
        """Whether every check passed."""
        return not self.failure


@dataclass(frozen=True, eq=False)
class Boxes:
    """The certificate: ``state`` [K], ``follower`` [K, A] (−1: the letter is not allowed), sides [K, D]."""

    state: Ints
    follower: Ints
    low: Floats
    high: Floats


class Cell(ABC):
    """A recurrent cell with its read-out, from the weights as stored; matrices are [in, out]."""

    gates = 0

    def __init__(self, tensors: Mapping[str, npt.NDArray[np.float32]], letters: int, states: int) -> None:
        w = {name: _weights(name, value) for name, value in tensors.items()}
        try:
            self.recurrent, self.inputs = w["weight_hh"], w["weight_ih"]
            self.embedded = w["wte"][:letters]
            self.head, self.head_bias = w["head.weight"][:, :states], w["head.bias"][:states]
            self.biases = [w[name] for name in self.bias_names]
        except KeyError as error:
            raise InvalidInput(f"the cell must have the weights {error}") from error
        self.hidden = int(self.recurrent.shape[0])
        width = self.gates * self.hidden
        self.embedding = int(self.inputs.shape[0])
        shapes = {
            "weight_hh": (self.recurrent, (self.hidden, width)),
            "weight_ih": (self.inputs, (self.embedding, width)),
            "wte": (self.embedded, (letters, self.embedding)),
            "head.weight": (self.head, (self.hidden, states)),
            "head.bias": (self.head_bias, (states,)),
            **{name: (bias, (width,)) for name, bias in zip(self.bias_names, self.biases, strict=True)},
        }
        for name, (value, shape) in shapes.items():
            if value.shape != shape:
                raise InvalidInput(f"{name} must have shape {shape}; got {value.shape}")

    bias_names: tuple[str, ...] = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """Numbers in the hidden state."""

    @abstractmethod
    def image(self, low: Floats, high: Floats, letter: int) -> Box:
        """Boxes that hold every float32 result of one step from the given boxes [N, D]."""

    def _recurrent_sums(self, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
        """Centre and radius of h·W over the boxes, and the sum of absolute terms."""
        h_low, h_high = low[:, : self.hidden], high[:, : self.hidden]
        weight = np.abs(self.recurrent)
        centre = (h_low + h_high) / 2 @ self.recurrent
        radius = (h_high - h_low) / 2 @ weight
        return centre, radius, np.maximum(np.abs(h_low), np.abs(h_high)) @ weight

    def _input_sums(self, letter: int, bias: Floats) -> tuple[Floats, Floats]:
        """The letter's part of the gates and its sum of absolute terms; the embedding itself is exact."""
        row = self.embedded[letter]
        return row @ self.inputs + bias, np.abs(row) @ np.abs(self.inputs) + np.abs(bias)


class LstmCell(Cell):
    """State (h, c); gates i, f, g, o: c' = σ(f)·c + σ(i)·tanh(g), h' = σ(o)·tanh(c')."""

    gates, bias_names = 4, ("bias",)

    @property
    def size(self) -> int:
        """Numbers in the hidden state."""
        return 2 * self.hidden

    def image(self, low: Floats, high: Floats, letter: int) -> Box:
        """See ``Cell.image``."""
        centre, radius, size = self._recurrent_sums(low, high)
        constant, terms = self._input_sums(letter, self.biases[0])
        error = _sum_error(self.hidden + self.embedding + 1, size + terms)
        sums = centre + constant - radius - error, centre + constant + radius + error
        i, f, g, o = zip(*(np.split(side, 4, axis=1) for side in sums), strict=True)
        kept = _times(_bent(f, _sigmoid), (low[:, self.hidden :], high[:, self.hidden :]))
        added = _times(_bent(i, _sigmoid), _bent(g, np.tanh))
        cell = _rounded(_plus(kept, added), 2, _size(kept) + _size(added))
        shown = _times(_bent(o, _sigmoid), _bent(cell, np.tanh))
        h = _rounded(shown, 1, _size(shown))
        return np.concatenate([h[0], cell[0]], 1), np.concatenate([h[1], cell[1]], 1)


class GruCell(Cell):
    """State h; gates r, z, n: n = tanh(x_n + σ(r)·h_n), h' = (1 − σ(z))·n + σ(z)·h."""

    gates, bias_names = 3, ("bias_ih", "bias_hh")

    @property
    def size(self) -> int:
        """Numbers in the hidden state."""
        return self.hidden

    def image(self, low: Floats, high: Floats, letter: int) -> Box:
        """See ``Cell.image``."""
        centre, radius, size = self._recurrent_sums(low, high)
        constant, terms = self._input_sums(letter, self.biases[0])
        centre, size, n = centre + self.biases[1], size + np.abs(self.biases[1]), 2 * self.hidden
        error = _sum_error(self.hidden + self.embedding + 2, size + terms)[:, :n]
        middle = centre[:, :n] + constant[:n]
        r, z = zip(
            *(
                np.split(side, 2, 1)
                for side in (middle - radius[:, :n] - error, middle + radius[:, :n] + error)
            ),
            strict=True,
        )
        error = radius[:, n:] + _sum_error(self.hidden + 1, size[:, n:])
        reset = _times(_bent(r, _sigmoid), (centre[:, n:] - error, centre[:, n:] + error))
        error = _sum_error(self.embedding + 1, terms[n:])
        fresh = _plus(reset, (constant[n:] - error, constant[n:] + error))
        fresh = _bent(_rounded(fresh, 2, _size(reset) + terms[n:]), np.tanh)
        z = _bent(z, _sigmoid)
        # Linear in z, rising in n and h where 0 ≤ z ≤ 1; a z outside by 8u moves it by 8u·|n − h|.
        share = np.clip(z[0], 0, 1), np.clip(z[1], 0, 1)
        ends = [[(1 - s) * fresh[side] + s * (low, high)[side] for s in share] for side in (0, 1)]
        mixed = np.minimum(*ends[0]), np.maximum(*ends[1])
        return _rounded(mixed, 12, _size(fresh) + _size((low, high)))


CELLS: dict[str, type[Cell]] = {"lstm": LstmCell, "gru": GruCell}


def margins(cell: Cell, low: Floats, high: Floats, state: Ints) -> Floats:
    """The least lead of the answer ``state`` [N] over every other, on each box, errors taken off."""
    low, high = low[:, : cell.hidden], high[:, : cell.hidden]
    middle, half, size = (low + high) / 2, (high - low) / 2, np.maximum(np.abs(low), np.abs(high))
    weight, bias = cell.head.T, cell.head_bias
    terms = size @ np.abs(cell.head) + np.abs(bias)
    error = _sum_error(cell.hidden + 1, terms)
    least = np.full(len(low), np.inf)
    for other in range(len(bias)):
        lead = weight[state] - weight[other]
        value = (middle * lead).sum(1) - (half * np.abs(lead)).sum(1) + bias[state] - bias[other]
        value -= error[np.arange(len(low)), state] + error[:, other]
        least = np.where(state == other, least, np.minimum(least, value))
    return least


def check(cell: Cell, boxes: Boxes, table: Ints, start: int, allowed: npt.NDArray[np.bool_]) -> BoxVerdict:
    """Whether the boxes prove the cell right on every word whose letters are allowed [state, letter]."""
    failure = _shape_failure(cell, boxes, table, start, allowed)
    if failure:
        return BoxVerdict(failure)
    state, follower, low, high = boxes.state, boxes.follower, boxes.low, boxes.high
    if not (np.all(low[0] <= 0) and np.all(high[0] >= 0)):
        return BoxVerdict("box 0 must hold the state before the first letter, all zeros")
    reached, steps = np.zeros(len(state), dtype=bool), 0
    for letter in range(table.shape[1]):
        source = np.flatnonzero(allowed[state, letter])
        target = follower[source, letter]
        image_low, image_high = cell.image(low[source], high[source], letter)
        inside = (image_low >= low[target]) & (image_high <= high[target])  # false where something is NaN
        if not inside.all():
            row, unit = np.argwhere(~inside)[0]
            return BoxVerdict(
                f"letter {letter} must map box {source[row]} into box {target[row]}; "
                f"coordinate {unit} leaves it",
                at=(int(source[row]), letter),
            )
        reached[target] = True
        steps += len(source)
    shown = np.flatnonzero(reached)
    leads = margins(cell, low[shown], high[shown], state[shown])
    if not (leads > 0).all():
        worst = int(shown[np.argmin(leads)])
        failure = f"the read-out must answer state {state[worst]} on all of box {worst}; it may not"
        return BoxVerdict(failure, at=(worst, -1))
    return BoxVerdict("", float(leads.min()) if steps else 0.0, steps, float((high - low).max()))


def _shape_failure(cell: Cell, boxes: Boxes, table: Ints, start: int, allowed: npt.NDArray[np.bool_]) -> str:
    """What is malformed in the certificate, before any number is looked at."""
    count, (states, letters) = len(boxes.state), table.shape
    if boxes.low.shape != (count, cell.size) or boxes.high.shape != boxes.low.shape or not count:
        return f"boxes must have {cell.size} sides each, and there must be one at least"
    if boxes.follower.shape != (count, letters) or allowed.shape != table.shape:
        return f"every box must name a follower for each of {letters} letters"
    if not (np.abs(boxes.low) <= LARGEST).all() or not (np.abs(boxes.high) <= LARGEST).all():
        return "sides of boxes must be numbers of moderate size"
    if not (boxes.low <= boxes.high).all():
        return "no box may be empty"
    if not ((boxes.state >= 0) & (boxes.state < states)).all() or boxes.state[0] != start:
        return "boxes must belong to states of the automaton, box 0 to its start"
    source, letter = np.nonzero(allowed[boxes.state])
    target = boxes.follower[source, letter]
    if not ((target >= 0) & (target < count)).all():
        return "every allowed letter must have a follower"
    if (boxes.state[target] != table[boxes.state[source], letter]).any():
        return "a follower must belong to the state that the automaton moves to"
    return ""


def _weights(name: str, value: npt.NDArray[np.float32]) -> Floats:
    if value.dtype != np.float32 or not np.all(np.abs(value) <= LARGEST):
        raise InvalidInput(f"{name} must hold float32 numbers of moderate size")
    return value.astype(np.float64)


def _sigmoid(x: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(0.5 * x))


def _sum_error(terms: int, size: Floats) -> Floats:
    """What float32 may add to a sum of so many products with this sum of absolute values."""
    count = (terms + 2) * UNIT
    return count / (1 - count) * size + TINY


def _bent(box: Box, function: Callable[[Floats], Floats]) -> Box:
    """A rising function of a box, as the library may compute it."""
    return function(box[0]) - 1.01 * ACTIVATION, function(box[1]) + 1.01 * ACTIVATION


def _times(a: Box, b: Box) -> Box:
    corners = [x * y for x in a for y in b]
    return np.minimum.reduce(corners), np.maximum.reduce(corners)


def _plus(a: Box, b: Box) -> Box:
    return a[0] + b[0], a[1] + b[1]


def _size(box: Box) -> Floats:
    return np.maximum(np.abs(box[0]), np.abs(box[1]))


def _rounded(box: Box, roundings: int, size: Floats) -> Box:
    """Wider by what that many roundings of numbers of this size may add."""
    error = _sum_error(roundings, size)
    return box[0] - error, box[1] + error
