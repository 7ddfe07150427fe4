"""Explicit weights of recurrent networks that track an automaton on words of every length.

Diagonal layers that track an automaton whose groups are solvable: a layer for each section of each level. A
level of the cascade (``CountingMachine``) is the tile of the last reset, a number p with its square p² that a
reset writes, and counters, the sections of the derived series; each counter is one number that a letter
multiplies by a root of unity, and that the first letter sets to 1. Layers lag by a letter
(``stack_weights``). Signs and quarter turns are exact; other roots are rounded.

Rank-one steps that track any automaton in one layer: each letter as swaps and merges of two states. States
have the doubled code of ``delta_weights``. With the key k = (code of i − code of j)/2 and rates 2 a step
swaps i and j; with rates 2 at j and 0 at i it sends j to i and leaves the rest. All numbers are dyadic.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np

from krohn.algebra.counters import CounterTower, counter_tower
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import UNITS, Budget
from krohn.cascade.holonomy import holonomy_cascade
from krohn.check.recurrent.cells import Cell, GruCell, LstmCell, Tensors
from krohn.check.recurrent.stacks import DiagonalStack, RankOneStack
from krohn.errors import Unsupported
from krohn.recurrent.delta_weights import WIDE, DeltaCode, deltaproduct
from krohn.recurrent.one_step import deltanet
from krohn.recurrent.small_action import swaps_and_merges
from krohn.recurrent.stack_weights import (
    Action,
    Array,
    Code,
    CountingMachine,
    LayeredMachine,
    Residues,
    Value,
    Values,
    check_size,
    stack_weights,
)


def diagonal(automaton: Semiautomaton) -> DiagonalStack:
    """Gates 0 and 1 if there are no groups, signs if all counters are modulo 2, else complex."""
    counted = CountingMachine(holonomy_cascade(automaton, budget=Budget(UNITS)), _tower)
    if not counted.layers:
        raise Unsupported(
            "diagonal layers hold a state; an automaton with one has nothing to hold: choose deltaproduct, "
            "rankone, lstm or gru"
        )
    moduli = {m for _, counters in counted.layers for m in counters}
    gate = "unit" if not moduli else "signed" if moduli == {2} else "complex"
    width = max(2 * (start is not None) + len(counters) for start, counters in counted.layers)
    codes = [DiagonalCode(gate, start, counters, width) for start, counters in counted.layers]
    return DiagonalStack(stack_weights(counted.machine, codes), gate=gate)


def _tower(moves: list[tuple[int, ...]], size: int) -> CounterTower:
    try:
        return counter_tower(moves, size)
    except Unsupported as error:
        raise Unsupported(
            f"diagonal layers need solvable groups; {error}: choose deltaproduct, rankone, lstm or gru"
        ) from error


@dataclass(frozen=True)
class DiagonalCode(Code):
    """Channels of one layer: a number and its square if it holds a tile, then one for each counter."""

    gate: str
    start: int | None
    moduli: Residues
    width: int

    @property
    def _numbers(self) -> int:
        return 0 if self.start is None else 2

    @property
    def _parts(self) -> int:
        return 2 if self.gate == "complex" else 1

    @property
    def reads(self) -> int:
        """See ``Code``: the number and its square, then the parts of each counter."""
        return self._numbers + self._parts * len(self.moduli)

    def test(self, value: Value) -> tuple[Array, float]:
        """See ``Code``: 1 − (p − v)², and the cosine between x and ω^v, scaled to 1 and at most 0."""
        tile, residues = value
        weights, bias = [], 1.0 - len(residues) - (self.start is not None)
        if self.start is not None:
            weights += [2.0 * tile, -1.0]
            bias += 1.0 - (self.start - tile) ** 2
        for residue, modulus in zip(residues, self.moduli, strict=True):
            root, next_cosine = root_of_unity(residue, modulus), root_of_unity(1, modulus).real
            scale = 1 / (1 - next_cosine)
            weights += [root.real * scale, root.imag * scale][: self._parts]
            bias -= next_cosine * scale
        return np.array(weights), bias

    def mixer(self, actions: Sequence[Action], channels: Sequence[int], inputs: int) -> dict[str, Array]:
        """See ``Code``."""
        gate, write = np.zeros((2, inputs, self.width), dtype=np.complex128)
        for channel, action in zip(channels, actions, strict=True):
            factors, summands = self._change(action)
            gate[channel, : len(factors)] = [_INPUT[self.gate](factor) for factor in factors]
            write[channel, : len(summands)] = summands
        closed = -128.0 if self.gate == "unit" else 0.0  # before the first letter nothing is kept
        bias = np.full(self._parts * self.width, closed)
        return {"gate.weight": self._split(gate), "write": self._split(write), "gate.bias": bias}

    def _change(self, action: Action) -> tuple[list[complex], list[complex]]:
        """a and b of every channel."""
        if action[0] == "add":
            factors = [root_of_unity(e, m) for e, m in zip(action[1], self.moduli, strict=True)]
            return [1.0] * self._numbers + factors, []
        _, tile, residues = action
        numbers = [] if self.start is None else [tile - self.start, tile**2 - self.start**2]
        turned = [root_of_unity(r, m) for r, m in zip(residues, self.moduli, strict=True)]
        return [0.0] * (self._numbers + len(turned)), [*numbers, *turned]

    def first(self) -> Array:
        """See ``Code``: the counters are 1."""
        chosen = np.zeros((1, self.width), dtype=np.complex128)
        chosen[:, self._numbers :][:, : len(self.moduli)] = 1
        return np.asarray(self._split(chosen)[0])

    def out(self) -> Array:
        """See ``Code``."""
        matrix = np.zeros((self._parts * self.width, self.reads))
        numbers = range(self._numbers)
        matrix[numbers, numbers] = 1
        for counter in range(len(self.moduli)):
            for part in range(self._parts):
                channel = part * self.width + self._numbers + counter
                matrix[channel, self._numbers + self._parts * counter + part] = 1
        return matrix

    def _split(self, numbers: np.ndarray) -> Array:
        return np.concatenate([numbers.real, numbers.imag], axis=1) if self._parts == 2 else numbers.real


def root_of_unity(exponent: int, modulus: int) -> complex:
    """A root of unity; quarter turns are exact."""
    quarters, rest = divmod(4 * (exponent % modulus), modulus)
    if rest == 0:
        return (1, 1j, -1, -1j)[quarters]
    angle = 2 * pi * exponent / modulus
    return complex(cos(angle), sin(angle))


_INPUT: dict[str, Callable[[complex], complex]] = {
    "unit": lambda factor: 256.0 * factor,
    "signed": lambda factor: 128.0 * factor,
    "complex": lambda factor: 2.0 * factor,  # rescaled onto the circle: its length does not matter
}


HEADS = 2  # one query reads the place p, the other p²


@dataclass(frozen=True)
class RankOneCode(DeltaCode):
    """One column that follows the state; an action is a letter's map."""

    def mixer(self, actions: Sequence[Action], channels: Sequence[int], inputs: int) -> dict[str, Array]:
        """See ``Code``."""
        width = 2 * self.points
        query = np.zeros((inputs, HEADS, width))
        key, rate = np.zeros((2, inputs, HEADS, self.steps, width))
        value = np.zeros((inputs, HEADS, self.steps, 1))
        code, places = np.repeat(np.eye(self.points), 2, axis=1), np.repeat(np.arange(self.points), 2) / 2
        start = code[self.columns[0]]
        for channel, images in zip(channels, actions, strict=True):
            query[channel] = places, 2 * places**2
            for s, (kind, i, j) in enumerate(swaps_and_merges(images)):
                key[channel, :, s] = (code[i] - code[j]) / 2
                rate[channel, :, s] = WIDE * (code[j] + (1 if kind == "swap" else -1) * code[i])
                look = 2 * (rate[channel, 0, s] > 0) * key[channel, 0, s]
                value[channel, :, s] = -look @ start
        flat = {"query": query, "key": key, "value": value, "rate.weight": rate}
        bias = {"rate.bias": np.zeros(HEADS * self.steps * width)}
        return {name: array.reshape(inputs, -1) for name, array in flat.items()} | bias


