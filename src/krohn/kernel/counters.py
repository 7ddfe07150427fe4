"""How a Transformer of counting heads computes, as hints for Coq, which checks every one of them.

A head gives each letter that it picks the same share, so what it gives is a count of steps, and the MLP takes
counts modulo something. Before each layer a letter has one of finitely many classes: at first the letter
itself with the residue of its position, then what the class and the residues of the counts make of it.
All is read off the weights in float64.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import isfinite, lcm

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import LimitExceeded, Unsupported
from krohn.kernel.counting_hints import Channel, Counting, Group, HeadHint, LayerHint, Residues
from krohn.kernel.cuts import TOLERANCE, best_cut
from krohn.network.forward import apply_mlp
from krohn.network.transformer import Layer, Matrix, Transformer

GRID = 2.0**40
"""Coq's boxes end at multiples of one over it."""
ROUNDING = 2.0**-24
MOST_PAIRS = 3_000
MOST_COUNTS = 20_000
"""Each count is a box through the MLP; more would take Coq hours."""
MOST_PLACES = 64
MOST_SHORT = 16
"""Words of at most so many letters may have a class for each place."""
LATER = 2.0**-14
"""After the first layer a register is off by less, in units."""
UNSEEN = 20.0
"""Letters whose score is so much lower are not picked."""


Places = npt.NDArray[np.int64]
"""For each class the residue of its position."""


class NoCounters(Exception):
    """The weights are not those of counting heads; the text says why."""


def counting(network: Transformer, automaton: Semiautomaton) -> Counting:
    """The hints for a network; right or not is for Coq to say.

    In short words neither places nor counts may repeat; then each place is a class of its own.
    """
    short = network.max_length <= MOST_SHORT
    try:
        hints = _hints(network, automaton, _period_of_places(network.positions[1:]))
        if hints.right or not short:
            return hints
    except Unsupported:
        if not short:
            raise
    return _hints(network, automaton, network.max_length + 1)


def _hints(network: Transformer, automaton: Semiautomaton, period: int) -> Counting:
    length = network.max_length
    of_residue = [network.positions[min(r or period, length)] for r in range(period)]
    stream = np.concatenate([network.embedding + place for place in of_residue])
    residues: Places = np.repeat(np.arange(period, dtype=np.int64), len(network.embedding))
    places = network.positions.copy()
    places[0] += network.padding[0]
    ends = length if period > length else None
    layers: list[LayerHint] = []
    with np.errstate(all="ignore"):
        for index, layer in enumerate(network.layers):
            last = index + 1 == len(network.layers)
            hint, effects = _layer_hint(index, layer, stream, residues, places, period)
            reached = _reached([*layers, hint], period, automaton.num_letters, ends)
            hint, stream, residues = _followed(hint, reached, layer, stream, effects, residues, last=last)
            layers.append(hint)
            places = places * layer.keep_attention * layer.keep_mlp
        states = (stream @ network.readout + network.readout_bias).argmax(axis=1).tolist()
    known, right = _known(layers, period, states, automaton, ends)
    return Counting(period, tuple(layers), tuple(states), known, right)


def _period_of_places(positions: Matrix) -> int:
    """After how many places the integers of their codes repeat; other channels must not matter to letters."""
    whole = positions[:, (positions == np.rint(positions)).all(axis=0)]
    period = 1
    for channel in whole.T:
        shifts = range(1, len(channel))
        period = lcm(
            period, next((p for p in shifts if (channel[p:] == channel[:-p]).all()), len(channel) or 1)
        )
    if period > MOST_PLACES:
        raise NoCounters(f"places must repeat after at most {MOST_PLACES}; here they do after {period}")
    return min(period, len(positions))


