"""Hints of Theorem 2: cosets of a group's state by its derived series, or coordinates of the cascade."""

import numpy as np
import torch
from torch import Tensor

from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transformation import orbits
from krohn.automata.graph import explore
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.holonomy import holonomy_cascade
from krohn.errors import Unsupported, counted
from krohn.lab.tasks.lessons import Hint, Ints, Lessons

# Coordinates of a cascade are run as one automaton with this many states at most.
MOST_COORDINATES = 65_536


def cascade_levels(automaton: Semiautomaton) -> tuple[Ints, list[Ints]]:
    """An automaton that runs the cascade, as a table with start 0, and the label of its states at each level.

    The last level of a group is its state, which the network is asked for anyway: it is left out.
    """
    table = automaton.table
    letters = [tuple(column) for column in table.T.tolist()]
    if all(len(set(letter)) == len(letter) for letter in letters):
        order = [automaton.start, *(q for q in range(automaton.num_states) if q != automaton.start)]
        series = PermutationGroup(letters, automaton.num_states).derived_series
        parts = [orbits(group.generators, group.degree) for group in series[1:] if not group.is_trivial]
        labels = [{q: number for number, orbit in enumerate(part) for q in orbit} for part in parts]
        return np.argsort(order)[table[order]], [np.array([label[q] for q in order]) for label in labels]
    return _coordinates(automaton)


def _coordinates(automaton: Semiautomaton) -> tuple[Ints, list[Ints]]:
    """The coordinates of the holonomy cascade that words reach."""
    covering = holonomy_cascade(automaton)
    reached, rows = explore(
        covering.initial,
        lambda values: [covering.step(values, letter) for letter in range(automaton.num_letters)],
        MOST_COORDINATES,
        f"cascade hints need at most {MOST_COORDINATES:,} coordinates; "
        f"{automaton.name or 'this automaton'} has more: use --teach doubling",
    )
    return np.array(rows), list(np.array(reached).T)


def cascade(automaton: Semiautomaton, layers: int, device: torch.device) -> Lessons:
    """Hints for the levels of the cascade, spread evenly over the blocks before the last."""
    table, levels = cascade_levels(automaton)
    name = automaton.name or "this automaton"
    if len(levels) < 1 or (len(levels) == 1 and len(set(levels[0].tolist())) >= automaton.num_states):
        raise Unsupported(f"cascade hints need two levels or more; {name} has one: use --teach doubling")
    if len(levels) > layers:
        raise Unsupported(
            f"cascade hints need a layer for each level; {name} has {len(levels)} levels and the network "
            f"{counted(layers, 'layer')}: give more"
        )
    step, letters = torch.tensor(table.reshape(-1), device=device), table.shape[1]
    marks = torch.tensor(np.stack(levels), device=device)

    def labels(words: Tensor) -> Tensor:
        state, states = torch.zeros_like(words[..., 0], dtype=torch.int64), []
        for letter in words.long().unbind(-1):
            state = step[state * letters + letter]
            states.append(state)
        return marks[:, torch.stack(states, -1)][..., None]

    blocks = [max(number, number * layers // (len(levels) + 1)) for number in range(1, len(levels) + 1)]
    hints = (
        Hint(block, f"level {number}", int(level.max()) + 1)
        for number, (block, level) in enumerate(zip(blocks, levels, strict=True), 1)
    )
    return Lessons(tuple(hints), labels)