def rankone(automaton: Semiautomaton) -> RankOneStack:
    """One layer; as many steps as the most expensive letter needs, n minus the components of its graph."""
    steps = max(1, *(len(swaps_and_merges(letter)) for letter in automaton.letters))
    check_size(4 * automaton.num_letters * steps * 2 * automaton.num_states * (automaton.num_letters + 2))

    def step(values: Values, letter: int) -> tuple[tuple[Action, ...], Values]:
        images = automaton.letters[letter]
        return (images,), ((images[values[0][0]],),)

    machine = LayeredMachine(automaton, ((automaton.start,),), step, lambda values: values[0][0])
    code = RankOneCode(automaton.num_states, (automaton.start,), steps)
    return RankOneStack(stack_weights(machine, [code]))


GAIN = 512.0
"""Slope of the gates: half of it saturates a sigmoid in float32."""


def lstm(automaton: Semiautomaton) -> LstmCell:
    """Units (p, a), "was in p and read a", and one unit "started"; each is an AND, by its input gate.

    Forget gate 0, output gate and candidate 1: a unit that is on holds tanh 1, one that is off 0.
    """
    comes, starts, letters = _conditions(automaton)
    units = len(comes) + 1
    check_size(units * 4 * units)
    high = np.float64(np.float32(math.tanh(1.0)))
    # Two conditions, "was in p" and "read a", each 0 or 1: their sum less 1.5 is 0.5 if both hold, else at
    # most −0.5, and half of GAIN saturates the gate. The unit "started" ends the start's condition for good.
    recurrent = np.zeros((units, 4 * units))
    recurrent[:-1, : units - 1] = comes.T * GAIN / high
    recurrent[-1, : units - 1] = -starts * GAIN / high
    bias = np.repeat([0.0, -GAIN, GAIN, GAIN], units)
    bias[: units - 1] = (starts - 1.5) * GAIN
    bias[units - 1] = GAIN / 2
    inward = np.zeros((automaton.num_letters, 4 * units))
    inward[:, : units - 1] = letters * GAIN
    head = _targets(automaton)
    tensors = {"weight_ih": inward, "weight_hh": recurrent, "bias": bias}
    return LstmCell(_around(tensors, head, np.zeros(automaton.num_states)))


