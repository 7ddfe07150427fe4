"""A cascade of simple layers as the weights of a training architecture: embedding, blocks, read-out.

Layer i holds a value and changes it by an *action* that depends on the letter and on the values of the layers
above before the letter. The stream has a channel for each letter, the numbers that each layer reads, and a
channel for each action of each layer but the first. The MLP behind layer i sees the letter and, one position
back, what layers 0…i read; a unit is the AND of one case, and enables the action of layer i + 1.
At the first letter nothing was read: zero is the code of the start.

*Lagging* layers hold their values before the letter instead: a mixer applies the previous letter's action,
the MLPs see letter and values at one position, and the first letter writes the code of the start. So an
action need not write anything where it only rotates a number, and a rounded AND leaves no trace in it.

``CountingMachine`` is a cascade whose levels count: a level is the tile of the last reset, and the product of
the permutations since then. The product is a tower of counters, the sections of the level's group.
Each layer holds the counters of one section, and the first layer of a level also the tile. What a letter adds
to a counter depends only on the layers above.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.algebra.counters import CounterTower
from krohn.automata.graph import explore
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.holonomy import Cascade, Update
from krohn.cascade.levels import CascadeLevel, cascade_levels
from krohn.check.recurrent.cells import Tensors
from krohn.errors import LimitExceeded

Array = npt.NDArray[np.float64]
Value = Any
"""What a layer holds, hashable; its code knows the form."""
Action = Any
"""What a letter does to a layer, hashable; its code knows the form."""
Values = tuple[Value, ...]
MAX_CASES = 20_000
MAX_PARAMETERS = 50_000_000


@dataclass(frozen=True)
class LayeredMachine:
    """An automaton as layers: where it starts, what a letter does, which state the values stand for."""

    automaton: Semiautomaton
    start: Values
    actions: Callable[[Values, int], tuple[tuple[Action, ...], Values]]
    state: Callable[[Values], int]


class Code(ABC):
    """How a layer of one kind holds values: what it reads, and the weights of its actions."""

    @property
    @abstractmethod
    def reads(self) -> int:
        """Number of channels that it adds to the stream; all are zero at the start."""

    @abstractmethod
    def test(self, value: Value) -> tuple[Array, float]:
        """Weights and bias of a sum of what is read: 1 at this value, at most 0 at every other."""

    @abstractmethod
    def mixer(self, actions: Sequence[Action], channels: Sequence[int], inputs: int) -> dict[str, Array]:
        """Tensors of the mixer without ``out``; the action ``actions[j]`` comes on ``channels[j]``."""

    @abstractmethod
    def out(self) -> Array:
        """The output matrix of the mixer [mixer outputs, reads]."""

    def first(self) -> Array | None:
        """What is written at the first letter, if layers of this kind lag."""
        return None


@dataclass
class _Cases:
    """All reachable cases: (letter, values above) of each layer with the action, and final values."""

    by_layer: list[dict[tuple[int, Values], Action]]
    ends: dict[Values, int]
    answers: dict[tuple[int, Values], int]


def _explore(machine: LayeredMachine) -> _Cases:
    by_layer: list[dict[tuple[int, Values], Action]] = [{} for _ in machine.start]

    def after(values: Values) -> Iterator[Values]:
        for letter in range(machine.automaton.num_letters):
            actions, end = machine.actions(values, letter)
            for layer, action in enumerate(actions):
                known = by_layer[layer].setdefault((letter, values[:layer]), action)
                assert known == action, "an action depends on the letter and the layers above alone"
            yield end

    refusal = (
        f"a stack is built for at most {MAX_CASES:,} combinations of values; this automaton has more: choose "
        "lstm, gru or rankone"
    )
    order, rows = explore(machine.start, after, MAX_CASES, refusal)
    ends = {values: machine.state(values) for values in order}
    states = list(ends.values())
    answers = {(a, v): states[n] for v, row in zip(order, rows, strict=True) for a, n in enumerate(row)}
    return _Cases(by_layer, ends, answers)


def all_actions(machine: LayeredMachine) -> list[list[Action]]:
    """For each layer its distinct actions."""
    return [list(dict.fromkeys(layer.values())) for layer in _explore(machine).by_layer]


def stack_weights(machine: LayeredMachine, codes: Sequence[Code]) -> Tensors:
    """Tensors by the names of the training architecture: no norm, ReLU, a window of two letters if needed."""
    return _Builder(machine, codes, _explore(machine)).tensors()


class _Builder:
    def __init__(self, machine: LayeredMachine, codes: Sequence[Code], cases: _Cases) -> None:
        self.machine, self.codes, self.cases = machine, codes, cases
        self.lagging = any(code.first() is not None for code in codes)
        self.letters, self.states = machine.automaton.num_letters, machine.automaton.num_states
        lists = [list(dict.fromkeys(layer.values())) for layer in cases.by_layer]
        first = [cases.by_layer[0][letter, ()] for letter in range(self.letters)]
        self.actions: list[list[Action]] = [first, *lists[1:]]
        place = self.letters
        self.read_at, self.action_at = [], [list(range(self.letters))]
        for layer, code in enumerate(codes):
            self.read_at.append(np.arange(place, place + code.reads))
            place += code.reads
            if layer + 1 < len(codes):
                self.action_at.append(list(range(place, place + len(self.actions[layer + 1]))))
                place += len(self.actions[layer + 1])
        # One layer whose values are the states needs no MLP: its tests are the read-out.
        self.plain = not self.lagging and len(codes) == 1 and len(set(cases.ends.values())) == len(cases.ends)
        self.state_at = np.arange(place, place + (0 if self.plain else self.states))
        self.dim = place + len(self.state_at)
        self.inputs = self.dim * (2 if self.lagging or len(codes) > 1 else 1)

    def tensors(self) -> Tensors:
        """All tensors, float32."""
        result: dict[str, Array] = {"wte": np.eye(self.letters, self.dim)}
        bent = [] if self.plain else [self._mlp(layer) for layer in range(len(self.codes))]
        width = max((len(bias) for _, bias, _ in bent), default=0)
        check_size(self.inputs * width * len(self.codes))
        for layer, code in enumerate(self.codes):
            prefix = f"h.{layer}."
            mixer = self._mixer(layer)
            out = code.out()
            result[f"{prefix}mix.out"] = np.zeros((len(out), self.dim))
            result[f"{prefix}mix.out"][:, self.read_at[layer]] = out
            result |= {f"{prefix}mix.{name}": array for name, array in mixer.items()}
            if bent:
                inward, bias, outward = bent[layer]
                spare = width - len(bias)
                result[f"{prefix}mlp.in"] = np.pad(inward, ((0, 0), (0, spare)))
                result[f"{prefix}mlp.in_bias"] = np.pad(bias, (0, spare))
                result[f"{prefix}mlp.out"] = np.pad(outward, ((0, spare), (0, 0)))
        result["head.weight"], result["head.bias"] = self._head()
        return {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in result.items()}

    def _mixer(self, layer: int) -> dict[str, Array]:
        """The mixer's tensors; lagging ones look back at actions, and the first letter writes the start."""
        code, channels, first = self.codes[layer], self.action_at[layer], self.codes[layer].first()
        if first is None:
            return code.mixer(self.actions[layer], channels, self.inputs)
        mixer = code.mixer(self.actions[layer], [self.dim + channel for channel in channels], self.inputs)
        mixer["write"][: self.letters] += first
        mixer["write"][self.dim : self.dim + self.letters] -= first
        return mixer

    def _ands(self, layer: int) -> list[tuple[int | None, Values, int]]:
        """Letter, values and the channel that they switch on, for each unit of an MLP."""
        if layer + 1 < len(self.codes):
            places = dict(zip(self.actions[layer + 1], self.action_at[layer + 1], strict=True))
            return [(*case, places[action]) for case, action in self.cases.by_layer[layer + 1].items()]
        if self.lagging:
            return [(*case, int(self.state_at[state])) for case, state in self.cases.answers.items()]
        return [(None, values, int(self.state_at[state])) for values, state in self.cases.ends.items()]

    def _mlp(self, layer: int) -> tuple[Array, Array, Array]:
        """Units 2·(sum of tests) − 1: exactly 0 unless all tests hold, and 1 if they do."""
        last, ands = layer + 1 == len(self.codes), self._ands(layer)
        check_size(self.inputs * len(ands))
        inward, bias = np.zeros((self.inputs, len(ands))), np.zeros(len(ands))
        outward = np.zeros((len(ands), self.dim))
        shift = 0 if last or self.lagging else self.dim
        for unit, (letter, values, target) in enumerate(ands):
            bias[unit] = 1 - len(values) - (letter is not None)
            if letter is not None:
                inward[letter, unit] = 1
            for code, read_at, value in zip(self.codes, self.read_at, values, strict=False):
                weight, constant = code.test(value)
                inward[shift + read_at, unit] = weight
                bias[unit] += constant
            outward[unit, target] = 1
        return 2 * inward, 2 * bias - 1, outward

    def _head(self) -> tuple[Array, Array]:
        weight, bias = np.zeros((self.dim, self.states)), np.zeros(self.states)
        if not self.plain:
            weight[self.state_at, np.arange(self.states)] = 1
            return weight, bias
        bias[:] = -1.0  # states that are never reached; tests are 1 or at most 0
        for values, state in self.cases.ends.items():
            weight[self.read_at[0], state], bias[state] = self.codes[0].test(values[0])
        return weight, bias


