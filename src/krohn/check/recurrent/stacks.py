"""Stacks of linear recurrences, with the tensors of the training architectures.

No norms, ReLU, a window of one or two letters. A step is one letter through all blocks. It carries each
block's memory, and those channels of the previous letter that some weight looks back at.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from krohn.check.arithmetic.sums import Sums, beside, split
from krohn.check.claim import ANY, CHUNKS, LEFT
from krohn.check.ground import Array, Integers, Real, point
from krohn.check.recurrent.cells import Cell, Stage, Tensors
from krohn.errors import InvalidInput

GATES = ("unit", "signed", "complex")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class StackCell(Cell):
    """Blocks of a mixer and an MLP around a stream of ``dim`` channels."""

    orders: ClassVar[tuple[str, ...]] = (CHUNKS, ANY)
    reader: ClassVar[str]  # a matrix of the mixer that reads windows

    @abstractmethod
    def mixer_shapes(self, inputs: int) -> dict[str, tuple[int, ...]]:
        """Tensors of one mixer and their sizes, without the prefix."""

    @property
    @abstractmethod
    def memory(self) -> int:
        """Numbers that a mixer carries."""

    @abstractmethod
    def mix(
        self, sums: Sums, name: str, w: Mapping[str, Array], window: Real, memory: Real
    ) -> tuple[Real, Real]:
        """The output of a mixer, and its memory afterwards; ``w`` has the tensors of the mixer ``name``."""

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
    def mlp(self) -> int:
        """Hidden units of each MLP; 0 without MLPs."""
        return len(self.tensors["h.0.mlp.out"]) if "h.0.mlp.out" in self.tensors else 0

    @property
    def conv(self) -> int:
        """Letters in a window."""
        rows = len(self.tensors[f"h.0.mix.{self.reader}"])
        return rows // self.dim if self.dim and rows % self.dim == 0 else 0

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """See ``Cell``."""
        if self.conv not in (1, 2):
            raise InvalidInput(f"the tensors of {self.kind} must fit together; a window has 1 or 2 letters")
        inputs = self.conv * self.dim
        sizes = {f"mix.{name}": shape for name, shape in self.mixer_shapes(inputs).items()}
        if units := self.mlp:
            sizes |= {"mlp.in": (inputs, units), "mlp.in_bias": (units,), "mlp.out": (units, self.dim)}
        blocks = {f"h.{i}.{name}": shape for i in range(self.layers) for name, shape in sizes.items()}
        return {**self.ends(self.dim, self.dim), **blocks}

    @property
    def stack_options(self) -> dict[str, Any]:
        """The options that all stacks have."""
        sizes = {"layers": self.layers, "dim": self.dim, "mlp": self.mlp, "conv": self.conv}
        return {**sizes, "norm": "none", "activation": "relu"}

    @cached_property
    def looks_back(self) -> list[tuple[Integers, Integers]]:
        """For mixer and MLP of each block: the channels of the previous letter that some weight reads."""
        # A channel that no weight looks back at is not carried: it would tell apart what goes on alike.
        found = []
        for i in range(self.layers):
            names = [name for name in self.tensors if name.startswith(f"h.{i}.mix.")]
            mixers = [w for w in (self.tensors[n] for n in names if not n.endswith(".out")) if w.ndim == 2]
            groups = (mixers, [self.tensors[f"h.{i}.mlp.in"]] if self.mlp else [])
            seen = [np.any([(w[self.dim :] != 0).any(axis=1) for w in group], axis=0) for group in groups]
            mixer, mlp = (np.flatnonzero(channels) if self.conv == 2 else _NONE for channels in seen)
            found.append((mixer, mlp))
        return found

    @property
    def carries(self) -> list[int]:
        """Numbers that each block carries."""
        return [self.memory + len(mixer) + len(mlp) for mixer, mlp in self.looks_back]

    @property
    def size(self) -> int:
        """See ``Cell``."""
        return sum(self.carries)

    def stages(self, sums: Sums) -> list[Stage]:
        """See ``Cell``: the blocks; each outputs the whole stream, read later or not."""
        whole = self.stored(sums)

        def block(i: int) -> Stage:
            w = self.parts(whole, i)

            def step(given: Real, carried: Real) -> tuple[Real, Real]:
                after, x = self._block(sums, w, i, given, carried)
                last = i + 1 == self.layers
                return after, sums.product(x, whole["head.weight"], whole["head.bias"]) if last else x

            # The memory comes first and is linear: its errors never shrink. Channels looked back at are new
            # at every letter.
            return Stage(self.carries[i], step, self.memory)

        return [block(i) for i in range(self.layers)]

    def _block(self, sums: Sums, w: Mapping[str, Array], i: int, x: Real, carried: Real) -> tuple[Real, Real]:
        """What block i carries (memory, channels looked back at by mixer and MLP); the stream after it."""
        back = self.looks_back[i]
        memory, *behind = split(carried, self.memory, self.memory + len(back[0]))
        before = [_spread(x, part, places) for part, places in zip(behind, back, strict=True)]
        mix = partial(self.mix, sums, f"h.{i}")
        memory, near, near_mlp, x = self.block(sums, mix, w, x, memory, before)
        return beside([memory, near[:, back[0]], near_mlp[:, back[1]]]), x

    def block(self, run: Any, mix: Any, w: Mapping[str, Array], x: T, memory: T, before: Sequence[T]) -> Any:
        """One block, in any arithmetic: its memory afterwards, the stream before its mixer, before its MLP
        and after both. ``before``: the first two, one letter before.
        """
        mixer = {name.removeprefix("mix."): value for name, value in w.items() if name.startswith("mix.")}
        read, memory = mix(mixer, x if self.conv == 1 else run.beside([x, before[0]]), memory)
        mixed = after = run.plus(x, run.product(read, w["mix.out"]))
        if self.mlp:
            window = mixed if self.conv == 1 else run.beside([mixed, before[1]])
            bent = run.product(window, w["mlp.in"], w["mlp.in_bias"]).positive()
            after = run.plus(mixed, run.product(bent, w["mlp.out"]))
        return memory, x, mixed, after

    def parts(self, tensors: Mapping[str, Array], i: int) -> dict[str, Array]:
        """The tensors of block i, by their names in it."""
        prefix = f"h.{i}."
        return {name.removeprefix(prefix): one for name, one in tensors.items() if name.startswith(prefix)}


def _spread(x: Real, behind: Real, places: Integers) -> Real:
    """The letter before: channels that no weight looks at count as 0."""
    # Their weights are 0, so that any number would do; a point makes no box wider.
    before = Real(np.zeros(x.lo.shape), np.zeros(x.lo.shape))
    before.lo[:, places], before.hi[:, places] = behind.lo, behind.hi
    return before


_NONE = np.zeros(0, dtype=np.int64)


class DeltaStack(StackCell):
    """Gated DeltaProduct with keys of length one and β in [0, 2]; with one step it is DeltaNet."""

    kind, reader = "deltaproduct", "query"
    scaled: ClassVar[bool] = True  # whether a step multiplies by a rate what it reads and what it writes

    @property
    def assumptions(self) -> tuple[str, ...]:
        """See ``Cell``."""
        return ("sigmoid", "delta")

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

    def rates(self, sums: Sums, w: Mapping[str, Array], window: Real, key: Real) -> tuple[Real, Real, Real]:
        """The gate, the vector w that a step reads with, and the factor of the value it writes."""
        wide, (heads, steps, _, _) = sums.wide, self.sizes_of_heads
        beta = wide.sigmoid(sums.product(window, w["beta.weight"], w["beta.bias"]))
        rate = wide.total((beta.reshape(len(window), heads, steps, 1), point(2.0)))
        gate = wide.gate(sums.product(window, w["gate.weight"], w["gate.bias"]))
        return gate, wide.total((rate, key)), rate

    def mix(
        self, sums: Sums, name: str, w: Mapping[str, Array], window: Real, memory: Real
    ) -> tuple[Real, Real]:
        """See ``StackCell``: the gate, then one step after the other, then the query.

        A step writes rate·(v − k·S), as a loop over letters does, or rate·v − (rate·k)·S, as chunks do.
        """
        heads, steps, keys, values = self.sizes_of_heads
        wide, count = sums.wide, len(memory)
        if (window.lo == window.lo[:1]).all() and (window.hi == window.hi[:1]).all():
            window = window[:1]  # the first block reads one letter at a time: project it once
        rows = len(window)

        def projected(name: str, *shape: int) -> Real:
            return sums.product(window, w[name]).reshape(rows, heads, *shape)

        key = wide.normalise(projected("key", steps, keys))
        gate, look, rate = self.rates(sums, w, window, key)
        given = projected("value", steps, values)
        value = wide.total((rate, given))
        query = projected("query", keys)
        sums.note(name, memory, *(part.reshape(rows * heads, -1) for part in (gate, query, key, look, value)))
        state = wide.total((gate.reshape(rows, heads, 1, 1), memory.reshape(count, heads, keys, values)))
        for s in range(steps):
            # What is true of chunks rests on every memory in between, not only on those after a letter.
            sums.note(name, state.reshape(count, -1))
            write = wide.plus(value[:, :, s], -wide.dot(look[:, :, s, :, None], state, 2))
            if self.scaled:
                missing = wide.plus(given[:, :, s], -wide.dot(key[:, :, s, :, None], state, 2))
                # Equal, but not in floats: whatever order of sums is claimed, the interval holds both.
                write = wide.either(wide.total((rate[:, :, s], missing)), write)
            state = wide.total((state, point(1.0)), (key[:, :, s, :, None], write[:, :, None, :]))
        sums.note(name, state.reshape(count, -1))
        read = wide.dot(query[:, :, :, None], state, 2).reshape(count, -1)
        return sums.cast(read), state.reshape(count, -1)


@dataclass(frozen=True, eq=False)
class RankOneStack(DeltaStack):
    """Steps S ← S + k (v − (a ⊙ k)ᵀS) with keys of length one and rates a between 0 and 2."""

    kind = "rankone"
    scaled: ClassVar[bool] = False
    heads: int = 2

    @classmethod
    def of(cls, tensors: Tensors, options: Mapping[str, Any]) -> "RankOneStack":
        """See ``Cell``."""
        heads = options.get("heads")
        if type(heads) is not int or not 1 <= heads <= 1024:
            raise InvalidInput(f"heads must be a number from 1 to 1,024; got {str(heads)[:20]!r}")
        return cls(tensors, heads=heads)

    @property
    def sizes_of_heads(self) -> tuple[int, int, int, int]:
        """See ``DeltaStack``."""
        keys = max(1, self.tensors["h.0.mix.query"].shape[1] // self.heads)
        steps = max(1, self.tensors["h.0.mix.key"].shape[1] // (self.heads * keys))
        return self.heads, steps, keys, self.tensors["h.0.mix.value"].shape[1] // (self.heads * steps)

    def mixer_shapes(self, inputs: int) -> dict[str, tuple[int, ...]]:
        """See ``StackCell``."""
        heads, steps, keys, values = self.sizes_of_heads
        widths = {"query": keys, "key": steps * keys, "value": steps * values, "rate.weight": steps * keys}
        sizes: dict[str, tuple[int, ...]] = {name: (inputs, heads * width) for name, width in widths.items()}
        return sizes | {"rate.bias": (heads * steps * keys,), "out": (heads * values, self.dim)}

    @property
    def options(self) -> dict[str, Any]:
        """See ``Cell``."""
        heads, steps, keys, values = self.sizes_of_heads
        sizes = {"heads": heads, "steps": steps, "key_dim": keys, "value_dim": values, "rate_max": 2}
        return self.stack_options | sizes

    def rates(self, sums: Sums, w: Mapping[str, Array], window: Real, key: Real) -> tuple[Real, Real, Real]:
        """See ``DeltaStack``: no gate, a rate for each entry of the key, and values as they are."""
        wide, ones = sums.wide, point(np.ones((len(window), self.heads)))
        bent = wide.sigmoid(sums.product(window, w["rate.weight"], w["rate.bias"]))
        rate = wide.total((bent.reshape(*key.lo.shape), point(2.0)))
        return ones, wide.total((rate, key)), point(np.ones((1, 1, 1, 1)))


@dataclass(frozen=True, eq=False)
class DiagonalStack(StackCell):
    """Channels h ← a·h + b; ``gate`` says how a is made from its inputs, as in the training architecture."""

    kind, reader = "diagonal", "gate.weight"
    orders = (CHUNKS, ANY, LEFT)
    gate: str = "complex"

    @classmethod
    def of(cls, tensors: Tensors, options: Mapping[str, Any]) -> "DiagonalStack":
        """See ``Cell``."""
        gate = options.get("gate")
        if gate not in GATES:
            raise InvalidInput(f"gate must be one of {', '.join(GATES)}; got {str(gate)[:20]!r}")
        return cls(tensors, gate=gate)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """See ``Cell``: complex gates take a square root and a quotient."""
        return ({"unit": "sigmoid", "signed": "tanh"}.get(self.gate, "turn"),)

    @property
    def memory(self) -> int:
        """See ``StackCell``."""
        return len(self.tensors["h.0.mix.gate.bias"])

    def mixer_shapes(self, inputs: int) -> dict[str, tuple[int, ...]]:
        """See ``StackCell``."""
        width = self.memory + (self.gate == "complex" and self.memory % 2)
        sizes = {"gate.weight": (inputs, width), "gate.bias": (width,), "write": (inputs, width)}
        return {**sizes, "out": (width, self.dim)}

    @property
    def options(self) -> dict[str, Any]:
        """See ``Cell``."""
        channels = self.memory // 2 if self.gate == "complex" else self.memory
        return self.stack_options | {"channels": channels, "gate": self.gate}

    def mix(
        self, sums: Sums, name: str, w: Mapping[str, Array], window: Real, memory: Real
    ) -> tuple[Real, Real]:
        """See ``StackCell``; complex numbers have their real parts in front."""
        wide, half = sums.wide, self.memory // 2
        z = sums.product(window, w["gate.weight"], w["gate.bias"])
        write, one = sums.product(window, w["write"]), point(1.0)
        if self.gate != "complex":
            gates = wide.tanh(z) if self.gate == "signed" else wide.sigmoid(z)
            sums.note(name, memory, gates.reshape(-1, 1))
            after = wide.total((gates, memory), (write, one))
            return sums.cast(after), after
        (x, y), (u, v) = split(memory, half), split(write, half)
        a, b = wide.disc(*split(z, half))
        sums.note(name, memory, a.reshape(-1, 1), b.reshape(-1, 1))
        real = wide.total((a, x), (-b, y), (u, one))
        after = beside([real, wide.total((a, y), (b, x), (v, one))])
        return sums.cast(after), after
