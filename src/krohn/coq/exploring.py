"""Hints for Coq, which checks every one of them, on networks for words of every length.

Of recurrent weights these are the reachable states, numbered; of a trained LSTM the boxes of its own
certificate, grown a little, since Coq rounds images outwards.

The arithmetic is that of ``Recurrent.v``. Where nothing is rounded, the order of summation does not matter
and sums are computed in float64; otherwise from left to right, with one rounding per operation.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.recurrent.boxes import BoxCell, Boxes
from krohn.coq.stored import StoredNetwork, StoredRun
from krohn.errors import LimitExceeded

Floats = npt.NDArray[np.float32]
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
            right &= _leads(logits, target)
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


def _leads(logits: Floats, right: npt.NDArray[np.int64]) -> bool:
    others = logits.copy()
    rows = np.arange(len(logits))
    others[rows, right] = -np.inf
    return bool((logits[rows, right][:, None] > others).all())


class LayersOnStates:
    """The layers of ``Recurrent.v`` on many states at once."""

    def __init__(self, network: StoredNetwork, *, any_order: bool) -> None:
        self.network, self.any_order = network, any_order
        self.tensors = {tensor.name: tensor.floats() for tensor in network.tensors}

    def start(self) -> State:
        """One state, all zero."""
        kind = self.network.kind
        if kind[0] in ("DeltaProduct", "RankOneSteps"):
            _, heads, _, keys, values = kind
            shape: tuple[int | str, ...] = (1, heads, values, keys)
        else:
            shape = (1, 2, kind[1]) if kind[0] == "ComplexNumbers" else (1, kind[2])
        before = np.zeros((1, self.network.dim if self.network.looks_back else 0), np.float32)
        memory = np.zeros(tuple(map(int, shape)), np.float32)
        return (memory, before, before) * self.network.layers

    def step(self, state: State, letter: int) -> tuple[State, Floats]:
        """All states after a letter, and the logits there."""
        many = len(state[0])
        x = np.repeat(self.tensors["wte"][letter][None], many, axis=0)
        after: list[Floats] = []
        for i in range(self.network.layers):
            memory, before_mixer, before_mlp = state[3 * i : 3 * i + 3]
            prefix = f"h.{i}."
            read, memory = self._mix(prefix + "mix.", np.hstack([x, before_mixer]), memory)
            y = self._exact(x + self._linear(read, self.tensors[f"{prefix}mix.out"]))
            out = y
            if self.network.hidden:
                z = self._affine(np.hstack([y, before_mlp]), f"{prefix}mlp.in", f"{prefix}mlp.in_bias")
                bent = np.where(z < 0, np.float32(0), z)
                out = self._exact(y + self._linear(bent, self.tensors[f"{prefix}mlp.out"]))
            back = slice(None) if self.network.looks_back else slice(0)
            after += [memory, x[:, back], y[:, back]]
            x = out
        logits = self._affine(x, "head.weight", "head.bias")
        plain = [part + np.float32(0) for part in after] if self.any_order else after
        return tuple(plain), logits

    def _mix(self, prefix: str, x: Floats, memory: Floats) -> tuple[Floats, Floats]:
        if self.network.kind[0] in ("DeltaProduct", "RankOneSteps"):
            return self._delta(prefix, x, memory)
        z = self._affine(x, f"{prefix}gate.weight", f"{prefix}gate.bias")
        write = self._linear(x, self.tensors[f"{prefix}write"])
        if self.network.kind[0] == "Real":
            low = np.float32(-1 if self.network.kind[1] == "Signed" else 0)
            gates = self._saturate(z, low, np.float32((1 + low) / 2))
            h = self._exact(write + self._exact(gates * memory))
            return h, h
        a, b = np.split(z, 2, axis=1)
        wide = np.sqrt(np.maximum(self._exact(self._exact(a * a) + self._exact(b * b)), np.float32(1)))
        a, b, u, v = self._exact(a / wide), self._exact(b / wide), memory[:, 0], memory[:, 1]
        real = self._exact(self._exact(a * u) - self._exact(b * v))
        imaginary = self._exact(self._exact(a * v) + self._exact(b * u))
        after = self._exact(np.hstack([real, imaginary]) + write)
        return after, after.reshape(memory.shape)

    def _delta(self, prefix: str, x: Floats, memory: Floats) -> tuple[Floats, Floats]:
        kind, *sizes = self.network.kind
        heads, steps, keys, values = map(int, sizes)
        many = len(x)

        def part(name: str, *shape: int) -> Floats:
            return self._linear(x, self.tensors[prefix + name]).reshape(many, heads, *shape)

        raw, value, query = part("key", steps, keys), part("value", steps, values), part("query", keys)
        wide = np.sqrt(self._dot(raw, raw))
        key = self._exact(raw / np.maximum(wide, np.float32(1e-12))[..., None])
        name = "rate" if kind == "RankOneSteps" else "beta"
        z = self._affine(x, f"{prefix}{name}.weight", f"{prefix}{name}.bias")
        rate = np.float32(2) * self._saturate(z, np.float32(0), np.float32(0.5))
        if kind == "RankOneSteps":
            look = self._exact(rate.reshape(key.shape) * key)
        else:
            gate = self._affine(x, f"{prefix}gate.weight", f"{prefix}gate.bias")
            opened = self._saturate(gate, np.float32(0), np.float32(np.nan))
            memory = self._exact(opened[:, :, None, None] * memory)
        for s in range(steps):
            along = (look if kind == "RankOneSteps" else key)[:, :, s, None]
            missing = self._exact(value[:, :, s] - self._dot(along, memory))
            if kind != "RankOneSteps":
                missing = self._exact(rate.reshape(many, heads, steps)[:, :, s, None] * missing)
            change = self._exact(key[:, :, s, None] * missing[..., None])
            memory = self._exact(memory + change)
        return self._dot(query[:, :, None], memory).reshape(many, -1), memory

    def _saturate(self, z: Floats, low: np.float32, middle: np.float32) -> Floats:
        high = np.float32(1)
        result: Floats = np.where(z > FAR, high, np.where(z < -FAR, low, middle)).astype(np.float32)
        if ((np.abs(z) <= FAR) & (z != 0)).any() or np.isnan(result).any():
            raise LimitExceeded(
                "the kernel's proofs need gates that are saturated (beyond ±110) or at 0; "
                "this network has others"
            )
        return result

    def _affine(self, x: Floats, weight: str, bias: str) -> Floats:
        ones = np.ones((len(x), 1), np.float32)
        return self._linear(np.hstack([x, ones]), np.vstack([self.tensors[weight], self.tensors[bias]]))

    def _linear(self, x: Floats, weight: Floats) -> Floats:
        if self.any_order:
            wide, sizes = x.astype(np.float64), weight.astype(np.float64)
            if (np.abs(wide) @ np.abs(sizes) > MOST).any():
                raise Rounds
            self._exact(weight)
            return self._exact(wide @ sizes)
        total: Floats = x[:, :1] * weight[0]
        for i in range(1, len(weight)):
            total = total + x[:, i : i + 1] * weight[i]
        return total

    def _dot(self, x: Floats, y: Floats) -> Floats:
        """Sums of products over the last axis."""
        if self.any_order:
            terms = x.astype(np.float64) * y
            if (np.abs(terms).sum(axis=-1) > MOST).any():
                raise Rounds
            return self._exact(terms.sum(axis=-1))
        total: Floats = x[..., 0] * y[..., 0]
        for i in range(1, x.shape[-1]):
            total = total + x[..., i] * y[..., i]
        return total

    def _exact(self, numbers: npt.NDArray[Any]) -> Floats:
        """In any order: raises ``Rounds`` unless all are multiples of 2⁻⁸ of at most 24 bits."""
        if self.any_order:
            wide = numbers.astype(np.float64) * GRAIN
            if (wide != np.rint(wide)).any() or (np.abs(wide) > MOST * GRAIN).any():
                raise Rounds
        return numbers.astype(np.float32)


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
