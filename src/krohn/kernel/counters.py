"""How a Transformer of counting heads computes, as hints for Coq, which checks every one of them.

A head gives each letter the same share, so what it gives is a count of steps, and the MLP takes counts modulo
something. Before each layer a letter has one of finitely many classes: at first the letter itself, then
what the class and the residues of the counts make of it. All is read off the weights in float64.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import LimitExceeded, Unsupported
from krohn.network.forward import apply_mlp
from krohn.network.transformer import Layer, Matrix, Transformer

GRID = 2.0**40
"""Coq's boxes end at multiples of one over it."""
ROUNDING = 2.0**-24
MOST_PAIRS = 3_000
MOST_COUNTS = 20_000
"""Each count is a box through the MLP; more would take Coq hours."""
LATER = 2.0**-14
"""After the first layer a register is off by less, in units."""
TOLERANCE = 0.01
"""Channels that hold different values of a register differ by more."""


@dataclass(frozen=True)
class Channel:
    """One value of a head: its counter, and the unit of its steps with a slack, on the grid."""

    counter: int
    unit: int
    slack: int


@dataclass(frozen=True)
class HeadHint:
    """The share of a letter with its slack, on the grid, and the values."""

    share: int
    slack: int
    channels: tuple[Channel, ...]


@dataclass(frozen=True)
class LayerHint:
    """``Layers.v`` has the same names.

    Attributes:
        steps: for each counter, what each class adds.
        moduli: for each counter, after how many steps the MLP's results repeat.
        owned: for each counter, the channels that depend on no other counter.
        following: for each class and each list of residues, the class after the layer.
        classes: how many there are after the layer.
    """

    heads: tuple[HeadHint, ...]
    steps: tuple[tuple[int, ...], ...]
    moduli: tuple[int, ...]
    owned: tuple[tuple[int, ...], ...]
    following: tuple[tuple[int, ...], ...]
    classes: int


Residues = tuple[tuple[int, ...], ...]
"""For each layer the residues of its counters."""


@dataclass(frozen=True)
class Counting:
    """All hints: ``states`` is the state of each class at the end, ``known`` what words reach."""

    layers: tuple[LayerHint, ...]
    states: tuple[int, ...]
    known: tuple[tuple[Residues, int], ...]
    right: bool


class NoCounters(Exception):
    """The weights are not those of counting heads; the text says why."""


def counting(network: Transformer, automaton: Semiautomaton) -> Counting:
    """The hints for a network; right or not is for Coq to say."""
    stream = network.embedding + network.positions[1]
    places = network.positions.copy()
    places[0] += network.padding[0]
    layers = []
    with np.errstate(all="ignore"):
        for index, layer in enumerate(network.layers):
            hint, stream = _layer_hint(index, layer, stream, places)
            layers.append(hint)
            places = places * layer.keep_attention * layer.keep_mlp
        states = (stream @ network.readout + network.readout_bias).argmax(axis=1).tolist()
    known, right = _reached(layers, states, automaton)
    return Counting(tuple(layers), tuple(states), known, right)


def _head_hints(
    index: int, layer: Layer, stream: Matrix, places: Matrix
) -> tuple[list[HeadHint], list[tuple[int, ...]], list[Matrix]]:
    """The heads, the steps of all their counters, and what one step of each adds to the stream."""
    heads: list[HeadHint] = []
    steps: list[tuple[int, ...]] = []
    effects: list[Matrix] = []
    length = len(places) - 1
    for head in layer.heads:
        query = places[length] @ head.query
        letter = np.exp(query @ (stream[0] @ head.key) - query @ (places[0] @ head.key))
        share = float(letter / (1 + length * letter))
        channels = []
        for values, out in zip((stream @ head.value).T, head.output, strict=True):
            if not isfinite(share) or not np.isfinite(values).all():
                raise NoCounters("a head's share or value is not a number")
            size = np.abs(values)
            unit = float(size[size > TOLERANCE].min(initial=np.inf))
            unit = unit if isfinite(unit) else 1.0
            counts = np.rint(values / unit)
            if length * counts.max() > MOST_COUNTS:
                raise NoCounters(f"a head counts to more than {MOST_COUNTS:,}")
            rounded = 4 * stream.shape[1] * ROUNDING * size.max() + np.abs(values - unit * counts).max()
            rounded = max(rounded, unit * LATER if index else 0.0)
            channels.append(Channel(len(steps), round(unit * GRID), int(rounded * GRID) + 17))
            steps.append(tuple(int(count) for count in counts))
            effects.append(share * unit * out)
        slack = 1.25 * (2 * len(places) + 400 + 250 * index) * ROUNDING
        heads.append(HeadHint(round(share * GRID), int(share * slack * GRID) + 17, tuple(channels)))
    return heads, steps, effects


