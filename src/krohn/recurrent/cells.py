"""Recurrent networks in float32 as plain tables and matrices, and what each does with a letter.

A cell holds tensors by name, starts from zero, and steps a batch of states ``[many, size]`` by one letter.
``Sums`` watches every sum: it is *settled* if each order of adding, fused or not, gives the same float,
because nothing is rounded or because the gate it feeds is saturated beyond all rounding.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput

Floats = npt.NDArray[np.float32]
Tensors = dict[str, Floats]

MAX_STEPS = 2_000
"""Different things that letters do to a memory that are kept."""
SATURATED = 110.0
"""Beyond it the sigmoid is exactly 0 or 1 and tanh exactly ±1 in float32."""


@dataclass
class Sums:
    """Sums of products in float32, and whether all of them were settled so far.

    With ``bits`` 8 a settled sum is the same in bfloat16, too: no number has more significant bits. ``steps``
    and ``sizes`` are kept for ``chunks``.
    """

    settled: bool = True
    bits: int = 24
    steps: dict[str, dict[bytes, Floats]] = field(default_factory=dict)
    sizes: dict[str, tuple[float, float]] = field(default_factory=dict)

    def remember(self, name: str, steps: Floats, memory: Floats) -> None:
        """Keeps what letters do to a mixer's memory (one row each), its greatest number and its grain."""
        known = self.steps.setdefault(name, {})
        if len(known) <= MAX_STEPS:
            known.update((row.tobytes(), row) for row in np.unique(steps, axis=0))
        top, grain = self.sizes.get(name, (0.0, np.inf))
        wide = memory.astype(np.float64).reshape(1, -1)
        self.sizes[name] = max(top, float(np.abs(wide).max())), min(grain, float(grain_of(wide, 1)[0]))

    def product(self, x: Floats, w: Floats) -> Floats:
        """x W: settled if all terms of a sum are multiples of one power of two and fit into 24 bits."""
        left, right = x.astype(np.float64), w.astype(np.float64)
        size = np.abs(left) @ np.abs(right)
        grain = grain_of(left, 1)[:, None] * grain_of(right, 0)[None]
        self.settled &= bool((size <= grain * 2.0**self.bits).all())
        return (left @ right).astype(np.float32)

    def times(self, x: Floats, y: Floats) -> Floats:
        """x·y entry by entry: settled if nothing is rounded, so that a fused operation gives the same."""
        return self._kept(x.astype(np.float64) * y.astype(np.float64))

    def plus(self, x: Floats, y: Floats) -> Floats:
        """x + y: settled if nothing is rounded."""
        return self._kept(x.astype(np.float64) + y.astype(np.float64))

    def _kept(self, exact: npt.NDArray[np.float64]) -> Floats:
        self.settled &= bool((np.abs(exact) <= grain_of(exact[..., None], -1) * 2.0**self.bits).all())
        return exact.astype(np.float32)

    def gates(self, terms: Sequence[tuple[Floats, Floats]]) -> Floats:
        """Σ x W, for gates: settled if every order of adding leaves them saturated."""
        wide = [(x.astype(np.float64), w.astype(np.float64)) for x, w in terms]
        result = sum(x @ w for x, w in wide)
        size = sum(np.abs(x) @ np.abs(w) for x, w in wide)
        count = sum(len(w) for _, w in wide)
        assert isinstance(result, np.ndarray)
        self.settled &= bool((np.abs(result) - count * 2.0 ** (2 - self.bits) * size >= SATURATED).all())
        return result.astype(np.float32)


def grain_of(numbers: npt.NDArray[np.float64], axis: int) -> npt.NDArray[np.float64]:
    """The largest power of two of which all numbers along the axis are multiples; infinite if all are 0."""
    mantissas, exponents = np.frexp(numbers)
    whole = np.abs(mantissas * 2.0**53).astype(np.int64)
    lowest = np.ldexp((whole & -whole).astype(np.float64), exponents - 53)
    least: npt.NDArray[np.float64] = np.where(whole > 0, lowest, 2.0**100).min(axis=axis)
    return least


