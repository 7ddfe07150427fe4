"""Lemma "Simulating a permutation-reset semiautomaton": a group, a memory, and q_t = q_r · g_≤r⁻¹ · g_≤t.

Channels: group vector G, its copy I at the last reset, value M, idle flag, then ⊥, position log(2T−t), t/T
and one. Erratum 29: position 0 must be an explicit reset to q₀ with the identity; as printed, a word
without reset copies g_≤t itself and the answer is always q₀. Erratum 33: the sizes confuse repDim with
repSize.

A component without resets needs no memory (the remark after "canonical encodings": (π ↦ π(q₀)) ∘ W), a
component without permutations is the memory lemma itself.
"""

from dataclasses import dataclass

import numpy as np

from krohn.algebra.counters import CounterTower, prime_tower
from krohn.algebra.transformation import compose, inverse
from krohn.cascade.holonomy import Update
from krohn.network.program import Meaning
from krohn.network.transformer import Layer
from krohn.paper.blocks import lift_mlp
from krohn.paper.component_cascade import PermutationReset
from krohn.paper.group_products import solvable_simulator
from krohn.paper.interpolation import interpolate_1d, table_mlp
from krohn.paper.memory import memory_head, memory_score

SHARED = ("bos", "log", "recency", "one")


@dataclass(frozen=True, eq=False)
class ResetSimulator:
    """Layers on ``channels`` + SHARED; the state ends in the value channel, which also takes resets.

    The meanings of channels are those of component 0.
    """

    part: PermutationReset
    tower: CounterTower
    layers: tuple[Layer, ...]
    channels: tuple[Meaning, ...]

    @property
    def rep_dim(self) -> int:
        """Channels of the group vector."""
        return sum(channel.kind == "component coordinate" for channel in self.channels)

    @property
    def value(self) -> int:
        """The channel of the state."""
        return self.channels.index(Meaning("component value", number=0))

    @property
    def inputs(self) -> list[int]:
        """The channels that a letter sets: group vector, value, idle flag."""
        return [i for i, channel in enumerate(self.channels) if channel.kind != "component copy"]

    def head_texts(self, layer: int, number: int) -> list[str]:
        """What the heads of one layer do, for component ``number``; none in a layer it does not have."""
        if layer >= len(self.layers):
            return []
        look_up = len(self.layers) - 1 - (self.rep_dim > 0)
        if self.part.has_resets and layer == look_up:
            return [f"component {number}: copies value and group vector of the latest reset"]
        return [f"component {number}: prefix sum"] * len(self.layers[layer].heads)

    def encode(self, action: Update) -> list[int]:
        """A letter on ``inputs``."""
        if isinstance(action, int):
            return [0] * self.rep_dim + [action] + [0] * self.part.has_resets
        return [*self.tower.vectors[action], 0] + [1] * self.part.has_resets

    def initial(self) -> list[int]:
        """Position 0 on ``inputs``: the reset to q₀."""
        return [0] * self.rep_dim + [self.part.initial * self.part.has_resets] + [0] * self.part.has_resets


def table_rows(part: PermutationReset, tower: CounterTower) -> int:
    """Rows of the table q·h⁻¹·g, or of q₀·g without resets."""
    order = len(tower.listed)
    if order == 1:
        return part.states
    return order**2 * part.states if part.has_resets else order


def reset_simulator(part: PermutationReset, length: int, counting: str = "relu") -> ResetSimulator:
    """The layers of the lemma for one component."""
    tower = prime_tower(part.permutations, part.states)
    group = solvable_simulator(tower, length, counting)
    width = group.rep_dim
    held = [Meaning("component coordinate", number=0, start=i) for i in range(width)]
    if part.has_resets:
        held += [Meaning("component copy", number=0, start=i) for i in range(width)]
    held += [Meaning(f"component {what}", number=0) for what in ("value", "idle")[: 1 + part.has_resets]]
    dim = len(held) + len(SHARED)
    shared = [len(held), len(held) + 1]
    layers = group.place(range(width), shared, dim)
    if part.has_resets:
        layers.append(_lookup(part, length, width, dim))
    if width:
        layers.append(_apply(part, tower, width, dim, counting))
    return ResetSimulator(part, tower, tuple(layers), tuple(held))


def _lookup(part: PermutationReset, length: int, width: int, dim: int) -> Layer:
    """Copies value and group vector of the last reset; the MLP rounds the value."""
    value, idle = 2 * width, 2 * width + 1
    copies = {value: value, **{i: width + i for i in range(width)}}
    head = memory_head(dim, idle, dim - 2, dim - 1, memory_score(part.states, length), copies)
    table = interpolate_1d(list(range(part.states)), list(range(part.states)), 1.0)
    keep = np.ones(dim)
    keep[value] = 0.0
    return Layer((head,), lift_mlp(table, [value], [value], dim), keep, keep)


def _apply(part: PermutationReset, tower: CounterTower, width: int, dim: int, counting: str) -> Layer:
    """The table (g, h, q) ↦ q·h⁻¹·g, or g ↦ q₀·g if there are no resets."""
    codes = tower.vectors
    if part.has_resets:
        value, reads = 2 * width, [*range(2 * width + 1)]
        rows = {
            (*codes[g], *codes[h], q): compose(inverse(h), g)[q]
            for g in codes
            for h in codes
            for q in range(part.states)
        }
    else:
        value, reads = width, [*range(width)]
        rows = {codes[g]: g[part.initial] for g in codes}
    mlp = table_mlp(np.array(list(rows)), np.array(list(rows.values())), counting)
    keep = np.ones(dim)
    keep[value] = 0.0
    return Layer((), lift_mlp(mlp, reads, [value], dim), np.ones(dim), keep)
