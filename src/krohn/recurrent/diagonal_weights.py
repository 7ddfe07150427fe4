"""Diagonal layers that track an automaton whose groups are solvable: a layer for each section of each level.

A level of the cascade (``counted_levels``) is the tile of the last reset, a number p with its square p² that
a reset writes, and counters, the sections of the derived series; each counter is one number that a letter
multiplies by a root of unity, and that the first letter sets to 1. Layers lag by a letter
(``stack_weights``). Signs and quarter turns are exact; other roots are rounded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np

from krohn.algebra.solvable import CounterTower, counter_tower
from krohn.automata.semiautomaton import Semiautomaton
from krohn.budget import UNITS, Budget
from krohn.cascade.holonomy import holonomy_cascade
from krohn.check.stacks import DiagonalStack
from krohn.errors import Unsupported
from krohn.recurrent.counted_levels import Counted, Residues
from krohn.recurrent.stack_weights import Action, Array, Code, Value, stack_weights


def diagonal(automaton: Semiautomaton) -> DiagonalStack:
    """Gates 0 and 1 if there are no groups, signs if all counters are modulo 2, else complex."""
    counted = Counted(holonomy_cascade(automaton, budget=Budget(UNITS)), _tower)
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
        both = {"gate.weight": self._split(gate), "write": self._split(write)}
        closed = -128.0 if self.gate == "unit" else 0.0  # before the first letter nothing is kept
        return {**both, "gate.bias": np.full(self._parts * self.width, closed)}

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
        counters = np.arange(self.width)[None] - self._numbers
        chosen = (counters >= 0) & (counters < len(self.moduli))
        return np.asarray(self._split(chosen.astype(np.complex128))[0])

    def out(self) -> Array:
        """See ``Code``."""
        matrix = np.zeros((self._parts * self.width, self.reads))
        for channel in range(self._numbers + len(self.moduli)):
            if channel < self._numbers:
                matrix[channel, channel] = 1
                continue
            first = self._numbers + self._parts * (channel - self._numbers)
            for part in range(self._parts):
                matrix[part * self.width + channel, first + part] = 1
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
