"""Recurrent networks: tensors by name, a state that starts from zero, one step for each letter.

A step is written once, for any arithmetic: intervals (``Sums``) for a proof, plain floats for a run.
This module has the gated cells; ``stacks`` has the linear recurrences.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from krohn.check.arithmetic.sums import Sums, beside, split
from krohn.check.claim import ANY
from krohn.check.ground import Array, Real, point
from krohn.errors import InvalidInput

Tensors = Mapping[str, npt.NDArray[np.single]]


@dataclass(frozen=True)
class Stage:
    """A part of a network that reads the output of the part before it, position by position.

    Attributes:
        size: numbers that it carries from letter to letter.
        step: input [many, …] and carried numbers [many, size] to the carried numbers afterwards and the
            output; the output of the last stage is the logits.
        linear: how many of the first numbers a linear recurrence carries, whose errors never shrink.
    """

    size: int
    step: Callable[[Real, Real], tuple[Real, Real]]
    linear: int = 0


@dataclass(frozen=True, eq=False)
class Cell(ABC):
    """A recurrent layer with its linear read-out; ``shapes`` says which tensors there must be."""

    kind: ClassVar[str]
    orders: ClassVar[tuple[str, ...]] = (ANY,)
    tensors: Tensors

    def __post_init__(self) -> None:
        for name, array in self.tensors.items():
            if array.dtype != np.single or array.ndim not in (1, 2) or not np.isfinite(array).all():
                raise InvalidInput(f"{name} must be finite float32 with one axis or two; it is not")
        # Sizes are read off some of the tensors; all must then have the shapes that follow.
        try:
            wanted = self.shapes()
        except KeyError as error:
            raise InvalidInput(f"{self.kind} needs the tensor {error.args[0]}; it is not there") from error
        except IndexError as error:
            raise InvalidInput(f"a tensor of {self.kind} must have two axes; it has one") from error
        if set(self.tensors) != set(wanted):
            raise InvalidInput(f"{self.kind} needs the tensors {', '.join(sorted(wanted))}")
        wrong = [name for name, shape in wanted.items() if self.tensors[name].shape != shape]
        if wrong:
            raise InvalidInput(f"the tensors of {self.kind} must fit together; {wrong[0]} does not")

    @abstractmethod
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """All tensors, and the sizes that each must have, given those of the others."""

    def ends(self, embedding: int, hidden: int) -> dict[str, tuple[int, ...]]:
        """The same for the embedding and the read-out."""
        read_out = {"head.weight": (hidden, self.num_states), "head.bias": (self.num_states,)}
        return {"wte": (self.num_letters, embedding), **read_out}

    @abstractmethod
    def stages(self, sums: Sums) -> list[Stage]:
        """The network in parts; each part sees only the parts before it."""

    @property
    @abstractmethod
    def options(self) -> dict[str, Any]:
        """The options of the training architecture that give tensors of these shapes."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The library functions that a step calls."""
        return ("sigmoid", "tanh")

    @classmethod
    def of(cls, tensors: Tensors, options: Mapping[str, Any]) -> "Cell":
        """The cell with these options of its training architecture; most options follow from the shapes."""
        return cls(tensors)

    def stored(self, sums: Sums) -> dict[str, Array]:
        """The tensors as the format holds them."""
        return {name: sums.fmt.stores(array.astype(np.float64), name) for name, array in self.tensors.items()}

    def letters(self, sums: Sums) -> Real:
        """The input of the first stage for each letter: a row of the embedding, without rounding."""
        return point(sums.fmt.stores(self.tensors["wte"].astype(np.float64), "wte"))

    @property
    @abstractmethod
    def size(self) -> int:
        """Numbers that are carried from letter to letter."""

    @property
    def num_letters(self) -> int:
        """Letters it reads."""
        return len(self.tensors["wte"])

    @property
    def num_states(self) -> int:
        """Automaton states it tells apart."""
        return len(self.tensors["head.bias"])

    @property
    def num_parameters(self) -> int:
        """Numbers in all tensors."""
        return sum(array.size for array in self.tensors.values())


class Gated(Cell):
    """One layer of units with gates, and its read-out."""

    gates: ClassVar[int]
    biases: ClassVar[tuple[str, ...]]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """See ``Cell``."""
        width, embedding = self.gates * self.hidden, self.tensors["wte"].shape[1]
        return {
            **self.ends(embedding, self.hidden),
            "weight_hh": (self.hidden, width),
            "weight_ih": (embedding, width),
            **dict.fromkeys(self.biases, (width,)),
        }

    @property
    def hidden(self) -> int:
        """Units."""
        return len(self.tensors["weight_hh"])

    @property
    def options(self) -> dict[str, Any]:
        """See ``Cell``."""
        return {"embedding": self.tensors["wte"].shape[1], "hidden": self.hidden}

    @property
    def size(self) -> int:
        """See ``Cell``: h, and c if there are four gates."""
        return self.hidden * (2 if self.gates == 4 else 1)

    @abstractmethod
    def after(self, sums: Sums, w: Mapping[str, Array], row: Real, carried: Real) -> Real:
        """The state after a letter."""

    def stages(self, sums: Sums) -> list[Stage]:
        """See ``Cell``: a single stage; h comes first among the carried numbers."""
        w = self.stored(sums)

        def step(given: Real, carried: Real) -> tuple[Real, Real]:
            after = self.after(sums, w, given, carried)
            return after, sums.product(after[:, : self.hidden], w["head.weight"], w["head.bias"])

        return [Stage(self.size, step)]


class LstmCell(Gated):
    """torch's LSTM (gates i, f, g, o), matrices as [in, out]; the state is (h, c)."""

    kind, gates, biases = "lstm", 4, ("bias",)

    def after(self, sums: Sums, w: Mapping[str, Array], row: Real, carried: Real) -> Real:
        """c ← σ(f)·c + σ(i)·tanh(g), h ← σ(o)·tanh(c)."""
        h, c = split(carried, self.hidden)
        # One sum of both products: in which order a library adds their terms is left open.
        z = sums.products((row, w["weight_ih"], w["bias"]), (h, w["weight_hh"], None))
        i, f, g, o = split(z, *(self.hidden * n for n in (1, 2, 3)))
        c = sums.total((sums.sigmoid(f), c), (sums.sigmoid(i), sums.tanh(g)))
        return beside([sums.total((sums.sigmoid(o), sums.tanh(c))), c])


class GruCell(Gated):
    """torch's GRU (gates r, z, n; the reset gate acts on W h + b), matrices as [in, out]."""

    kind, gates, biases = "gru", 3, ("bias_ih", "bias_hh")

    def after(self, sums: Sums, w: Mapping[str, Array], row: Real, carried: Real) -> Real:
        """n = tanh(x + σ(r)·y), h ← (1 − σ(z))·n + σ(z)·h."""
        n, parts = self.hidden, ((row, "ih"), (carried, "hh"))
        # r and z are gates of one sum; for n the two halves stay apart, since r stands between them.
        gates = [(x, w[f"weight_{name}"][:, : 2 * n], w[f"bias_{name}"][: 2 * n]) for x, name in parts]
        inward, recurrent = (
            sums.products((x, w[f"weight_{name}"][:, 2 * n :], w[f"bias_{name}"][2 * n :]))
            for x, name in parts
        )
        both = sums.products(*gates)
        r, z = split(sums.sigmoid(both), n)
        # x·1 + r·y as one sum of two products: a device may fuse it or not.
        fresh = sums.tanh(sums.total((inward, point(1.0)), (r, recurrent)))
        return sums.mixed(z, fresh, carried)
