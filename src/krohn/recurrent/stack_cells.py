"""Stacks of linear recurrences, with the tensors of the training architectures.

No norms, ReLU, a window of one or two letters. A step is one letter through all blocks. What is carried on is
each block's memory, and of the letter before those channels that some weight looks back at. A sum that is
exact, or a gate that is saturated, does not depend on the order of adding: ``Sums`` keeps watch.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from krohn.recurrent.cells import Cell, Floats, Stage


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
        return after, self._scores(x)

    def letters(self) -> Floats:
        """See ``Cell``: the first stream."""
        return self.tensors["wte"]

    def stages(self) -> list[Stage]:
        """See ``Cell``: the blocks; of the stream only what some later weight looks at is handed on."""
        sizes = [len(seen) for seen in self._looks_back]

        def block(i: int) -> Stage:
            def step(given: Floats, carried: Floats) -> tuple[Floats, Floats]:
                parts = np.split(carried, np.cumsum([self.memory, sizes[2 * i]]), axis=1)
                kept, x = self._block(i, given, *parts)
                if i + 1 == self.layers:
                    return np.concatenate(kept, axis=1), self._scores(x)
                lost = ~np.isfinite(x).all(axis=1)
                x[:, ~self._seen_after[i]] = 0
                x[lost] = np.nan
                return np.concatenate(kept, axis=1), x

            return Stage(self.memory + sizes[2 * i] + sizes[2 * i + 1], step)

        return [block(i) for i in range(self.layers)]

    @cached_property
    def _seen_after(self) -> list[np.ndarray]:
        """For each block: whether some weight behind it looks at a channel of the stream, now or later."""
        seen = np.any(self.tensors["head.weight"] != 0, axis=1)
        found = [seen]
        for i in reversed(range(1, self.layers)):
            names = [*(f"mix.{name}" for name in self.mixer_ranks()), *(["mlp.in"] if self.mlp else [])]
            weights = [w for w in (self.tensors[f"h.{i}.{name}"] for name in names) if w.ndim == 2]
            rows = np.any([np.any(w != 0, axis=1) for w in weights], axis=0)
            seen = seen | rows.reshape(self.conv, self.dim).any(axis=0)
            found.append(seen)
        return found[::-1]

    def _scores(self, x: Floats) -> Floats:
        weight = np.vstack([self.tensors["head.weight"], self.tensors["head.bias"]])
        scores = self.sums.product(np.hstack([x, np.ones((len(x), 1), np.float32)]), weight)
        lost = ~np.isfinite(x).all(axis=1)  # a channel that no weight looks at must be a number all the same
        scores[lost] = np.nan
        return scores

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
            (memory, *both), x = self._block(i, x, memories[:, i], behind[2 * i], behind[2 * i + 1])
            kept.append(memory)
            near += both
        return np.concatenate([*kept, *near], axis=1), x

    def _block(
        self, i: int, x: Floats, memory: Floats, before_mixer: Floats, before_mlp: Floats
    ) -> tuple[tuple[Floats, Floats, Floats], Floats]:
        """What block i carries on (memory, channels looked back at by the mixer and the MLP), the stream."""
        prefix = f"h.{i}."
        near_mixer = x[:, self._looks_back[2 * i]]
        read, memory = self.mix(prefix, self._window(x, before_mixer, 2 * i), memory)
        x = self.sums.plus(x, self.sums.product(read, self.tensors[f"{prefix}mix.out"]))
        near_mlp = x[:, self._looks_back[2 * i + 1]]
        if self.mlp:
            window = self._window(x, before_mlp, 2 * i + 1)
            bent = np.maximum(self.affine(window, f"{prefix}mlp.in", f"{prefix}mlp.in_bias"), np.float32(0))
            x = self.sums.plus(x, self.sums.product(bent, self.tensors[f"{prefix}mlp.out"]))
        return (memory, near_mixer, near_mlp), x

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
