"""A network to be mutated: its tensors by name, its automaton, and a random generator."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton

Array = npt.NDArray[Any]
EXTREME = {"float64": (800, 1074), "float32": (90, 149), "bfloat16": (90, 140), "float16": (8, 26)}
"""Exponents of two at which numbers of a dtype begin to vanish or to become infinite."""


@dataclass
class Subject:
    """A network to be mutated: its tensors, its automaton, and a random generator."""

    tensors: dict[str, Array]
    shape: list[list[int]]
    automaton: Semiautomaton
    length: int
    dtype: str
    dice: np.random.Generator

    @property
    def tau(self) -> int:
        return len(self.tensors["padding"])

    @property
    def layers(self) -> int:
        return len(self.shape)

    def some(self, items: Any) -> Any:
        items = list(items)
        return items[int(self.dice.integers(len(items)))]

    def power(self, *, extreme: bool) -> float:
        """A power of two, matched by its inverse elsewhere."""
        low, high = EXTREME[self.dtype] if extreme else (1, 6)
        exponent = int(self.dice.integers(low, high)) * self.some((-1, 1))
        return float(2.0 ** min(exponent, 1023))

    def head(self) -> str:
        result = [f"layers.{n}.heads.{h}" for n, (heads, _) in enumerate(self.shape) for h in range(heads)]
        return str(self.some(result))

    def size(self) -> float:
        return float(10.0 ** self.dice.uniform(-9, 1) * self.some((-1, 1)))

    def late(self) -> int:
        """From letter 30 on, or the last quarter of a shorter word."""
        return self.tau + min(30, self.length * 3 // 4)

    def matrix(self, *, filled: bool = True) -> Array:
        names = [n for n in self.tensors if "keep" not in n and "activation" not in n]
        return self.tensors[self.some(n for n in names if self.tensors[n].any() or not filled)]

    def entry(self, matrix: Array) -> tuple[Any, ...]:
        return tuple(self.some(np.argwhere(matrix != 0)))


def depth_of(s: Subject, name: str) -> int:
    return s.shape[int(name.split(".")[1])][1] if name.startswith("layers.") else 0


def idle(s: Subject, token: float, codes: Array) -> None:
    """One more channel, with a residual everywhere and never read."""
    for name in list(s.tensors):
        matrix = s.tensors[name]
        depth = depth_of(s, name)
        if name in ("embedding", "padding", "positions") or name.endswith(("W_C", f".mlp.{depth - 1}.W")):
            matrix = np.c_[matrix, np.zeros(len(matrix))]
        if name == "readout" or name.endswith(("W_Q", "W_K", "W_V", ".mlp.0.W")):
            matrix = np.r_[matrix, np.zeros((1, matrix.shape[1]))]
        if "keep" in name:
            matrix = np.append(matrix, 1.0)
        if name.endswith(f".mlp.{depth - 1}.b"):
            matrix = np.append(matrix, 0.0)
        s.tensors[name] = matrix
    s.tensors["embedding"][:, -1] = token
    s.tensors["positions"][:, -1] = codes


def largest(s: Subject) -> float:
    return {"float64": 1.7e308, "float32": 3.3e38, "bfloat16": 3.3e38, "float16": 65000.0}[s.dtype]
