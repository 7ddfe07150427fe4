"""Rank-one steps that track any automaton in one layer: each letter as swaps and merges of two states.

States have the doubled code of ``delta_witness``. With the key k = (code of i − code of j)/2 and rates 2 a
step swaps i and j; with rates 2 at j and 0 at i it sends j to i and leaves the rest. All numbers are dyadic.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, LimitExceeded
from krohn.recurrent.cells import Floats, Tensors
from krohn.recurrent.delta_witness import WIDE, DeltaCode
from krohn.recurrent.elementary import swaps_and_merges
from krohn.recurrent.linear_cells import DeltaStack
from krohn.recurrent.stack_weights import MAX_PARAMETERS, Action, Array, Cascaded, Values, stack_weights

HEADS = 2  # one query reads the place p, the other p²


@dataclass(frozen=True, eq=False)
class RankOneStack(DeltaStack):
    """Steps S ← S + k (v − (a ⊙ k)ᵀS) with keys of length one and rates a between 0 and 2."""

    kind = "rankone"
    heads: int = HEADS

    @classmethod
    def of(cls, tensors: Tensors, options: Mapping[str, Any]) -> "RankOneStack":
        """See ``Cell``."""
        heads = options.get("heads")
        if type(heads) is not int or not 1 <= heads <= 1024:
            raise InvalidInput(f"heads must be a number from 1 to 1,024; got {str(heads)[:20]!r}")
        return cls(tensors, heads=heads)

    def mixer_ranks(self) -> dict[str, int]:
        """See ``StackCell``."""
        return {"query": 2, "key": 2, "value": 2, "rate.weight": 2, "rate.bias": 1}

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
        shapes: dict[str, tuple[int, ...]] = {name: (inputs, heads * width) for name, width in widths.items()}
        return shapes | {"rate.bias": (heads * steps * keys,), "out": (heads * values, self.dim)}

    @property
    def options(self) -> dict[str, Any]:
        """See ``Cell``."""
        heads, steps, keys, values = self.sizes_of_heads
        sizes = {"heads": heads, "steps": steps, "key_dim": keys, "value_dim": values, "rate_max": 2}
        return self.stack_options | sizes

    def mix(self, prefix: str, window: Floats, memory: Floats) -> tuple[Floats, Floats]:
        """See ``StackCell``."""
        heads, steps, keys, values = self.sizes_of_heads
        count = len(window)

        def projected(name: str, *shape: int) -> Floats:
            whole = self.sums.product(window, self.tensors[f"{prefix}mix.{name}"])
            return whole.reshape(count, heads, *shape)

        key = self._normed(projected("key", steps, keys))
        value, query = projected("value", steps, values), projected("query", keys)
        rate = 2 * self._saturated(prefix, "rate", window).reshape(count, heads, steps, keys)
        look = self.sums.times(rate, key)
        self.remember(prefix, memory, np.ones((count, heads, 1), np.float32), query, key, look, value)
        state = memory.reshape(count, heads, keys, values)
        for s in range(steps):
            missing = self.sums.plus(value[:, :, s], -self._read(look[:, :, s], state))
            change = self.sums.times(key[:, :, s, :, None], missing[:, :, None, :])
            state = self.sums.plus(state, change)
        return self._read(query, state).reshape(count, -1), state.reshape(count, -1)


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
    """One layer; as many steps as the letter that needs most, n less the components of its graph."""
    steps = max(1, *(len(swaps_and_merges(letter)) for letter in automaton.letters))
    count = 4 * automaton.num_letters * steps * 2 * automaton.num_states * (automaton.num_letters + 2)
    if count > MAX_PARAMETERS:
        raise LimitExceeded(
            f"a network may have at most {MAX_PARAMETERS:,} parameters; this one needs about {count:,}"
        )

    def step(values: Values, letter: int) -> tuple[tuple[Action, ...], Values]:
        images = automaton.letters[letter]
        return (images,), ((images[values[0][0]],),)

    machine = Cascaded(automaton, ((automaton.start,),), step, lambda values: values[0][0])
    code = RankOneCode(automaton.num_states, (automaton.start,), steps)
    return RankOneStack(stack_weights(machine, [code]))