def gru(automaton: Semiautomaton) -> GruCell:
    """The same units, ±1 by the candidate; update gate 0, reset gate 1. At the start all units are 0."""
    comes, starts, letters = _conditions(automaton)
    units = len(comes) + 1
    check_size(units * 3 * units)
    # The same sum with (x + 1)/2 in place of x, for units of ±1. At the start all are 0, not −1: the halves
    # come with the unit "started".
    first = slice(2 * units, 3 * units - 1)
    recurrent = np.zeros((units, 3 * units))
    recurrent[:-1, first] = comes.T * GAIN / 2
    sources = comes.sum(axis=1)
    recurrent[-1, first] = -(starts - sources / 2) * GAIN
    bias = np.repeat([GAIN, -GAIN, 0.0], units)
    bias[first] = (sources / 2 + (starts - sources / 2) - 1.5) * GAIN
    bias[-1] = GAIN
    inward = np.zeros((automaton.num_letters, 3 * units))
    inward[:, first] = letters * GAIN
    targets = _targets(automaton) / 2
    tensors = {"weight_ih": inward, "weight_hh": recurrent, "bias_ih": bias, "bias_hh": np.zeros(3 * units)}
    return GruCell(_around(tensors, targets, targets.sum(axis=0)))


def _conditions(automaton: Semiautomaton) -> tuple[Array, Array, Array]:
    """For each unit (p, a): which units lead to p; whether p is the start; whether a is each letter."""
    table, n, k = automaton.table, automaton.num_states, automaton.num_letters
    p, a = np.divmod(np.arange(n * k), k)
    comes, letters = table.reshape(-1)[None, :] == p[:, None], a[None] == np.arange(k)[:, None]
    return comes.astype(np.float64), (p == automaton.start).astype(np.float64), letters.astype(np.float64)


def _targets(automaton: Semiautomaton) -> Array:
    """For each unit (p, a) where it leads; for "started" nothing."""
    rows = np.eye(automaton.num_states)[automaton.table.reshape(-1)]
    return np.vstack([rows, np.zeros(automaton.num_states)])


def _around(tensors: dict[str, Array], head: Array, bias: Array) -> Tensors:
    """All tensors of a cell: its own between the embedding of letters and the read-out."""
    whole = {"wte": np.eye(len(tensors["weight_ih"])), **tensors, "head.weight": head, "head.bias": bias}
    return {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in whole.items()}


WEIGHTS: dict[str, Callable[[Semiautomaton], Cell]] = {
    "deltaproduct": deltaproduct,
    "deltanet": deltanet,
    "diagonal": diagonal,
    "rankone": rankone,
    "lstm": lstm,
    "gru": gru,
}