def check_size(count: int) -> None:
    """Refuses networks of more than ``MAX_PARAMETERS`` parameters."""
    if count > MAX_PARAMETERS:
        raise LimitExceeded(
            f"a network may have at most {MAX_PARAMETERS:,} parameters; this one needs {count:,}"
        )


Residues = tuple[int, ...]
Held = tuple[int, Residues]
"""What a layer holds: the tile of the last reset (in the first layer of a level), and counters."""
Towers = Callable[[list[tuple[int, ...]], int], CounterTower]
"""Builds a tower of the group generated by permutations of this many tiles."""


class CountingMachine:
    """An automaton whose levels count; values are ``Held``, actions ("add", steps) or ("set", tile, 0)."""

    def __init__(self, cascade: Cascade, towers: Towers) -> None:
        levels = [_Level(level, towers) for level in cascade_levels(cascade, cascade.automaton.start)]
        self.layers = [layer for level in levels for layer in level.layers()]
        self.tiles = max((level.size for level in levels if level.layers()[0][0] is not None), default=0)
        self.machine = _machine(cascade, levels)


class _Level:
    """One level: its tower of counters and the tile it starts from."""

    def __init__(self, level: CascadeLevel, towers: Towers) -> None:
        self.size, self.start = level.num_tiles, level.initial
        moves = {self.pad(action) for action in level.triples.values() if isinstance(action, tuple)}
        self.tower = towers(sorted(moves), self.size)
        self.has_resets = level.cascade.num_levels > 1 or level.has_resets

    @property
    def depth(self) -> int:
        """Number of layers."""
        return max(1, len(self.tower.sections))

    def layers(self) -> list[tuple[int | None, Residues]]:
        """For each layer the tile it starts from, if it holds one, and the moduli of its counters."""
        moduli = [*self.tower.moduli_by_section] or [()]
        keeps = self.has_resets or not self.tower.sections
        return [(self.start if keeps and i == 0 else None, counters) for i, counters in enumerate(moduli)]

    def first(self) -> list[Held]:
        """What its layers hold at the start."""
        return [(self.start if i == 0 else 0, (0,) * len(m)) for i, (_, m) in enumerate(self.layers())]

    def tile(self, held: Sequence[Held]) -> int:
        """The coordinate that its layers encode."""
        residues = tuple(r for _, counters in held for r in counters)
        return self.tower.element(residues)[held[0][0]]

    def change(self, held: Sequence[Held], update: Update) -> tuple[list[Action], list[Held]]:
        """Actions and values after a permutation of tiles or a reset."""
        if isinstance(update, int):
            after = [(update if i == 0 else 0, (0,) * len(r)) for i, (_, r) in enumerate(held)]
            return [("set", *value) for value in after], after
        actions: list[Action] = []
        after, letter = [], self.pad(update)
        for section, (tile, before) in zip(self.tower.sections, held, strict=False):
            actions.append(("add", section.residues[letter]))
            counters, letter = section.next_letter(before, letter)
            after.append((tile, counters))
        return (actions, after) if actions else ([("add", ())], [*held])

    def pad(self, move: tuple[int, ...]) -> tuple[int, ...]:
        """A permutation of all tile numbers of the level."""
        return (*move, *range(len(move), self.size))


def _machine(cascade: Cascade, levels: Sequence[_Level]) -> LayeredMachine:
    def split(values: Values) -> list[list[Held]]:
        held = iter(values)
        return [list(islice(held, level.depth)) for level in levels]

    def tiles(values: Values) -> tuple[int, ...]:
        return tuple(level.tile(held) for level, held in zip(levels, split(values), strict=True))

    def step(values: Values, letter: int) -> tuple[tuple[Action, ...], Values]:
        actions: list[Action] = []
        after: list[Value] = []
        changes = cascade.changes(tiles(values), letter)
        for level, held, change in zip(levels, split(values), changes, strict=True):
            done, new = level.change(held, level.start if change is None else change)
            actions += done
            after += new
        return tuple(actions), tuple(after)

    start: Values = tuple(value for level in levels for value in level.first())
    return LayeredMachine(cascade.automaton, start, step, lambda values: cascade.state(tiles(values)))