def _head_hints(
    index: int, layer: Layer, stream: Matrix, residues: Places, places: Matrix, period: int
) -> tuple[list[HeadHint], list[tuple[int, ...]], list[Matrix]]:
    """The heads, the steps of all their counters, and what one step of each adds to the stream."""
    heads: list[HeadHint] = []
    steps: list[tuple[int, ...]] = []
    effects: list[Matrix] = []
    length = len(places) - 1
    for head in layer.heads:
        query = places[length] @ head.query
        first = float(query @ (places[0] @ head.key))
        scores = stream @ head.key @ query - first
        of_place = np.array([scores[residues == r].max(initial=-np.inf) for r in range(period)])
        picks = of_place > of_place.max() - UNSEEN
        seen = sum(bool(picks[i % period]) for i in range(1, length + 1))
        letter = float(np.exp(of_place.max()))
        share = letter / (1 + seen * letter)
        unseen = float(np.exp(of_place[~picks].max(initial=-np.inf)))
        channels = []
        for every, out in zip((stream @ head.value).T, head.output, strict=True):
            if not isfinite(share) or not np.isfinite(every).all():
                raise NoCounters("a head's share or value is not a number")
            values = np.where(picks[residues], every, 0.0)
            size = np.abs(values)
            unit = float(size[size > TOLERANCE].min(initial=np.inf))
            unit = unit if isfinite(unit) else 1.0
            counts = np.rint(values / unit)
            if length * np.abs(counts).max() > MOST_COUNTS:
                raise NoCounters(f"a head counts to more than {MOST_COUNTS:,}")
            rounded = 4 * stream.shape[1] * ROUNDING * size.max() + np.abs(values - unit * counts).max()
            rounded = max(rounded, unit * LATER if index else 0.0)
            channels.append(Channel(len(steps), round(unit * GRID), int(rounded * GRID) + 17))
            steps.append(tuple(int(count) for count in counts))
            effects.append(share * unit * out)
        slack = 1.25 * (2 * len(places) + 200 + 250 * index + 28 * abs(first)) * ROUNDING
        heads.append(
            HeadHint(
                round(share * GRID),
                int(share * slack * GRID) + 17,
                int(2 * unseen * GRID) + 17,
                tuple(picks.tolist()),
                tuple(channels),
            )
        )
    return heads, steps, effects


def _layer_hint(
    index: int, layer: Layer, stream: Matrix, residues: Places, places: Matrix, period: int
) -> tuple[LayerHint, list[Matrix]]:
    """A layer without the classes that follow, and what one count of each group adds."""
    heads, steps, effects = _head_hints(index, layer, stream, residues, places, period)
    weights, sums = _grouped(effects)
    length = len(places) - 1
    totals = [np.array(group) @ np.array(steps) for group in weights]
    spans = [range(length * min(0, *total), length * max(0, *total) + 1) for total in totals]
    if max(map(len, spans), default=0) > MOST_COUNTS:
        raise NoCounters(f"a layer counts to more than {MOST_COUNTS:,}")
    kept = stream * layer.keep_attention
    _, first, coarse = np.unique(np.rint(kept * 2**20), axis=0, return_index=True, return_inverse=True)
    cut = best_cut(layer, kept[first], sums, spans, repeats=period <= length)
    coarse = coarse.reshape(-1)
    if period > length:  # no letter stands at place 0: its classes stay apart
        coarse = np.where(residues == 0, coarse.max() + 1, coarse)
    everyone = (0,) * len(stream)
    groups = [Group((), 1, tuple(coarse.tolist()))]
    groups += [Group(w, m, everyone, s) for w, m, s in zip(weights, cut.moduli, cut.stops, strict=True)]
    hint = LayerHint(
        tuple(heads),
        tuple(steps),
        tuple(residues.tolist()),
        tuple(groups),
        cut.place,
        cut.owner,
        cut.channels,
    )
    return hint, sums


def _grouped(effects: Sequence[Matrix]) -> tuple[list[tuple[int, ...]], list[Matrix]]:
    """Counters that add multiples of one vector, as weights, and that vector."""
    groups: list[tuple[Matrix, dict[int, int]]] = []
    for counter, effect in enumerate(effects):
        if not effect.any():
            continue
        for base, members in groups:
            weight = round(float(effect @ base) / float(base @ base))
            if weight and np.abs(effect - weight * base).max() < TOLERANCE**2 * np.abs(effect).max():
                members[counter] = weight
                break
        else:
            groups.append((effect, {counter: 1}))
    weights = [tuple(members.get(j, 0) for j in range(len(effects))) for _, members in groups]
    return weights, [base for base, _ in groups]


