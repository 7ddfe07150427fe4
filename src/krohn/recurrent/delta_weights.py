"""DeltaProduct that tracks an automaton: one layer if letters permute or reset, else one for each level.

Points have a doubled code, (1, 1) at their place, so that the key of a swap, (1, 1, −1, −1)/2, has length one
and every number is dyadic. A column of the memory follows one point. Two heads hold the same memory; their
queries read the place p and p², so that 1 − (p − v)² tests for a value in one sum.

The map of a letter is written as swaps and merges of two states (``small_action.py``), one step of a
recurrent layer each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transformation import Permutation, is_permutation
from krohn.automata.quotients import reachable_states
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import UNITS, Budget
from krohn.cascade.holonomy import Cascade, holonomy_cascade
from krohn.check.recurrent.stacks import DeltaStack
from krohn.recurrent.small_action import small_action, swaps_and_merges
from krohn.recurrent.stack_weights import (
    Action,
    Array,
    Code,
    LayeredMachine,
    Value,
    Values,
    all_actions,
    stack_weights,
)

WIDE = 128.0
"""Input of a gate that is exactly 0 or 1."""
Places = tuple[int, ...]
Steps = list[tuple[float, Array, Array]]
"""β, k, v of each step; a memory's column holds the code of its point's image less that of the point."""


@dataclass(frozen=True)
class Columns:
    """An automaton as layers that hold places: each layer's columns follow points by moves and resets."""

    machine: LayeredMachine
    points: int

    def codes(self, steps: int) -> list["DeltaCode"]:
        """A code for each layer, all of one size."""
        return [DeltaCode(self.points, columns, steps) for columns in self.machine.start]

    def network(self) -> DeltaStack:
        """Weights with as many steps for each letter as the longest action needs."""
        code = DeltaCode(self.points, self.machine.start[0])
        steps = code.count_steps([action for layer in all_actions(self.machine) for action in layer])
        return DeltaStack(stack_weights(self.machine, self.codes(steps)))


def deltaproduct(automaton: Semiautomaton) -> DeltaStack:
    """One layer for permutations and resets; stacks follow the holonomy cascade."""
    return in_columns(automaton).network()


def in_columns(automaton: Semiautomaton, *, resets_in_one_step: bool = False) -> Columns:
    """The automaton as columns that follow points; a reset is one step for each column."""
    part = set(reachable_states(automaton))
    permuting = [a for a, letter in enumerate(automaton.letters) if is_permutation(letter)]
    rest = set(range(automaton.num_letters)) - set(permuting)
    if any(len({automaton.letters[a][q] for q in part}) > 1 for a in rest):
        return _stack(holonomy_cascade(automaton, budget=Budget(UNITS)))
    if permuting and not (rest and resets_in_one_step):
        smaller = small_action(tuple(automaton.letters[a] for a in permuting))
        action = dict(zip(permuting, smaller, strict=True))
        columns, places = _track(automaton, action)
        if part <= places.keys():
            return _single(automaton, action, columns, places)
    own = {a: automaton.letters[a] for a in permuting}
    return _single(automaton, own, (automaton.start,), {q: (q,) for q in range(automaton.num_states)})


def _track(automaton: Semiautomaton, action: dict[int, Permutation]) -> tuple[Places, dict[int, Places]]:
    """Points whose images separate the states, and these images for each state that permutations reach.

    Empty if a state does not determine the images, for instance where the group moves fewer states.
    """
    degree = len(next(iter(action.values())))
    # Only the identity fixes a base, so the images of its points tell all elements of the group apart.
    base = PermutationGroup(list(action.values()), degree).base or (0,)
    places = {automaton.start: tuple(base)}
    queue = [automaton.start]
    for state in queue:
        for letter, images in action.items():
            target = automaton.step(state, letter)
            moved = tuple(images[point] for point in places[state])
            if target not in places:
                places[target] = moved
                queue.append(target)
            elif places[target] != moved:
                return tuple(base), {}
    return tuple(base), places if len(set(places.values())) == len(places) else {}


def _single(
    automaton: Semiautomaton, action: dict[int, Permutation], columns: Places, places: dict[int, Places]
) -> Columns:
    """``places[q]`` lists where the columns' points are in state q; letters without an action are resets."""
    points = len(next(iter(action.values()))) if action else automaton.num_states
    states = {place: q for q, place in places.items()}
    moves: list[Action] = [
        ("move", action[a]) if a in action else ("reset", places[automaton.step(automaton.start, a)])
        for a in range(automaton.num_letters)
    ]

    def step(values: Values, letter: int) -> tuple[tuple[Action, ...], Values]:
        return (moves[letter],), (move(values[0], moves[letter]),)

    return Columns(LayeredMachine(automaton, (columns,), step, lambda values: states[values[0]]), points)


