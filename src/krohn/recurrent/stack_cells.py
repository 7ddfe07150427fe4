"""Stacks of linear recurrences, with the tensors of the architectures ``deltaproduct`` and ``diagonal``.

No norms, ReLU, a window of one or two letters. A step is one letter through all blocks. What is carried on is
each block's memory, and of the letter before those channels that some weight looks back at. A sum that is
exact, or a gate that is saturated, does not depend on the order of adding: ``Sums`` keeps watch.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from krohn.errors import InvalidInput
from krohn.recurrent.cells import SATURATED, Cell, Floats, Tensors, grain_of, sigmoid

GATES = ("unit", "signed", "complex")


@dataclass(frozen=True, eq=False)
class StackCell(Cell):
    """Blocks of a mixer and an MLP around a stream of ``dim`` channels."""

    @abstractmethod
    def mixer_ranks(self) -> dict[str, int]:
        """Tensors of one mixer and their numbers of axes, without the prefix."""

    @abstractmethod
    def mixer_shapes(self, inputs: int) -> dict[str, tuple[int, ...]]:
        """Their sizes."""

    @property
    @abstractmethod
    def memory(self) -> int:
        """Numbers that a mixer carries."""

    @abstractmethod
    def mix(self, prefix: str, window: Floats, memory: Floats) -> tuple[Floats, Floats]:
        """What a mixer reads [N, ...], and its memory [N, ...] afterwards."""

    @cached_property
    def layers(self) -> int:
        """Blocks."""
        layers = 0
        while f"h.{layers}.mix.out" in self.tensors:
            layers += 1
        return max(1, layers)

    @property
    def dim(self) -> int:
        """Channels of the stream."""
        return int(self.tensors["wte"].shape[1])

    @property
    def num_letters(self) -> int:
        """See ``Cell``."""
        return len(self.tensors["wte"])

    @property
    def mlp(self) -> int:
        """Hidden units of each MLP; 0 without."""
        return len(self.tensors["h.0.mlp.out"]) if "h.0.mlp.out" in self.tensors else 0

    def ranks(self) -> dict[str, int]:
        """See ``Cell``."""
        mixer = {f"mix.{name}": rank for name, rank in self.mixer_ranks().items()} | {"mix.out": 2}
        bent = {"mlp.in": 2, "mlp.in_bias": 1, "mlp.out": 2} if "h.0.mlp.out" in self.tensors else {}
        blocks = {f"h.{i}.{name}": rank for i in range(self.layers) for name, rank in (mixer | bent).items()}
        return {"wte": 2, **blocks, "head.weight": 2, "head.bias": 1}

    def misfits(self) -> list[str]:
        """See ``Cell``."""
        inputs = self.conv * self.dim
        shapes = {f"mix.{name}": shape for name, shape in self.mixer_shapes(inputs).items()}
        if self.mlp:
            shapes |= {
                "mlp.in": (inputs, self.mlp),
                "mlp.in_bias": (self.mlp,),
                "mlp.out": (self.mlp, self.dim),
            }
        wanted = {f"h.{i}.{name}": shape for i in range(self.layers) for name, shape in shapes.items()}
        found = self._sizes({**wanted, "head.weight": (self.dim, self.num_states)})
        return found if self.conv in (1, 2) else ["a window of more than two letters"]

    @property
    def conv(self) -> int:
        """Letters in a window."""
        rows = len(self.tensors[f"h.0.mix.{next(iter(self.mixer_ranks()))}"])
        return rows // self.dim if rows % self.dim == 0 else 0

    @property
    def stack_options(self) -> dict[str, Any]:
        """The options that all stacks have."""
        sizes = {"layers": self.layers, "dim": self.dim, "mlp": self.mlp, "conv": self.conv}
        return {**sizes, "norm": "none", "activation": "relu"}

    @cached_property
    def _looks_back(self) -> list[np.ndarray]:
        """For the mixer and the MLP of each block: the channels of the letter before that it looks at."""
        found = []
        for i in range(self.layers):
            mixers = [self.tensors[f"h.{i}.mix.{name}"] for name in self.mixer_ranks()]
            for group in (
                [w for w in mixers if w.ndim == 2],
                [self.tensors[f"h.{i}.mlp.in"]] if self.mlp else [],
            ):
                behind = [np.abs(w[self.dim :]).max(axis=1, initial=0) for w in group]
                found.append(np.flatnonzero(np.maximum.reduce(behind)) if behind else np.zeros(0, np.int64))
        return found

    @property
    def size(self) -> int:
        """See ``Cell``."""
        return self.layers * self.memory + sum(map(len, self._looks_back))

    def step(self, states: Floats, letter: int) -> Floats:
        """See ``Cell``."""
        return self._pass(states, letter)[0]

    def answer(self, states: Floats, letter: int) -> tuple[Floats, Floats]:
        """See ``Cell``; the read-out sees the stream, which the letter is a part of."""
        after, x = self._pass(states, letter)
        weight = np.vstack([self.tensors["head.weight"], self.tensors["head.bias"]])
        scores = self.sums.product(np.hstack([x, np.ones((len(x), 1), np.float32)]), weight)
        lost = ~np.isfinite(x).all(axis=1)  # a channel that no weight looks at must be a number all the same
        scores[lost] = np.nan
        return after, scores

    def _pass(self, states: Floats, letter: int) -> tuple[Floats, Floats]:
        count = len(states)
        x = np.repeat(self.tensors["wte"][letter : letter + 1], count, axis=0)
        memories = states[:, : self.layers * self.memory].reshape(count, self.layers, self.memory)
        behind = np.split(
            states[:, self.layers * self.memory :],
            np.cumsum([len(seen) for seen in self._looks_back])[:-1],
            axis=1,
        )
        kept, near = [], []
        for i in range(self.layers):
            prefix = f"h.{i}."
            window = self._window(x, behind[2 * i], 2 * i)
            near.append(x[:, self._looks_back[2 * i]])
            read, memory = self.mix(prefix, window, memories[:, i])
            kept.append(memory)
            x = self.sums.plus(x, self.sums.product(read, self.tensors[f"{prefix}mix.out"]))
            near.append(x[:, self._looks_back[2 * i + 1]])
            if self.mlp:
                window = self._window(x, behind[2 * i + 1], 2 * i + 1)
                inner = self.affine(window, f"{prefix}mlp.in", f"{prefix}mlp.in_bias")
                bent = np.maximum(inner, np.float32(0))
                x = self.sums.plus(x, self.sums.product(bent, self.tensors[f"{prefix}mlp.out"]))
        return np.concatenate([*kept, *near], axis=1), x

    def _window(self, x: Floats, behind: Floats, place: int) -> Floats:
        if self.conv == 1:
            return x
        before = np.zeros_like(x)
        before[:, self._looks_back[place]] = behind
        return np.concatenate([x, before], axis=1)

    def affine(self, window: Floats, weight: str, bias: str) -> Floats:
        """window W + b."""
        ones = np.ones((len(window), 1), np.float32)
        whole = np.vstack([self.tensors[weight], self.tensors[bias]])
        return self.sums.product(np.hstack([window, ones]), whole)

    def settle(self, holds: np.ndarray | bool) -> None:
        """Not settled unless this holds."""
        self.sums.settled &= bool(np.all(holds))


class DeltaStack(StackCell):
    """Gated DeltaProduct with keys of length one and β in [0, 2]."""

    kind = "deltaproduct"

    def mixer_ranks(self) -> dict[str, int]:
        """See ``StackCell``."""
        return {
            "query": 2,
            "key": 2,
            "value": 2,
            "beta.weight": 2,
            "beta.bias": 1,
            "gate.weight": 2,
            "gate.bias": 1,
        }

    @property
    def _sizes_of_heads(self) -> tuple[int, int, int, int]:
        """Heads, steps, length of keys and of values."""
        heads = len(self.tensors["h.0.mix.gate.bias"])
        steps = len(self.tensors["h.0.mix.beta.bias"]) // max(1, heads)
        keys = self.tensors["h.0.mix.query"].shape[1] // max(1, heads)
        values = self.tensors["h.0.mix.value"].shape[1] // max(1, heads * steps)
        return heads, steps, keys, values

    @property
    def steps(self) -> int:
        """Steps for each letter."""
        return self._sizes_of_heads[1]

    def mixer_shapes(self, inputs: int) -> dict[str, tuple[int, ...]]:
        """See ``StackCell``."""
        heads, steps, keys, values = self._sizes_of_heads
        biases = {"beta.bias": (heads * steps,), "gate.bias": (heads,), "out": (heads * values, self.dim)}
        widths = {"query": keys, "key": steps * keys, "value": steps * values, "beta.weight": steps}
        return biases | {
            name: (inputs, heads * width) for name, width in (widths | {"gate.weight": 1}).items()
        }

    @property
    def memory(self) -> int:
        """See ``StackCell``."""
        heads, _, keys, values = self._sizes_of_heads
        return heads * keys * values

    @property
    def options(self) -> dict[str, Any]:
        """See ``Cell``."""
        heads, steps, keys, values = self._sizes_of_heads
        sizes = {"heads": heads, "householders": steps, "key_dim": keys, "value_dim": values}
        fixed = {"beta_max": 2, "gate": True, "key_activation": "none", "key_norm": "l2"}
        return self.stack_options | sizes | fixed

    def mix(self, prefix: str, window: Floats, memory: Floats) -> tuple[Floats, Floats]:
        """See ``StackCell``: the gate, then one step after the other, then the query."""
        heads, steps, keys, values = self._sizes_of_heads
        count = len(window)

        def projected(name: str, *shape: int) -> Floats:
            return self.sums.product(window, self.tensors[f"{prefix}mix.{name}"]).reshape(
                count, heads, *shape
            )

        key = self._normed(projected("key", steps, keys))
        value, query = projected("value", steps, values), projected("query", keys)
        beta = 2 * self._saturated(prefix, "beta", window).reshape(count, heads, steps)
        gate = self._saturated(prefix, "gate", window)
        state = self.sums.times(gate[..., None, None], memory.reshape(count, heads, keys, values))
        for s in range(steps):
            missing = self.sums.plus(value[:, :, s], -self._read(key[:, :, s], state))
            write = self.sums.times(beta[:, :, s, None], missing)
            change = self.sums.times(key[:, :, s, :, None], write[:, :, None, :])
            state = self.sums.plus(state, change)
        return self._read(query, state).reshape(count, -1), state.reshape(count, -1)

    def _read(self, vector: Floats, state: Floats) -> Floats:
        """vectorᵀ state for each head: settled if all terms of a sum fit one grain."""
        left, right = vector.astype(np.float64)[..., None], state.astype(np.float64)
        terms = left * right
        whole = terms.sum(axis=2)
        self.settle(np.abs(terms).sum(axis=2) <= grain_of(terms, 2) * 2.0**self.sums.bits)
        result: Floats = whole.astype(np.float32)
        return result

    def _normed(self, key: Floats) -> Floats:
        square = np.square(key.astype(np.float64)).sum(axis=-1, keepdims=True)
        self.settle((square == 0) | (square == 1))
        result: Floats = (key / np.maximum(np.sqrt(square), 1e-12)).astype(np.float32)
        return result

    def _saturated(self, prefix: str, name: str, window: Floats) -> Floats:
        z = self.affine(window, f"{prefix}mix.{name}.weight", f"{prefix}mix.{name}.bias")
        self.settle((z == 0) | (np.abs(z) >= SATURATED))
        return sigmoid(z)


@dataclass(frozen=True, eq=False)
class DiagonalStack(StackCell):
    """Channels h ← a·h + b; ``gate`` says how a is made from its inputs, as in the training architecture."""

    kind = "diagonal"
    gate: str = "complex"

    @classmethod
    def of(cls, tensors: Tensors, options: Mapping[str, Any]) -> "DiagonalStack":
        """See ``StackCell``."""
        gate = options.get("gate")
        if gate not in GATES:
            raise InvalidInput(f"gate must be one of {', '.join(GATES)}; got {str(gate)[:20]!r}")
        return cls(tensors, gate=gate)

    def mixer_ranks(self) -> dict[str, int]:
        """See ``StackCell``."""
        return {"gate.weight": 2, "gate.bias": 1, "write": 2}

    @property
    def memory(self) -> int:
        """See ``StackCell``."""
        return len(self.tensors["h.0.mix.gate.bias"])

    def mixer_shapes(self, inputs: int) -> dict[str, tuple[int, ...]]:
        """See ``StackCell``."""
        width = self.memory + (self.gate == "complex" and self.memory % 2)
        shapes = {"gate.weight": (inputs, width), "gate.bias": (width,), "write": (inputs, width)}
        return {**shapes, "out": (width, self.dim)}

    @property
    def options(self) -> dict[str, Any]:
        """See ``Cell``."""
        channels = self.memory // 2 if self.gate == "complex" else self.memory
        return self.stack_options | {"channels": channels, "gate": self.gate}

    def mix(self, prefix: str, window: Floats, memory: Floats) -> tuple[Floats, Floats]:
        """See ``StackCell``."""
        z = self.affine(window, f"{prefix}mix.gate.weight", f"{prefix}mix.gate.bias")
        write = self.sums.product(window, self.tensors[f"{prefix}mix.write"])
        sums, gates = self.sums, self.bent(z)
        if self.gate != "complex":
            after = sums.plus(sums.times(gates, memory), write)
            return after, after
        a, b = np.split(gates, 2, axis=1)
        x, y = np.split(memory, 2, axis=1)
        real = sums.plus(sums.times(a, x), -sums.times(b, y))
        imaginary = sums.plus(sums.times(a, y), sums.times(b, x))
        after = sums.plus(np.concatenate([real, imaginary], axis=1), write)
        return after, after

    def bent(self, z: Floats) -> Floats:
        """Gates from their inputs; complex ones are z / max(1, |z|), real parts in front."""
        if self.gate != "complex":
            self.settle((z == 0) | (np.abs(z) >= SATURATED))
            return np.tanh(z) if self.gate == "signed" else sigmoid(z)
        a, b = np.split(z, 2, axis=1)
        square = np.maximum(a * a + b * b, np.float32(1))
        size = np.sqrt(square)
        exact = np.square(a.astype(np.float64)) + np.square(b.astype(np.float64))
        self.settle(np.square(size.astype(np.float64)) == np.maximum(exact, 1))
        both = np.concatenate([size, size], axis=1)
        bent: Floats = z / both
        self.settle(bent.astype(np.float64) * both == z)
        return bent
