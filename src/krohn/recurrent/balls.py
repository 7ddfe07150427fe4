"""Diagonal stacks on balls: a middle, and a radius that bounds what rounding in any order can do to it.

The radius of each number is a convex function of the radii that went in, as long as no unit and no gate is
near its bend; where one is, ``TooWide`` is raised. What no type rounds (sums of small multiples of one power
of two, quarter turns) keeps the radius 0.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.recurrent.cells import SATURATED, Floats, grain_of
from krohn.recurrent.closure import BITS
from krohn.recurrent.linear_cells import DiagonalStack

Wide = npt.NDArray[np.float64]
UNIT = 2.0**-24
"""Of float32, in which the memories are kept."""
TINY = 1e-37
"""More than what underflow can do."""
SLACK = 1 + 1e-6
"""For the float64 in which radii are computed."""


class TooWide(Exception):
    """A ball that does not tell on which side of a bend it lies."""


@dataclass(frozen=True)
class Ball:
    """Numbers, real or complex, each known up to its radius."""

    middle: npt.NDArray[Any]
    radius: Wide

    def top(self) -> Wide:
        """The greatest radius of each channel."""
        return np.asarray(self.radius.max(axis=0))


Carried = list[tuple[Ball, Ball, Ball]]
"""Of each block: its memory, and the stream before its mixer and before its MLP, all [N, ...]."""


class DiagonalBalls:
    """A diagonal stack on balls, in a type: the memories are float32, the rest is of the type."""

    def __init__(self, cell: DiagonalStack, dtype: str) -> None:
        self.cell, self.dtype = cell, dtype
        given = {
            name: _bfloat16(array) if dtype == "bfloat16" else array for name, array in cell.tensors.items()
        }
        self.tensors: dict[str, Wide] = {name: array.astype(np.float64) for name, array in given.items()}

    def start(self) -> Carried:
        """One row of zeros."""
        cell = self.cell
        numbers = np.zeros((1, cell.memory // 2), np.complex128) if cell.gate == "complex" else None
        memory = Ball(np.zeros((1, cell.memory)), np.zeros((1, cell.memory)))
        if numbers is not None:
            memory = Ball(numbers, np.zeros(numbers.shape))
        near = Ball(np.zeros((1, cell.dim)), np.zeros((1, cell.dim)))
        return [(memory, near, near)] * cell.layers

    def step(self, states: Carried, letter: int) -> tuple[Carried, Ball]:
        """What is carried after a letter, and the logits."""
        row = np.repeat(self.tensors["wte"][letter : letter + 1], len(states[0][1].middle), axis=0)
        x, after = Ball(row, np.zeros(row.shape)), []
        for i, (memory, before_mixer, before_mlp) in enumerate(states):
            near = x
            memory, read = self.mix(f"h.{i}.mix.", self.window(x, before_mixer), memory)
            x = self.plus(x, self.affine(read, f"h.{i}.mix.out"))
            after.append((memory, near, x))
            if self.cell.mlp:
                window = self.window(x, before_mlp)
                bent = _relu(self.affine(window, f"h.{i}.mlp.in", f"h.{i}.mlp.in_bias"))
                x = self.plus(x, self.affine(bent, f"h.{i}.mlp.out"))
        return after, self.affine(x, "head.weight", "head.bias")

    def window(self, x: Ball, before: Ball) -> Ball:
        """The stream here and one letter before."""
        if self.cell.conv == 1:
            return x
        return Ball(np.hstack([x.middle, before.middle]), np.hstack([x.radius, before.radius]))

    def affine(self, x: Ball, weight: str, bias: str | None = None) -> Ball:
        """x W + b, added in any order: in float32, and rounded to the type at most twice."""
        w, b = self.tensors[weight], self.tensors[bias] if bias else np.zeros(1)
        most, there = np.abs(x.middle) + x.radius, (w != 0).astype(np.float64)
        size = most @ np.abs(w) + np.abs(b)
        sure = np.where(x.radius == 0, x.middle, 0.0)
        grain = np.minimum(grain_of(sure, 1)[:, None] * grain_of(w, 0), grain_of(b[None], 0))
        exact = ((x.radius > 0).astype(np.float64) @ there == 0) & (size <= grain * 2.0 ** BITS[self.dtype])
        terms = (most > 0).astype(np.float64) @ there + (b != 0)
        lost = np.where(exact, 0.0, terms * UNIT if self.dtype == "float32" else 2.0**-6)
        radius = x.radius @ np.abs(w) + lost * size
        return Ball(x.middle @ w + b, radius * SLACK + np.where(exact, 0.0, TINY))

    def plus(self, x: Ball, y: Ball) -> Ball:
        """x + y, rounded; where both are exact multiples of a grain that they share, nothing is."""
        unit = UNIT if self.dtype == "float32" else 2.0**-8
        middle, radius = x.middle + y.middle, x.radius + y.radius
        exact = (radius == 0) & (np.abs(middle) <= grain_of(middle[..., None], -1) * 2.0 ** BITS[self.dtype])
        lost = np.where(exact, 0.0, unit * (np.abs(middle) + radius) + TINY)
        return Ball(middle, radius * SLACK + lost)

    def mix(self, prefix: str, window: Ball, memory: Ball) -> tuple[Ball, Ball]:
        """The memory a·h + b, and the real numbers that are read from it."""
        gate = self.gates(self.affine(window, f"{prefix}gate.weight", f"{prefix}gate.bias"))
        write = self.numbers(self.affine(window, f"{prefix}write"))
        size, length = np.abs(gate.middle), np.abs(memory.middle)
        radius = size * memory.radius + (length + memory.radius) * gate.radius
        alone = (np.abs(write.middle) + write.radius == 0) | (length + memory.radius == 0) | (size == 0)
        turned = (gate.radius == 0) & ((size == 0) | (size == 1)) & alone  # by 0, ±1 or ±i: exact
        most = (size + gate.radius) * (length + memory.radius) + np.abs(write.middle) + write.radius
        after = Ball(
            gate.middle * memory.middle + write.middle,
            (radius + write.radius + np.where(turned, 0.0, 6 * UNIT * most + TINY)) * (1 + 1e-12),
        )
        if self.cell.gate != "complex":
            return after, self.plus(after, _nothing(after.middle))
        parts = np.hstack([after.middle.real, after.middle.imag])
        read = Ball(parts, np.hstack([after.radius, after.radius]))
        return after, self.plus(read, _nothing(parts))

    def numbers(self, parts: Ball) -> Ball:
        """Complex numbers from their parts, if the gates are complex."""
        if self.cell.gate != "complex":
            return parts
        (real, imaginary), (one, other) = (np.split(side, 2, axis=1) for side in (parts.middle, parts.radius))
        return Ball(real + 1j * imaginary, np.hypot(one, other))

    def gates(self, parts: Ball) -> Ball:
        """Gates from their inputs. z / max(1, |z|) moves by at most r / (|z| − r), and by r inside.

        On an axis √(x² + 0) is |x| in every float type with correct rounding: quarter turns are exact.
        """
        z = self.numbers(parts)
        if self.cell.gate == "complex":
            none = np.stack(np.split((parts.middle == 0) & (parts.radius == 0), 2, axis=1))
            sure = np.stack(np.split(np.abs(parts.middle) - parts.radius >= 1, 2, axis=1))
            quarter = none.all(axis=0) | (none & sure[::-1]).any(axis=0)
            if (none.any(axis=0) & ~quarter & (np.abs(z.middle) >= 1)).any():
                raise TooWide
            size = np.abs(z.middle)
            least = np.maximum(1.0, size - z.radius)
            turned = z.middle / np.maximum(1.0, size)
            return Ball(turned, np.where(quarter, 0.0, z.radius / least + 8 * UNIT))
        steep = np.abs(z.middle) >= SATURATED + 1
        if (z.radius[steep] > 1).any():
            raise TooWide
        value = np.tanh(z.middle) if self.cell.gate == "signed" else 0.5 * (1 + np.tanh(z.middle / 2))
        still = steep | ((z.middle == 0) & (z.radius == 0))
        return Ball(np.where(steep, np.rint(value), value), np.where(still, 0.0, z.radius + 8 * UNIT))


def _nothing(like: npt.NDArray[Any]) -> Ball:
    return Ball(np.zeros(like.shape), np.zeros(like.shape))


def _relu(x: Ball) -> Ball:
    """Each unit must be off all over its ball, or on in the middle; then its radius is linear."""
    on = x.middle > 0
    if (~on & (x.middle + x.radius > 0)).any():
        raise TooWide
    return Ball(np.where(on, x.middle, 0.0), np.where(on, x.radius, 0.0))


def _bfloat16(array: Floats) -> Floats:
    bits = array.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.ascontiguousarray(rounded.astype(np.uint32)).view(np.float32)
