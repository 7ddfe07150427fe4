"""Shortcuts that the paper calls less interesting, and the recurrence: depth, width and parameters.

A table that memorises all words is constant in depth and as wide as there are words; √T chunks are memorised
one after the other. Both work for every automaton and use nothing of its structure (the paper, section 3,
below the definition of a shortcut). Numbers are of a network of one-hot vectors with a unit for each row of
a table, all weights counted; the theorems' own networks are built and measured instead.
"""

from dataclasses import dataclass
from math import isqrt

from krohn.automata.semiautomaton import Semiautomaton


@dataclass(frozen=True)
class ShortcutSize:
    """Layers one after the other, units of the widest, and all weights; whole numbers of any size."""

    depth: int
    width: int
    parameters: int


def recurrence(automaton: Semiautomaton, length: int) -> ShortcutSize:
    """A step for each letter: a unit for each state and letter; the steps share their weights."""
    states, letters = automaton.num_states, automaton.num_letters
    units = states * letters
    return ShortcutSize(length, units, _table(units, states + letters, states))


def chunk_of(length: int) -> int:
    """Letters of a chunk: the least whole number whose square is at least the length."""
    return isqrt(length - 1) + 1


def chunked(automaton: Semiautomaton, length: int) -> ShortcutSize:
    """A layer for each chunk of √T letters: a unit for each state before it and each of its words."""
    states, letters, chunk = automaton.num_states, automaton.num_letters, chunk_of(length)
    depth, units = -(-length // chunk), states * letters**chunk
    return ShortcutSize(depth, units, depth * _table(units, states + chunk * letters, states))


def memorising(automaton: Semiautomaton, length: int) -> ShortcutSize:
    """One layer: a unit for each word of the length."""
    states, letters = automaton.num_states, automaton.num_letters
    units = letters**length
    return ShortcutSize(1, units, _table(units, length * letters, states))


def _table(units: int, inputs: int, outputs: int) -> int:
    """Weights of an MLP that holds a table: into each unit, its bias, and out."""
    return units * (inputs + 1 + outputs)
