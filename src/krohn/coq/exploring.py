"""Hints for Coq, which checks every one of them, on networks for words of every length.

Of recurrent weights these are the reachable states, numbered; of a trained LSTM the boxes of its own
certificate, grown a little, since Coq rounds images outwards.

The layers are the checker's cells in the arithmetic of ``Recurrent.v``. Where nothing is rounded, the order
of summation does not matter and sums are computed in float64; otherwise from left to right, with one rounding
per operation.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.arithmetic.format import FORMATS
from krohn.check.arithmetic.real import Array, Real
from krohn.check.recurrent.boxes import BoxCell, Boxes
from krohn.check.recurrent.closure import leads
from krohn.coq.stored import StoredNetwork, StoredRun
from krohn.errors import LimitExceeded
from krohn.recurrent.recurrent_network import PlainSums

Floats = npt.NDArray[Any]
State = tuple[Floats, ...]
"""For each block: memory, the stream before the mixer and before the MLP one letter ago; each [many, …]."""
MAX_PAIRS = 3_000
GRAIN = np.float64(256)
MOST = np.float64(2**16)
FAR = np.float32(110)


class Rounds(Exception):
    """A sum is rounded, so the order of summation matters."""


@dataclass(frozen=True)
class Exploration:
    """``hints[p][a]``: the number of the pair that letter a leads to from pair p, in the order of discovery.

    ``right`` says whether the right logit led everywhere.
    """

    any_order: bool
    hints: tuple[tuple[int, ...], ...]
    right: bool


def explore(network: StoredNetwork, limit: int = MAX_PAIRS) -> Exploration:
    """All reachable pairs of a state of the network and a state of the automaton."""
    with np.errstate(all="ignore"):
        try:
            return _explore(network, limit, any_order=True)
        except Rounds:
            return _explore(network, limit, any_order=False)


def _explore(network: StoredNetwork, limit: int, *, any_order: bool) -> Exploration:
    layers, automaton = LayersOnStates(network, any_order=any_order), network.automaton
    state, truth = layers.start(), np.array([automaton.start])
    numbers = {_keys(state, truth)[0]: 0}
    hints: list[tuple[int, ...]] = []
    right = True
    while len(truth):
        rows, parts = [], []
        for letter in range(automaton.num_letters):
            after, logits = layers.step(state, letter)
            target = automaton.table[truth, letter]
            right &= bool((leads(Real(logits, logits), target) > 0).all())
            rows.append(_keys(after, target))
            parts.append((after, target))
        fresh: list[tuple[int, int]] = []
        for place in range(len(truth)):
            row = []
            for letter, keys in enumerate(rows):
                if keys[place] not in numbers:
                    numbers[keys[place]] = len(numbers)
                    fresh.append((letter, place))
                row.append(numbers[keys[place]])
            hints.append(tuple(row))
        if len(numbers) > limit:
            raise LimitExceeded(
                f"Coq is given at most {limit:,} states of a network; words reach more: "
                "rounding adds up, or the network is too large for this proof"
            )
        truth = np.array([parts[letter][1][place] for letter, place in fresh], dtype=np.int64)
        state = tuple(
            np.array([parts[letter][0][i][place] for letter, place in fresh], dtype=np.float32)
            for i in range(len(state))
        )
    return Exploration(any_order, tuple(hints), right)


def _keys(state: State, truth: npt.NDArray[np.int64]) -> list[bytes]:
    flat = np.concatenate([part.reshape(len(truth), -1) for part in state], axis=1)
    return [row.tobytes() + int(q).to_bytes(4, "little") for row, q in zip(flat, truth, strict=True)]


@dataclass(frozen=True)
class KernelSums(PlainSums):
    """The arithmetic of ``Recurrent.v``: sums of which nothing is rounded, or sums from left to right."""

    any_order: bool = True

    def product(self, x: Real, weight: Array, bias: Array | None = None) -> Real:
        """See ``Sums``: a bias is the last row of its matrix."""
        rows, matrix = x.lo, weight
        if bias is not None:
            rows, matrix = np.hstack([rows, np.ones((len(rows), 1), np.float32)]), np.vstack([weight, bias])
        if not self.any_order:
            return _from_left(rows[:, i : i + 1] * row for i, row in enumerate(matrix))
        wide, sizes = rows.astype(np.float64), matrix.astype(np.float64)
        _exact(sizes)
        return _exact(wide @ sizes, np.abs(wide) @ np.abs(sizes))

    def dot(self, x: Real, y: Real, axis: int) -> Real:
        """See ``Sums``."""
        left, right = np.broadcast_arrays(x.lo.astype(np.float32), y.lo.astype(np.float32))
        if not self.any_order:
            return _from_left(np.moveaxis(left * right, axis, 0))
        terms = _exact(left).lo.astype(np.float64) * _exact(right).lo
        return _exact(terms.sum(axis=axis), np.abs(terms).sum(axis=axis))

    def plus(self, x: Real, y: Real) -> Real:
        """See ``Sums``."""
        return _exact(x.lo.astype(np.float64) + y.lo) if self.any_order else super().plus(x, y)

    def sigmoid(self, x: Real) -> Real:
        """See ``Sums``."""
        return _saturated(x, 0.0, 0.5)

    def gate(self, x: Real) -> Real:
        """See ``Sums``: it need not be 1/2 at 0."""
        return _saturated(x, 0.0, np.nan)

    def tanh(self, x: Real) -> Real:
        """See ``Sums``."""
        return _saturated(x, -1.0, 0.0)


def _from_left(terms: Iterable[Floats]) -> Real:
    total: Floats = reduce(np.add, terms)
    return Real(total, total)


def _exact(numbers: npt.NDArray[Any], size: npt.NDArray[Any] | float = 0.0) -> Real:
    """Raises ``Rounds`` unless all are multiples of 2⁻⁸ of at most 24 bits, and ``size`` is no larger."""
    wide = numbers.astype(np.float64) * GRAIN
    if (wide != np.rint(wide)).any() or (np.maximum(np.abs(wide), size * GRAIN) > MOST * GRAIN).any():
        raise Rounds
    made: Floats = numbers.astype(np.float32)
    return Real(made, made)


def _saturated(x: Real, low: float, middle: float) -> Real:
    z = x.lo
    made: Floats = np.where(z > FAR, 1.0, np.where(z < -FAR, low, middle)).astype(np.float32)
    if ((np.abs(z) <= FAR) & (z != 0)).any() or np.isnan(made).any():
        raise LimitExceeded(
            "the kernel's proofs need gates that are saturated (beyond ±110) or at 0; this network has others"
        )
    return Real(made, made)


class LayersOnStates:
    """The layers of ``Recurrent.v`` on many states at once."""

    def __init__(self, network: StoredNetwork, *, any_order: bool) -> None:
        self.cell, self.sums = network.cell, KernelSums(FORMATS["float32"], any_order=any_order)
        self.tensors: dict[str, Floats] = {tensor.name: tensor.floats() for tensor in network.tensors}
        self.parts = [self.cell.parts(self.tensors, i) for i in range(self.cell.layers)]
        self.back = slice(None) if self.cell.conv == 2 else slice(0)

    def start(self) -> State:
        """One state, all zero."""
        memory, stream = (np.zeros((1, size), np.float32) for size in (self.cell.memory, self.cell.dim))
        return (memory, stream[:, self.back], stream[:, self.back]) * self.cell.layers

    def step(self, state: State, letter: int) -> tuple[State, Floats]:
        """All states after a letter, and the logits there."""
        row: Floats = np.repeat(self.tensors["wte"][letter][None], len(state[0]), axis=0)
        x, after = Real(row, row), list[Floats]()
        for i, w in enumerate(self.parts):
            memory, *before = (Real(part, part) for part in state[3 * i : 3 * i + 3])
            mix = partial(self.cell.mix, self.sums, f"h.{i}")
            memory, near, near_mlp, x = self.cell.block(self.sums, mix, w, x, memory, before)
            after += [memory.lo, near.lo[:, self.back], near_mlp.lo[:, self.back]]
        logits = self.sums.product(x, self.tensors["head.weight"], self.tensors["head.bias"]).lo
        # In any order the sign of 0 is nothing; Coq tells it apart in one.
        return tuple(part + np.float32(0) for part in after) if self.sums.any_order else tuple(after), logits


ROOM = 2e-6
"""How far images must stay inside of boxes, since Coq rounds them outwards."""
MOST_ROUNDS = 200


def grow(run: StoredRun) -> tuple[Boxes, bool]:
    """Boxes with some room around each image, and whether they have it."""
    boxes, cell = run.boxes, BoxCell(run.cell, "float32")
    low, high = boxes.low.copy(), boxes.high.copy()
    for _ in range(MOST_ROUNDS):
        least, most = low.copy(), high.copy()
        for letter in range(run.automaton.num_letters):
            image = cell.image(low, high, letter)
            np.minimum.at(least, boxes.follower[:, letter], image[0] - ROOM)
            np.maximum.at(most, boxes.follower[:, letter], image[1] + ROOM)
        if (least == low).all() and (most == high).all():
            return Boxes(boxes.state, boxes.follower, low, high), True
        low, high = least - ROOM * (least < low), most + ROOM * (most > high)
    return Boxes(boxes.state, boxes.follower, low, high), False
