"""Rank-one steps that track any automaton in one layer: each letter as swaps and merges of two states.

States have the doubled code of ``delta_weights``. With the key k = (code of i − code of j)/2 and rates 2 a
step swaps i and j; with rates 2 at j and 0 at i it sends j to i and leaves the rest. All numbers are dyadic.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.stacks import RankOneStack
from krohn.errors import LimitExceeded
from krohn.recurrent.delta_weights import WIDE, DeltaCode
from krohn.recurrent.elementary import swaps_and_merges
from krohn.recurrent.stack_weights import MAX_PARAMETERS, Action, Array, Cascaded, Values, stack_weights

HEADS = 2  # one query reads the place p, the other p²


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
    """One layer; as many steps as the most expensive letter needs, n minus the components of its graph."""
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
