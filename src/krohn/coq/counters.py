"""Hints for Coq on a Transformer whose heads count, copy or match; Coq checks every one of them.

A head computes a counter: each letter adds a step to it, or sets it. The MLP reduces counts to residues.
Before each layer a letter has one of finitely many classes: at first the letter itself with the residue of
its position, after each layer a function of its class and the residues of the counts. Padding after position
0 is read as letters before every word.
Everything is read off the weights in float64.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import lcm

import numpy as np
import numpy.typing as npt

from krohn.automata.quotients import explore
from krohn.automata.semiautomaton import Semiautomaton
from krohn.coq.counting_hints import ChannelHint, CopyHint, Counting, Group, LayerHint, MatchHint, Residues
from krohn.coq.cuts import TOLERANCE, best_cut
from krohn.coq.heads import (
    GRID,
    MOST_COUNTS,
    Before,
    NoCounters,
    Places,
    ReadHeads,
    read_heads,
    units_of,
    writers_of,
)
from krohn.errors import Unsupported
from krohn.network.forward import apply_mlp
from krohn.network.transformer import Layer, Matrix, Transformer

MOST_PAIRS = 8_000
SAME = 64
"""Queries and keys that agree when multiplied by this and rounded are of one class."""
MOST_PLACES = 64
MOST_SHORT = 16
"""Up to this length, words may have a class for each place."""


def counting(network: Transformer, automaton: Semiautomaton) -> Counting:
    """The hints for a network; Coq decides whether they are right.

    Fallback for short words, where places and counts need not repeat: each place is a class of its own.
    """
    short = network.max_length <= MOST_SHORT
    try:
        hints = _hints(network, automaton, _period_of_places(network.positions[1:]))
        if hints.right or not short:
            return hints
    except Unsupported:
        if not short:
            raise
    return _hints(network, automaton, len(network.positions))


Pair = tuple[int, tuple[int, ...]]
"""A class before a layer, and the residues there."""


@dataclass(frozen=True)
class _Course:
    """How words run: the period of places, the automaton beside, and the padding that comes before each word.

    Where ``ends`` is given, words end at that place.
    """

    period: int
    automaton: Semiautomaton
    before: tuple[int, ...]
    ends: int | None

    def advance(self, layers: list[LayerHint], residues: Residues, letter: int) -> tuple[Residues, Pair]:
        """The residues after one more letter; its class before the last of these layers, with those there."""
        (place,), *others = residues
        place = (place + 1) % self.period
        after: list[tuple[int, ...]] = [(place,)]
        at = letter + (self.automaton.num_letters + len(self.before)) * place
        for number, (layer, old) in enumerate(zip(layers, others, strict=True), 1):
            after.append(layer.advance(old, at))
            at = at if number == len(layers) else layer.following[at][after[-1]]
        return tuple(after), (at, after[-1])

    def walk(
        self, layers: list[LayerHint]
    ) -> tuple[list[tuple[Residues, int]], dict[tuple[Pair, int | None], None]]:
        """The reachable residues, each with a state of the automaton; and for each step the pair at the last
        of these layers with the state after it, none for padding.
        """
        steps: dict[tuple[Pair, int | None], None] = {}
        first: Residues = ((0,), *(tuple(0 for _ in layer.groups) for layer in layers))
        for letter in self.before:
            first, pair = self.advance(layers, first, letter)
            steps[pair, None] = None

        def after(known: tuple[Residues, int]) -> Iterator[tuple[Residues, int]]:
            residues, state = known
            for letter in range(0 if residues[0] == (self.ends,) else self.automaton.num_letters):
                following, pair = self.advance(layers, residues, letter)
                target = int(self.automaton.table[state, letter])
                steps[pair, target] = None
                yield following, target

        refusal = f"words reach more than {MOST_PAIRS:,} pairs of residues and state"
        return explore((first, self.automaton.start), after, MOST_PAIRS, refusal)[0], steps


def _hints(network: Transformer, automaton: Semiautomaton, period: int) -> Counting:
    length = len(network.positions) - 1
    letters = np.concatenate([network.embedding, network.padding[1:]])
    of_residue = [network.positions[min(r or period, length)] for r in range(period)]
    stream = np.concatenate([letters + place for place in of_residue])
    residues: Places = np.repeat(np.arange(period, dtype=np.int64), len(letters))
    places = network.positions.copy()
    places[0] += network.padding[0]
    padding = tuple(range(automaton.num_letters, len(letters)))
    course = _Course(period, automaton, padding, length if period > length else None)
    layers: list[LayerHint] = []
    with np.errstate(all="ignore"):
        for index, layer in enumerate(network.layers):
            last = index + 1 == len(network.layers)
            before = Before(index, stream, residues, places, period)
            hint, added = _layer(layer, before)
            known, steps = course.walk([*layers, hint])
            reached = dict.fromkeys(pair for pair, _ in steps)
            hint, stream, residues = _follow(hint, reached, layer, before, added, last=last)
            layers.append(hint)
            places = _places_after(layer, places)
        states = (stream @ network.readout + network.readout_bias).argmax(axis=1).tolist()
    ends = [(layers[-1].following[at][there], state) for (at, there), state in steps if state is not None]
    shown = {end for end, _ in ends}
    finals = (state if end in shown else automaton.num_states for end, state in enumerate(states))
    right = all(states[end] == state for end, state in ends)
    return Counting(period, tuple(layers), tuple(finals), tuple(known), right)


def _period_of_places(positions: Matrix) -> int:
    """The period of the integer channels of position codes; other channels must not matter to letters."""
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


def _places_after(layer: Layer, places: Matrix) -> Matrix:
    """What places add after a layer; position 0 sees itself alone."""
    after = places * layer.keep_attention * layer.keep_mlp
    first = places[0] * layer.keep_attention
    for head in layer.heads:
        first = first + places[0] @ head.value @ head.output
    after[0] = first * layer.keep_mlp + apply_mlp(layer.mlp, first)
    return np.asarray(after)


Added = Callable[[int, tuple[int, ...]], Matrix]
"""What heads add to the stream of a class, given the residues."""


def _layer(layer: Layer, before: Before) -> tuple[LayerHint, Added]:
    """The hint for a layer, without the classes after it; and what its heads add."""
    if layer.heads and _asks_differ(layer, before):
        return _matching(layer, before)
    heads = read_heads(layer, before)
    try:
        return _in_parts(layer, before, heads)
    except Unsupported:
        if not heads.sets or not all(any(mark is not None for mark in row) for row in heads.sets):
            raise
    return _matching(layer, before)


def _in_parts(layer: Layer, before: Before, heads: ReadHeads) -> tuple[LayerHint, Added]:
    """The same where each hidden unit depends on the class or on one group of counters."""
    weights, sums = _group(heads)
    length = len(before.places) - 1
    spans = []
    for group in weights:
        total = np.array(group) @ np.array(heads.steps)
        rows = zip(group, heads.sets, strict=True)
        marks = [0, *(w * mark for w, row in rows if w for mark in row if mark is not None)]
        low, high = (length * int(end) for end in (total.min(initial=0), total.max(initial=0)))
        spans.append(range(min(marks) + low, max(marks) + high + 1))
    if max(map(len, spans), default=0) > MOST_COUNTS:
        raise NoCounters(f"a layer counts to more than {MOST_COUNTS:,}")
    kept = before.stream * layer.keep_attention + heads.constant
    _, first, coarse = np.unique(np.rint(kept * 2**20), axis=0, return_index=True, return_inverse=True)
    cut = best_cut(layer, kept[first], sums, spans)
    coarse = coarse.reshape(-1)
    if before.period > length:  # no letter is at place 0: its classes stay separate
        coarse = np.where(before.residues == 0, coarse.max() + 1, coarse)
    everyone = (0,) * len(before.stream)
    groups = [Group((), 1, tuple(coarse.tolist()))]
    groups += [Group(w, m, everyone, s) for w, m, s in zip(weights, cut.moduli, cut.stops, strict=True)]
    hint = LayerHint(
        tuple(heads.hints),
        tuple(heads.steps),
        tuple(heads.sets),
        tuple(before.residues.tolist()),
        tuple(groups),
        cut.place,
        cut.owner,
        cut.channels,
    )

    def added(_: int, residues: tuple[int, ...]) -> Matrix:
        whole = zip(residues[1:], spans, cut.moduli, sums, strict=True)
        counts = ((s.start + (r - s.start) % m if m == len(s) else r) * effect for r, s, m, effect in whole)
        return np.asarray(sum(counts, heads.constant + np.zeros(before.stream.shape[1])))

    return hint, added


def _multiple(effect: Matrix, base: Matrix) -> int:
    """The whole number of times that a vector is nearest to another; 0 if it is no float."""
    scale = float(np.abs(base).max())
    unit = base / scale  # the square of a tiny vector would be 0
    with np.errstate(over="ignore"):
        times = float(effect @ unit) / float(unit @ unit) / np.float64(scale)
    return round(float(times)) if np.isfinite(times) else 0


def _group(heads: ReadHeads) -> tuple[list[tuple[int, ...]], list[Matrix]]:
    """Groups counters that add multiples of one vector: their weights, and that vector; a copy is alone."""
    groups: list[tuple[Matrix, dict[int, int]]] = []
    copies: list[bool] = []
    for counter, (effect, sets) in enumerate(zip(heads.effects, heads.sets, strict=True)):
        if not effect.any():
            continue
        copies_this = any(mark is not None for mark in sets)
        for (base, members), copied in zip(groups, copies, strict=True):
            weight = _multiple(effect, base)
            close = np.abs(effect - weight * base).max() < TOLERANCE**2 * np.abs(effect).max()
            if weight and close and not (copied or copies_this):
                members[counter] = weight
                break
        else:
            groups.append((effect, {counter: 1}))
            copies.append(copies_this)
    weights = [tuple(members.get(j, 0) for j in range(len(heads.effects))) for _, members in groups]
    return weights, [base for base, _ in groups]


def _follow(
    hint: LayerHint, reached: Iterable[Pair], layer: Layer, before: Before, added: Added, *, last: bool
) -> tuple[LayerHint, Matrix, Places]:
    """The layer with the classes after it, their stream and the residues of their places."""
    # Rows that agree to a sixteenth become one class: a proposal, which Coq's boxes must confirm.
    numbers: dict[tuple[int, ...], int] = {}
    kept: list[Matrix] = []
    where: list[int] = []
    following: list[dict[tuple[int, ...], int]] = [{} for _ in before.stream]
    for at, counts in reached:
        mixed = before.stream[at] * layer.keep_attention + added(at, counts)
        row = np.asarray(mixed * layer.keep_mlp + apply_mlp(layer.mlp, mixed))
        place = 0 if last else int(before.residues[at])
        key = (place, *np.rint(row * 16).astype(np.int64).tolist())
        if key not in numbers:
            numbers[key] = len(numbers)
            kept.append(row)
            where.append(place)
        following[at][counts] = numbers[key]
    hint = replace(hint, following=tuple(following), classes=len(kept))
    return hint, np.stack(kept), np.array(where, np.int64)


# Heads that match: which positions a query finds depends on its class. Each set of keys that some query looks
# for has a register for each value of the head. MLPs may depend on all registers at once: each class is
# looked at with each list of registers that words reach.


@dataclass
class Registers:
    """Values that heads copy: what each class sets them to, the spans of these marks, and their channels."""

    sets: list[tuple[int | None, ...]] = field(default_factory=list)
    spans: list[range] = field(default_factory=list)
    channels: dict[bytes, ChannelHint] = field(default_factory=dict)

    def channel(self, values: Matrix, first: float, writers: npt.NDArray[np.bool_]) -> ChannelHint:
        """The register of a value, which ``writers`` set; ``first`` is its value at position 0."""
        name = values.tobytes() + writers.tobytes()
        if name not in self.channels:
            unit, marks, _ = units_of(np.where(writers, values - first, 0.0))
            self.channels[name] = ChannelHint(len(self.sets), round(unit * GRID))
            self.sets.append(tuple(m if w else None for m, w in zip(marks, writers.tolist(), strict=True)))
            self.spans.append(range(min(0, *marks), max(0, *marks) + 1))
        return self.channels[name]


def _asks_differ(layer: Layer, before: Before) -> bool:
    """Whether the queries of some head depend on the class."""
    return len(_classes([before.of_class @ head.query for head in layer.heads])[1][0]) > 1


def _matching(layer: Layer, before: Before) -> tuple[LayerHint, Added]:
    """As ``_in_parts``: the registers of a layer, and which queries find them."""
    keys, key_rows = _classes([before.of_class @ head.key for head in layer.heads])
    asks, _ = _classes([before.of_class @ head.query for head in layer.heads])
    one_of_each = [asks.index(ask) for ask in range(max(asks) + 1)]
    # Queries of one class find the same keys, so one query of each class is looked at.
    registers = Registers()
    hints: list[MatchHint] = []
    for head, rows in zip(layer.heads, key_rows, strict=True):
        of_place = (before.places - before.places[0]) @ head.key
        values, first = before.stream @ head.value, before.places[0] @ head.value
        copies = []
        for question in before.stream[one_of_each] @ head.query:
            writers = writers_of((of_place[1:, None] + rows) @ question)
            own = writers[list(keys)]
            channels = (
                registers.channel(column, float(value), own)
                for column, value in zip(values.T, first, strict=True)
            )
            copies.append(CopyHint(tuple(writers.tolist()), tuple(channels)))
        hints.append(MatchHint(tuple(copies)))
    constant = sum(before.places[0] @ head.value @ head.output for head in layer.heads)
    effects = [np.zeros((len(registers.sets), before.stream.shape[1])) for _ in one_of_each]
    for head, hint in zip(layer.heads, hints, strict=True):
        for effect, copy in zip(effects, hint.asks, strict=True):
            for channel, out in zip(copy.channels, head.output, strict=True):
                effect[channel.counter] += channel.unit / GRID * out

    def added(at: int, residues: tuple[int, ...]) -> Matrix:
        marks = [s.start + (r - s.start) % len(s) for s, r in zip(registers.spans, residues, strict=True)]
        return np.asarray(constant + np.array(marks) @ effects[asks[at]])

    layer_hint = LayerHint(
        heads=tuple(hints),
        steps=((0,) * len(keys),) * len(registers.sets),
        sets=tuple(registers.sets),
        places=tuple(before.residues.tolist()),
        groups=tuple(Group((*(0,) * j, 1), len(span), ()) for j, span in enumerate(registers.spans)),
        cut=0,
        owner=(),
        channels=(),
        keys=keys,
        asks=asks,
    )
    return layer_hint, added


def _classes(rows: list[Matrix]) -> tuple[tuple[int, ...], list[Matrix]]:
    """Numbers of rows that are equal in all of these, and one row of each number."""
    together = np.rint(np.concatenate(rows, axis=1) * SAME)
    _, first, number = np.unique(together, axis=0, return_index=True, return_inverse=True)
    return tuple(number.reshape(-1).tolist()), [row[first] for row in rows]