def _stack(cascade: Cascade) -> Columns:
    """A layer for each level; a level that is not read is reset to its start."""
    most, start = max(cascade.sizes), cascade.initial

    def step(values: Values, letter: int) -> tuple[tuple[Action, ...], Values]:
        actions: list[Action] = []
        for change, first in zip(cascade.changes(tuple(v[0] for v in values), letter), start, strict=True):
            to = first if change is None else change
            padded = to if isinstance(to, int) else (*to, *range(len(to), most))
            actions.append(("reset", (padded,)) if isinstance(padded, int) else ("move", padded))
        return tuple(actions), tuple(map(move, values, actions))

    machine = LayeredMachine(
        cascade.automaton,
        tuple((place,) for place in start),
        step,
        lambda values: cascade.state(tuple(value[0] for value in values)),
    )
    return Columns(machine, most)


def move(value: Value, action: Action) -> Places:
    """Places after a move or a reset."""
    kind, images = action
    return images if kind == "reset" else tuple(map(images.__getitem__, value))


@dataclass(frozen=True)
class DeltaCode(Code):
    """Columns that follow points; values are their places, which start at ``columns``."""

    points: int
    columns: Places
    steps: int = 1

    def count_steps(self, actions: Sequence[Action]) -> int:
        """Steps that the longest action takes."""
        return max([1, *(len(self._plan(action)) for action in actions)])

    @property
    def reads(self) -> int:
        """See ``Code``: p − p₀ of each column, then p² − p₀²."""
        return 2 * len(self.columns)

    def test(self, value: Value) -> tuple[Array, float]:
        """See ``Code``: Σ over columns of 1 − (p − v)², less the number of columns but one."""
        wanted, start = np.array(value, dtype=np.float64), np.array(self.columns, dtype=np.float64)
        weight = np.concatenate([2 * wanted, -np.ones(len(wanted))])
        return weight, float((1 - (start - wanted) ** 2).sum() - (len(wanted) - 1))

    def mixer(self, actions: Sequence[Action], channels: Sequence[int], inputs: int) -> dict[str, Array]:
        """See ``Code``."""
        width, heads, columns = 2 * self.points, 2, len(self.columns)
        query = np.zeros((inputs, heads, width))
        key = np.zeros((inputs, heads, self.steps, width))
        value = np.zeros((inputs, heads, self.steps, columns))
        beta, gate = np.zeros((inputs, heads, self.steps)), np.zeros((inputs, heads))
        places = np.repeat(np.arange(self.points), 2) / 2
        for channel, action in zip(channels, actions, strict=True):
            query[channel] = places, 2 * places**2
            gate[channel] = WIDE if action[0] == "move" else -WIDE
            for s, (strength, k, v) in enumerate(self._plan(action)):
                key[channel, :, s], value[channel, :, s] = k, v
                beta[channel, :, s] = WIDE if strength == 2 else 0
        flat = {"query": query, "key": key, "value": value, "beta.weight": beta, "gate.weight": gate}
        biases = {"beta.bias": np.zeros(heads * self.steps), "gate.bias": np.zeros(heads)}
        return {name: array.reshape(inputs, -1) for name, array in flat.items()} | biases

    def out(self) -> Array:
        """See ``Code``."""
        return np.eye(self.reads)

    def _plan(self, action: Action) -> Steps:
        code = np.repeat(np.eye(self.points), 2, axis=1)
        own = code[list(self.columns)]
        kind, images = action
        if kind == "move":
            keys = [(code[i] - code[j]) / 2 for _, i, j in swaps_and_merges(images)]
            return [(2.0, k, -own @ k) for k in keys]
        return _writes(code[list(images)] - own)


def _writes(wanted: Array) -> Steps:
    """After the gate has cleared the memory: one write per distinct row; rows already written are kept."""
    done = np.zeros_like(wanted)
    steps: Steps = []
    for row in dict.fromkeys(map(tuple, wanted)):
        if any(row):
            key, own = np.array(row) / 2, (wanted == row).all(axis=1)
            steps.append((1.0, key, np.where(own, 2.0, done @ key)))
            done[own] = row
    return steps