Pairs = list[tuple[int, tuple[int, ...]]]


def _reached(layers: list[LayerHint], period: int, letters: int, ends: int | None) -> Pairs:
    """The classes before the last of these layers, with the residues there, that words lead to.

    Where ``ends`` is given, words end at that place.
    """
    pairs: dict[tuple[int, tuple[int, ...]], None] = {}
    first: Residues = ((0,), *(tuple(0 for _ in layer.groups) for layer in layers))
    known = {first: None}
    for state in (waiting := list(known)):
        for letter in range(0 if state[0] == (ends,) else letters):
            after, classes = _advanced(layers, period, letters, state, letter)
            pairs[classes[-1], after[-1]] = None
            if after not in known:
                known[after] = None
                waiting.append(after)
                if len(known) > MOST_PAIRS:
                    raise LimitExceeded(f"words reach more than {MOST_PAIRS:,} lists of residues")
    return list(pairs)


def _followed(
    hint: LayerHint,
    reached: Pairs,
    layer: Layer,
    stream: Matrix,
    effects: list[Matrix],
    residues: Places,
    *,
    last: bool,
) -> tuple[LayerHint, Matrix, Places]:
    """The layer with the classes after it, their stream and the residues of their places."""
    numbers: dict[tuple[int, ...], int] = {}
    kept: list[Matrix] = []
    where: list[int] = []
    following: dict[tuple[int, tuple[int, ...]], int] = {}
    for at, counts in reached:
        mixed = stream[at] * layer.keep_attention
        for count, effect in zip(counts[1:], effects, strict=True):
            mixed = mixed + count * effect
        row = np.asarray(mixed * layer.keep_mlp + apply_mlp(layer.mlp, mixed))
        place = 0 if last else int(residues[at])
        key = (place, *np.rint(row * 16).astype(np.int64).tolist())
        if key not in numbers:
            numbers[key] = len(numbers)
            kept.append(row)
            where.append(place)
        following[at, counts] = numbers[key]
    every = list(product(*(range(group.modulus) for group in hint.groups)))
    table = tuple(
        tuple(following.get((at, counts), len(kept)) for counts in every) for at in range(len(stream))
    )
    return replace(hint, following=table, classes=len(kept)), np.stack(kept), np.array(where, np.int64)


def _known(
    layers: list[LayerHint], period: int, states: list[int], automaton: Semiautomaton, ends: int | None
) -> tuple[tuple[tuple[Residues, int], ...], bool]:
    first: Residues = ((0,), *(tuple(0 for _ in layer.groups) for layer in layers))
    known, right = {(first, automaton.start): None}, True
    for residues, state in (waiting := list(known)):
        for letter in range(0 if residues[0] == (ends,) else automaton.num_letters):
            after, classes = _advanced(layers, period, automaton.num_letters, residues, letter)
            end = layers[-1].following[classes[-1]][layers[-1].place(after[-1])]
            target = int(automaton.table[state, letter])
            right &= states[end] == target
            if (after, target) not in known:
                known[after, target] = None
                waiting.append((after, target))
                if len(known) > MOST_PAIRS:
                    raise LimitExceeded(f"words reach more than {MOST_PAIRS:,} pairs of residues and state")
    return tuple(known), right


def _advanced(
    layers: list[LayerHint], period: int, letters: int, residues: Residues, letter: int
) -> tuple[Residues, list[int]]:
    """The residues after one more letter, and its class before each layer."""
    (place,), *others = residues
    place = (place + 1) % period
    after: list[tuple[int, ...]] = [(place,)]
    classes = [letter + letters * place]
    for layer, old in zip(layers, others, strict=True):
        after.append(layer.advanced(old, classes[-1]))
        if layer.following:
            classes.append(layer.following[classes[-1]][layer.place(after[-1])])
    return tuple(after), classes[: len(layers)]
