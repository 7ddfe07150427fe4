"""Hints for Coq on a Transformer whose heads count, copy, match or look back; Coq checks every one of them.

A head computes a counter: each letter adds a step to it, or sets it. The MLP reduces counts to residues.
Before each layer a letter has one of finitely many classes: at first the letter itself with the residue of
its position, after each layer a function of its class and the residues of the counts. Padding after position
0 is read as letters before every word.
Everything is read off the weights in float64.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import lcm

import numpy as np

from krohn.automata.graph import explore
from krohn.automata.semiautomaton import Semiautomaton
from krohn.coq.counting_hints import OWN, BackHint, CountHint, Counting, Group, LayerHint, MatchHint, Residues
from krohn.coq.cuts import TOLERANCE, end_of, last_cut
from krohn.coq.heads import (
    GRID,
    MOST_COUNTS,
    SAME,
    Before,
    Counters,
    NoCounters,
    Places,
    Registers,
    alike,
    counted,
    distance_of,
    writers_of,
)
from krohn.errors import Unsupported
from krohn.network.forward import apply_mlp
from krohn.network.transformer import Head, Layer, Matrix, Transformer

MOST_PAIRS = 10_000
MOST_PLACES = 64
MOST_SHORT = 128
"""Up to this length, words may have a class for each place; `MOST_PAIRS` bounds how many are looked at."""


def counting(network: Transformer, automaton: Semiautomaton) -> Counting:
    """The hints for a network; Coq decides whether they are right.

    Fallback for short words, where places and counts need not repeat: each place is a class of its own.
    """
    short = network.max_length <= MOST_SHORT
    try:
        hints = _hints(network, automaton, _period_of_places(network.positions[1:]))
        if hints.right or not short:
            return hints
    except (NoCounters, Unsupported):
        if not short:
            raise
    return _hints(network, automaton, len(network.positions))


Pair = tuple[int, tuple[int, ...]]
"""A class before a layer, and the residues there."""
Node = tuple[Residues, int]
"""The residues so far, and the state of the automaton; how much padding is still to come, if negative."""


def _begin(
    automaton: Semiautomaton, padding: int, period: int, length: int
) -> tuple[list[Node], list[list[tuple[int, int]]]]:
    """How words run, the padding before them: for each node and letter its class, and the number of the next.

    Where no place repeats, words end after ``length`` letters.
    """
    table, width = automaton.table.tolist(), automaton.num_letters + padding

    def after(node: Node) -> list[Node]:
        ((place,),), state = node
        ends = [state + 1 or automaton.start] if state < 0 else [] if place == length else table[state]
        return [((((place + 1) % period,),), end) for end in ends]

    start: Node = ((0,),), -padding or automaton.start
    nodes, follow = explore(start, after)
    first = [width + state if state < 0 else 0 for _, state in nodes]
    return nodes, [
        [(letter + width * nodes[n][0][0][0], n) for letter, n in enumerate(row, begin)]
        for begin, row in zip(first, follow, strict=True)
    ]


def _through(
    nodes: list[Node], edges: list[list[tuple[int, int]]], layer: LayerHint
) -> tuple[list[Node], list[list[tuple[Pair, int]]]]:
    """The same with the residues of a layer more, which each class has beside it."""

    def after(node: tuple[int, tuple[int, ...]]) -> list[tuple[int, tuple[int, ...]]]:
        return [(n, layer.advance(node[1], at)) for at, n in edges[node[0]]]

    refusal = f"words reach more than {MOST_PAIRS:,} pairs of residues and state"
    order, follow = explore((0, (0,) * len(layer.groups)), after, MOST_PAIRS, refusal)
    return [((*nodes[at][0], held), nodes[at][1]) for at, held in order], [
        [((letter, order[n][1]), n) for (letter, _), n in zip(edges[at], row, strict=True)]
        for (at, _), row in zip(order, follow, strict=True)
    ]


def _hints(network: Transformer, automaton: Semiautomaton, period: int) -> Counting:
    length = len(network.positions) - 1
    letters = np.concatenate([network.embedding, network.padding[1:]])
    of_residue = [network.positions[min(r or period, length)] for r in range(period)]
    stream = np.concatenate([letters + place for place in of_residue])
    residues: Places = np.repeat(np.arange(period, dtype=np.int64), len(letters))
    places = network.positions.copy()
    places[0] += network.padding[0]
    nodes, edges = _begin(automaton, len(network.padding) - 1, period, length)
    layers: list[LayerHint] = []
    with np.errstate(all="ignore"):
        for layer in network.layers:
            before = Before(stream, residues, places, period)
            hint, added = _layer(layer, before)
            nodes, pairs = _through(nodes, edges, hint)
            reached = dict.fromkeys(pair for row in pairs for pair, _ in row)
            last = layer is network.layers[-1]
            hint, stream, residues = _follow(hint, reached, layer, before, added, last=last)
            edges = [[(hint.following[at][there], n) for (at, there), n in row] for row in pairs]
            layers.append(hint)
            places = _places_after(layer, places)
        states = (stream @ network.readout + network.readout_bias).argmax(axis=1).tolist()
    known = [(node, row) for node, row in zip(nodes, edges, strict=True) if node[1] >= 0]
    ends = {(end, nodes[n][1]) for _, row in known for end, n in row}
    shown = {end for end, _ in ends}
    finals = (state if end in shown else automaton.num_states for end, state in enumerate(states))
    right = all(states[end] == state for end, state in ends)
    return Counting(period, tuple(layers), tuple(finals), tuple(node for node, _ in known), right)


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
    """The hint for a layer, without the classes after it; and what its heads add.

    Fallback where all heads count and the MLP cannot be cut: as where heads differ.
    """
    if layer.heads and all(_counts(head, before) for head in layer.heads):
        try:
            return _counting(layer, before)
        except Unsupported:
            return _mixed(layer, before)
    return _mixed(layer, before)


def _counts(head: Head, before: Before) -> bool:
    """Whether a head counts: all classes have one query, and no letter a higher score than position 0."""
    one_query = alike(before, head.query) and distance_of(head, before) is None
    return one_query and not (before.scores(head) > 0).any()


def _counting(layer: Layer, before: Before) -> tuple[LayerHint, Added]:
    """Each hidden unit up to the cut depends on the class or on one group of counters."""
    counters = Counters()
    for head in layer.heads:
        counters.read(head, before)
    weights, sums = _group(counters.effects)
    length = len(before.places) - 1
    totals = [np.array(group) @ np.array(counters.steps) for group in weights]
    spans = [range(length * int(t.min(initial=0)), length * int(t.max(initial=0)) + 1) for t in totals]
    if max(map(len, spans), default=0) > MOST_COUNTS:
        raise NoCounters(f"a layer counts to more than {MOST_COUNTS:,}")
    kept = before.stream * layer.keep_attention
    _, first, coarse = np.unique(np.rint(kept * 2**20), axis=0, return_index=True, return_inverse=True)
    cut = last_cut(layer, kept[first], sums, spans)
    coarse = coarse.reshape(-1)
    if before.period > length:  # no letter is at place 0: its classes stay separate
        coarse = np.where(before.residues == 0, coarse.max() + 1, coarse)
    everyone = (0,) * len(before.stream)
    groups = [Group((), 1, tuple(coarse.tolist()))]
    groups += [Group(w, m, everyone, s) for w, m, s in zip(weights, cut.moduli, cut.stops, strict=True)]
    hint = LayerHint(
        heads=tuple(counters.hints),
        steps=tuple(counters.steps),
        sets=((None,) * len(everyone),) * len(counters.steps),
        places=tuple(before.residues.tolist()),
        groups=tuple(groups),
        cut=cut.place,
        owner=cut.owner,
        channels=cut.channels,
    )

    def add(_: int, residues: tuple[int, ...]) -> Matrix:
        counts = map(_count_in, spans, residues[1:], cut.moduli)
        return np.asarray(sum(count * effect for count, effect in zip(counts, sums, strict=True)))

    return hint, add


def _count_in(span: range, residue: int, modulus: int) -> int:
    """A count with this residue: that in the span, if there is one alone."""
    return span.start + (residue - span.start) % modulus if modulus == len(span) else residue


def _group(effects: list[Matrix]) -> tuple[list[tuple[int, ...]], list[Matrix]]:
    """Groups counters that add the same vector: their weights, and that vector."""
    bases: list[Matrix] = []
    members: list[list[int]] = []
    for counter, effect in enumerate(effects):
        close = (np.abs(effect - base).max() < TOLERANCE**2 * np.abs(effect).max() for base in bases)
        same = next((group for group, near in zip(members, close, strict=True) if near), None)
        if same is not None:
            same.append(counter)
        elif effect.any():
            bases.append(effect)
            members.append([counter])
    return [tuple(int(j in group) for j in range(len(effects))) for group in members], bases


def _follow(
    hint: LayerHint, reached: Iterable[Pair], layer: Layer, before: Before, added: Added, *, last: bool
) -> tuple[LayerHint, Matrix, Places]:
    """The layer with the classes after it, their stream and the residues of their places."""
    # Rows that agree to a sixteenth become one class: a proposal, which Coq's boxes must confirm.
    kept: dict[tuple[int, ...], tuple[int, Matrix]] = {}
    following: list[dict[tuple[int, ...], int]] = [{} for _ in before.stream]
    for at, counts in reached:
        mixed = before.stream[at] * layer.keep_attention + added(at, counts)
        row = np.asarray(mixed * layer.keep_mlp + apply_mlp(layer.mlp, mixed))
        place = 0 if last else int(before.residues[at])
        key = (place, *np.rint(row * 16).astype(np.int64).tolist())
        following[at][counts], _ = kept.setdefault(key, (len(kept), row))
    hint = replace(hint, following=tuple(following), classes=len(kept))
    places = np.array([place for place, *_ in kept], np.int64)
    return hint, np.stack([row for _, row in kept.values()]), places


def _mixed(layer: Layer, before: Before) -> tuple[LayerHint, Added]:
    """Heads of any kind. Each value of a head is a counter by itself: a count, or a register of copies.

    Which keys a query finds depends on its class. The MLP is looked at for each class with each list of
    residues that words reach.
    """
    kinds = [
        distance_of(head, before) or ("counts" if _counts(head, before) else "matches")
        for head in layer.heads
    ]
    matching = [head for head, kind in zip(layer.heads, kinds, strict=True) if kind == "matches"]
    asks, _ = _classes(before, [head.query for head in matching])
    keys, key_rows = _classes(before, [head.key for head in matching])
    # Queries of one class find the same keys, so one query of each class is looked at.
    one_of_each = [asks.index(ask) for ask in range(max(asks) + 1)]
    registers = Registers(len(before.stream))
    hints: list[CountHint | MatchHint | BackHint] = []
    constant = np.zeros(before.stream.shape[1])
    written: list[list[tuple[int, Matrix]]] = [[] for _ in one_of_each]
    rows_of_keys = iter(key_rows)
    for head, kind in zip(layer.heads, kinds, strict=True):
        if kind == "counts":
            picks, counts = counted(head, before)
            channels = tuple(registers.count(value, len(before.places) - 1) for value in counts)
            hints.append(CountHint(picks, channels))
            for into in written:
                into += [(c.counter, value.effect) for c, value in zip(channels, counts, strict=True)]
            continue
        values, base = before.stream @ head.value, before.places[0] @ head.value
        constant = constant + base @ head.output
        if isinstance(kind, int):
            back = registers.back(kind, values - base)
            hints.append(back)
            copied = [back.channels] * len(written)
        else:
            of_place = (before.places - before.places[0]) @ head.key
            scores = of_place[1:, None] + next(rows_of_keys)
            found = [writers_of(scores @ query) for query in before.stream[one_of_each] @ head.query]
            first = any(first for _, first in found)
            match = MatchHint(
                tuple(registers.copy(own, keys, values - base, first=first) for own, _ in found), first
            )
            hints.append(match)
            copied = [copy.channels for copy in match.asks]
        for into, channels in zip(written, copied, strict=True):
            into += [(c.counter, c.unit / GRID * out) for c, out in zip(channels, head.output, strict=True)]
    spans = registers.spans
    ends = _ends(layer, before, asks, registers, [_effects(each, constant, len(spans)) for each in written])

    def add(at: int, residues: tuple[int, ...]) -> Matrix:
        marks = [
            r if end else _count_in(span, r, len(span))
            for span, r, end in zip(spans, residues, ends, strict=True)
        ]
        return np.asarray(sum((marks[counter] * effect for counter, effect in written[asks[at]]), constant))

    hint = LayerHint(
        heads=tuple(hints),
        steps=tuple(registers.steps),
        sets=tuple(registers.sets),
        rules=() if set(registers.rules) <= {OWN} else tuple(registers.rules),
        places=tuple(before.residues.tolist()),
        groups=tuple(
            Group((*(0,) * j, 1), end or len(span), stops=end > 0)
            for j, (span, end) in enumerate(zip(spans, ends, strict=True))
        ),
        keys=keys,
        asks=asks,
    )
    return hint, add


def _effects(written: list[tuple[int, Matrix]], constant: Matrix, counters: int) -> Matrix:
    """What one of each counter adds to the stream, and, last, what the heads add in any case."""
    rows = np.zeros((counters + 1, len(constant)))
    for counter, effect in written:
        rows[counter] += effect
    rows[-1] = constant
    return rows


def _ends(
    layer: Layer, before: Before, asks: tuple[int, ...], registers: Registers, effects: list[Matrix]
) -> list[int]:
    """For each counter of which no more matters from some count on how many counts are told apart; else 0.

    Looked at where each other counter is at an end of its span; Coq looks at all that words reach.
    """
    spans, ends = registers.spans, [0] * len(registers.spans)
    numbers = [*registers.steps, *([v or 0 for v in row] for row in registers.sets)]
    if min((min(row) for row in numbers), default=0) < 0:  # what stops must not fall
        return ends
    corners = np.zeros((2 + len(spans), len(spans)))
    corners[1] = [span.stop - 1 for span in spans]
    corners[2:] = np.diag(corners[1])
    for j, (steps, span) in enumerate(zip(registers.steps, spans, strict=True)):
        if not any(steps):
            continue
        others = np.where(np.arange(len(spans)) == j, 0.0, corners)
        for ask, effect in enumerate(effects):
            rows = before.stream[np.array(asks) == ask] * layer.keep_attention
            moved = np.arange(len(span))[:, None] * effect[j]
            for corner in others:
                mixed = (rows + corner @ effect[:-1] + effect[-1]) + moved[:, None]
                after = mixed * layer.keep_mlp + apply_mlp(layer.mlp, mixed)
                ends[j] = max(ends[j], end_of(after.reshape(len(span), -1)))
        ends[j] = ends[j] + 1 if ends[j] + 1 < len(span) else 0  # beyond it the signs of units are sure
    return ends


def _classes(before: Before, weights: list[Matrix]) -> tuple[tuple[int, ...], list[Matrix]]:
    """Numbers of classes that are alike in all these products, and one row of each number."""
    rows = [before.of_class @ weight for weight in weights]
    together = np.rint(np.concatenate([np.zeros((len(before.stream), 1)), *rows], axis=1) * SAME)
    _, first, number = np.unique(together, axis=0, return_index=True, return_inverse=True)
    return tuple(number.reshape(-1).tolist()), [row[first] for row in rows]