def _layer_hint(index: int, layer: Layer, stream: Matrix, places: Matrix) -> tuple[LayerHint, Matrix]:
    heads, steps, effects = _head_hints(index, layer, stream, places)
    if not steps or min(map(min, steps)) < 0:
        raise NoCounters("a layer must count, and its steps must not be negative")

    def after(counts: Sequence[int]) -> Matrix:
        mixed = stream * layer.keep_attention
        for count, effect in zip(counts, effects, strict=True):
            mixed = mixed + count * effect
        return np.asarray(mixed * layer.keep_mlp + apply_mlp(layer.mlp, mixed))

    moduli, depends = [], []
    for counter, ways in enumerate(steps):
        single = np.eye(len(steps), dtype=int)[counter]
        rows = np.stack(
            [after((count * single).tolist()) for count in range((len(places) - 1) * max(ways) + 1)]
        )
        moduli.append(_period(rows))
        depends.append(np.ptp(rows, axis=0).max(axis=0) > TOLERANCE)
    owners = [np.flatnonzero(column) for column in np.array(depends).T]
    if any(len(owner) > 1 for owner in owners):
        raise Unsupported(
            "the kernel's proofs cover layers where each channel depends on one counter; here one has two"
        )
    owner = [int(some[0]) if len(some) else 0 for some in owners]
    numbers: dict[tuple[int, ...], int] = {}
    following: list[list[int]] = [[] for _ in stream]
    kept: list[Matrix] = []
    for residues in product(*map(range, moduli)):
        for which, row in enumerate(after(residues)):
            key = tuple(np.rint(row * 16).astype(np.int64).tolist())
            if key not in numbers:
                numbers[key] = len(numbers)
                kept.append(row)
            following[which].append(numbers[key])
    hint = LayerHint(
        tuple(heads),
        tuple(steps),
        tuple(moduli),
        tuple(tuple(c for c, j in enumerate(owner) if j == number) for number in range(len(steps))),
        tuple(map(tuple, following)),
        len(kept),
    )
    return hint, np.stack(kept)


def _period(rows: Matrix) -> int:
    for period in range(1, len(rows)):
        if np.abs(rows[period:] - rows[:-period]).max() < TOLERANCE:
            return period
    return len(rows)


def _reached(
    layers: list[LayerHint], states: list[int], automaton: Semiautomaton
) -> tuple[tuple[tuple[Residues, int], ...], bool]:
    first: Residues = tuple(tuple(0 for _ in layer.moduli) for layer in layers)
    known, right = {(first, automaton.start): None}, True
    waiting = list(known)
    for residues, state in waiting:
        for letter in range(automaton.num_letters):
            after, end = _advanced(layers, residues, letter)
            target = int(automaton.table[state, letter])
            right &= states[end] == target
            if (after, target) not in known:
                known[after, target] = None
                waiting.append((after, target))
                if len(known) > MOST_PAIRS:
                    raise LimitExceeded(f"words reach more than {MOST_PAIRS:,} pairs of residues and state")
    return tuple(known), right


def _advanced(layers: list[LayerHint], residues: Residues, letter: int) -> tuple[Residues, int]:
    after, at = [], letter
    for layer, old in zip(layers, residues, strict=True):
        row = tuple((r + s[at]) % m for r, s, m in zip(old, layer.steps, layer.moduli, strict=True))
        place = 0
        for modulus, residue in zip(layer.moduli, row, strict=True):
            place = place * modulus + residue
        at = layer.following[at][place]
        after.append(row)
    return tuple(after), at
