"""The mixers of the architectures ``deltaproduct`` and ``diagonal``, as cells."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from krohn.errors import InvalidInput
from krohn.recurrent.cells import SATURATED, Floats, Tensors, grain_of, sigmoid
from krohn.recurrent.stack_cells import StackCell

GATES = ("unit", "signed", "complex")


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
    def sizes_of_heads(self) -> tuple[int, int, int, int]:
        """Heads, steps, length of keys and of values."""
        heads = len(self.tensors["h.0.mix.gate.bias"])
        steps = len(self.tensors["h.0.mix.beta.bias"]) // max(1, heads)
        keys = self.tensors["h.0.mix.query"].shape[1] // max(1, heads)
        values = self.tensors["h.0.mix.value"].shape[1] // max(1, heads * steps)
        return heads, steps, keys, values

    @property
    def steps(self) -> int:
        """Steps for each letter."""
        return self.sizes_of_heads[1]

    def mixer_shapes(self, inputs: int) -> dict[str, tuple[int, ...]]:
        """See ``StackCell``."""
        heads, steps, keys, values = self.sizes_of_heads
        biases = {"beta.bias": (heads * steps,), "gate.bias": (heads,), "out": (heads * values, self.dim)}
        widths = {"query": keys, "key": steps * keys, "value": steps * values, "beta.weight": steps}
        return biases | {
            name: (inputs, heads * width) for name, width in (widths | {"gate.weight": 1}).items()
        }

    @property
    def memory(self) -> int:
        """See ``StackCell``."""
        heads, _, keys, values = self.sizes_of_heads
        return heads * keys * values

    @property
    def options(self) -> dict[str, Any]:
        """See ``Cell``."""
        heads, steps, keys, values = self.sizes_of_heads
        sizes = {"heads": heads, "householders": steps, "key_dim": keys, "value_dim": values}
        fixed = {"beta_max": 2, "gate": True, "key_activation": "none", "key_norm": "l2"}
        return self.stack_options | sizes | fixed

    def mix(self, prefix: str, window: Floats, memory: Floats) -> tuple[Floats, Floats]:
        """See ``StackCell``: the gate, then one step after the other, then the query."""
        heads, steps, keys, values = self.sizes_of_heads
        count = len(window)

        def projected(name: str, *shape: int) -> Floats:
            return self.sums.product(window, self.tensors[f"{prefix}mix.{name}"]).reshape(
                count, heads, *shape
            )

        key = self._normed(projected("key", steps, keys))
        value, query = projected("value", steps, values), projected("query", keys)
        beta = 2 * self._saturated(prefix, "beta", window).reshape(count, heads, steps)
        gate = self._saturated(prefix, "gate", window)
        self.remember(prefix, memory, gate[..., None], query, key, beta[..., None] * key, value)
        state = self.sums.times(gate[..., None, None], memory.reshape(count, heads, keys, values))
        for s in range(steps):
            missing = self.sums.plus(value[:, :, s], -self._read(key[:, :, s], state))
            write = self.sums.times(beta[:, :, s, None], missing)
            change = self.sums.times(key[:, :, s, :, None], write[:, :, None, :])
            state = self.sums.plus(state, change)
        return self._read(query, state).reshape(count, -1), state.reshape(count, -1)

    def remember(self, prefix: str, memory: Floats, *parts: Floats) -> None:
        """Keeps gate, query, keys, what is looked at, and values for each head, for ``chunks``."""
        flat = [part.reshape(len(memory) * part.shape[1], -1) for part in parts]
        self.sums.remember(prefix, np.hstack(flat).astype(np.float32), memory)

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
        sums.remember(prefix, gates.reshape(-1, 1), memory)
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