@dataclass(frozen=True)
class Stage:
    """A part of a network that reads what the part before hands on, one position after the other.

    Attributes:
        size: numbers that it carries from letter to letter.
        step: what is handed to it [many, …] and what it carries [many, size], to what it carries afterwards
            and what it hands on; the last stage hands on logits.
    """

    size: int
    step: Callable[[Floats, Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Cell(ABC):
    """A recurrent layer with its linear read-out; ``ranks`` says which tensors there must be."""

    kind: ClassVar[str]
    tensors: Tensors
    sums: Sums = field(default_factory=Sums)

    def __post_init__(self) -> None:
        wanted = self.ranks()
        if set(self.tensors) != set(wanted):
            raise InvalidInput(f"{self.kind} needs the tensors {', '.join(sorted(wanted))}")
        for name, array in self.tensors.items():
            if array.dtype != np.float32 or array.ndim != wanted[name] or not np.isfinite(array).all():
                raise InvalidInput(f"{name} must be finite float32 with {wanted[name]} axes; it is not")
        wrong = self.misfits()
        if wrong:
            raise InvalidInput(f"the tensors of {self.kind} must fit together; {wrong[0]} does not")

    @abstractmethod
    def ranks(self) -> dict[str, int]:
        """The tensors and their numbers of axes."""

    @abstractmethod
    def misfits(self) -> list[str]:
        """Names of tensors whose sizes do not fit."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Numbers that are carried from letter to letter."""

    @property
    @abstractmethod
    def num_letters(self) -> int:
        """Letters it reads."""

    @abstractmethod
    def step(self, states: Floats, letter: int) -> Floats:
        """States after one letter."""

    def visible(self, states: Floats) -> Floats:
        """The part of a state that the read-out sees."""
        return states

    def logits(self, states: Floats) -> Floats:
        """One number per automaton state."""
        weight = np.vstack([self.tensors["head.weight"], self.tensors["head.bias"]])
        seen = np.concatenate([self.visible(states), np.ones((len(states), 1), np.float32)], axis=1)
        return self.sums.product(seen, weight)

    def answer(self, states: Floats, letter: int) -> tuple[Floats, Floats]:
        """States after one letter, and the logits there."""
        after = self.step(states, letter)
        return after, self.logits(after)

    def letters(self) -> Floats:
        """What each letter hands to the first stage."""
        return np.arange(self.num_letters, dtype=np.float32)[:, None]

    def stages(self) -> list[Stage]:
        """The network in parts, of which each sees the parts before it alone; here it is one."""

        def step(given: Floats, carried: Floats) -> tuple[Floats, Floats]:
            after = np.empty_like(carried)
            logits = np.empty((len(carried), self.num_states), np.float32)
            for letter in np.unique(given[:, 0]):
                own = given[:, 0] == letter
                after[own], logits[own] = self.answer(carried[own], int(letter))
            return after, logits

        return [Stage(self.size, step)]

    @property
    def num_states(self) -> int:
        """Automaton states it tells apart."""
        return len(self.tensors["head.bias"])

    @property
    def num_parameters(self) -> int:
        """Numbers in all tensors."""
        return sum(array.size for array in self.tensors.values())

    @classmethod
    def of(cls, tensors: Tensors, options: Mapping[str, Any]) -> "Cell":
        """The cell with these options of its training architecture; most follow from the sizes."""
        return cls(tensors)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the training architecture that the tensors fit."""
        return {}

    def _sizes(self, expected: dict[str, tuple[int, ...]]) -> list[str]:
        return [name for name, shape in expected.items() if self.tensors[name].shape != shape]


class Lstm(Cell):
    """torch's LSTM (gates i, f, g, o), matrices as [in, out]; the state is (h, c)."""

    kind = "lstm"

    def ranks(self) -> dict[str, int]:
        """See ``Cell``."""
        return {"wte": 2, "weight_ih": 2, "weight_hh": 2, "bias": 1, "head.weight": 2, "head.bias": 1}

    def misfits(self) -> list[str]:
        """See ``Cell``."""
        hidden, embedding = len(self.tensors["weight_hh"]), self.tensors["wte"].shape[1]
        shapes = {
            "weight_hh": (hidden, 4 * hidden),
            "weight_ih": (embedding, 4 * hidden),
            "bias": (4 * hidden,),
        }
        return self._sizes({**shapes, "head.weight": (hidden, self.num_states)})

    @property
    def hidden(self) -> int:
        """Units."""
        return len(self.tensors["weight_hh"])

    @property
    def size(self) -> int:
        """See ``Cell``."""
        return 2 * self.hidden

    @property
    def num_letters(self) -> int:
        """See ``Cell``."""
        return len(self.tensors["wte"])

    @property
    def options(self) -> dict[str, Any]:
        """See ``Cell``."""
        return {"embedding": self.tensors["wte"].shape[1], "hidden": self.hidden}

    def visible(self, states: Floats) -> Floats:
        """h."""
        return states[:, : self.hidden]

    def step(self, states: Floats, letter: int) -> Floats:
        """See ``Cell``."""
        h, c = states[:, : self.hidden], states[:, self.hidden :]
        own = self.tensors["wte"][letter : letter + 1], self.tensors["weight_ih"]
        one = np.ones((1, 1), np.float32)
        z = self.sums.gates([(h, self.tensors["weight_hh"]), own, (one, self.tensors["bias"][None])])
        i, f, g, o = np.split(z, 4, axis=1)
        cell = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return np.concatenate([sigmoid(o) * np.tanh(cell), cell], axis=1)


class Gru(Cell):
    """torch's GRU (gates r, z, n; the reset gate acts on W h + b), matrices as [in, out]."""

    kind = "gru"

    def ranks(self) -> dict[str, int]:
        """See ``Cell``."""
        names = {"wte": 2, "weight_ih": 2, "weight_hh": 2, "bias_ih": 1, "bias_hh": 1}
        return {**names, "head.weight": 2, "head.bias": 1}

    def misfits(self) -> list[str]:
        """See ``Cell``."""
        hidden, embedding = len(self.tensors["weight_hh"]), self.tensors["wte"].shape[1]
        shapes = {"weight_hh": (hidden, 3 * hidden), "weight_ih": (embedding, 3 * hidden)}
        biases = {"bias_ih": (3 * hidden,), "bias_hh": (3 * hidden,)}
        return self._sizes({**shapes, **biases, "head.weight": (hidden, self.num_states)})

    @property
    def size(self) -> int:
        """See ``Cell``."""
        return len(self.tensors["weight_hh"])

    @property
    def num_letters(self) -> int:
        """See ``Cell``."""
        return len(self.tensors["wte"])

    @property
    def options(self) -> dict[str, Any]:
        """See ``Cell``."""
        return {"embedding": self.tensors["wte"].shape[1], "hidden": self.size}

    def step(self, states: Floats, letter: int) -> Floats:
        """See ``Cell``."""
        table, n, one = self.tensors, self.size, np.ones((1, 1), np.float32)
        own = table["wte"][letter : letter + 1]
        inward = [(own, table["weight_ih"]), (one, table["bias_ih"][None])]
        recurrent = [(states, table["weight_hh"]), (one, table["bias_hh"][None])]
        gates = self.sums.gates([(x, w[:, : 2 * n]) for x, w in (*inward, *recurrent)])
        reset, update = np.split(sigmoid(gates), 2, axis=1)
        if (reset == 1).all():
            inner = self.sums.gates([(x, w[:, 2 * n :]) for x, w in (*inward, *recurrent)])
        else:
            self.sums.settled = False
            fresh = self.sums.gates([(x, w[:, 2 * n :]) for x, w in inward])
            inner = fresh + reset * self.sums.gates([(x, w[:, 2 * n :]) for x, w in recurrent])
        return (1 - update) * np.tanh(inner) + update * states


def sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(−z)), exactly 0 and 1 where it saturates."""
    with np.errstate(over="ignore", under="ignore"):
        return (np.float32(1) / (np.float32(1) + np.exp(-z))).astype(np.float32)
