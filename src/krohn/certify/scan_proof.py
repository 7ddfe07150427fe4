"""Theorem 1 proved from the matrices: look back, compose, twice as far each time.

The maps that positions hold range over all n^n maps, so nothing is enumerated. Every layer is shown to look
back a fixed distance whatever the word is, and to compose any two maps; then an induction over intervals
shows which letters the map at position t stands for.
"""

from dataclasses import dataclass, replace

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import Arithmetic, Array, linear
from krohn.certify.findings import Record, Refuted
from krohn.certify.looking_back import distance_of
from krohn.certify.machine import MAX_STATES, Integers
from krohn.certify.network_proof import stored_network
from krohn.certify.scores import scores_of
from krohn.certify.selection_mlp import Selection, selections
from krohn.certify.simulation import decode
from krohn.certify.softmax import Leak, copied_error
from krohn.certify.stream import Stream, embed
from krohn.network.transformer import Head, Layer, Transformer


@dataclass(frozen=True, eq=False)
class Maps:
    """``point[channel]``: whose image the channel holds (−1 until the first layer says so); errors."""

    point: dict[int, int]
    radius: Array

    @property
    def channels(self) -> list[int]:
        """The channels that hold the map."""
        return list(self.point)


@dataclass(frozen=True, eq=False)
class Mixed:
    """After attention: ``source[channel]`` = (channel it was copied from, positions back)."""

    source: dict[int, tuple[int, int]]
    distance: int
    radius: Array


def looks_like_scan(network: Transformer) -> bool:
    """Every head reads positions alone, and there is one."""
    codes = (network.positions != 0).any(axis=0)
    return all(
        not head.query[~codes].any() and not head.key[~codes].any()
        for layer in network.layers
        for head in layer.heads
    ) and any(layer.heads for layer in network.layers)


def prove_scan(
    network: Transformer, automaton: Semiautomaton, length: int, arith: Arithmetic, record: Record
) -> float:
    """Raises ``Refuted`` unless every word of length ≤ ``length`` is run right; returns the logit margin."""
    stored = stored_network(network, arith, record)
    stream = embed(stored, length, arith)
    channels = _map_channels(stored, record)
    _require_maps(stored, stream, channels, record)
    letters, pads = stream.nominal[:, channels], stream.pads[0, channels]
    maps = Maps(dict.fromkeys(channels, -1), np.zeros(stored.dim))
    tau = stored.num_padding
    cover = [tau + t for t in range(length)]  # the first letter that position t stands for
    first: dict[int, int] = {}
    cache: dict[str, dict[int, Selection]] = {}
    for number, layer in enumerate(stored.layers):
        record.layer = number + 1
        mixed, stream = _attend(stored, layer, stream, maps, arith, record)
        before, maps = _compose(layer, mixed, maps, arith, record, cache)
        first = first or before
        neutral = [first[channel] for channel in channels] == pads.tolist()
        held = pads[np.argsort([first[channel] for channel in channels])].astype(np.int64)
        if (held[held] != held).any():
            raise record.refuse("embedding", "meeting the padding twice must be meeting it once")
        cover = _extend(cover, mixed.distance, tau, neutral, record)
        stream = replace(
            stream,
            nominal=stream.nominal * layer.keep_mlp,
            pads=stream.pads * layer.keep_mlp,
            places=stream.places * layer.keep_mlp,
        )
    record.layer = stored.depth + 1
    if any(start > tau for start in cover):
        raise record.refuse("intervals", "the last layer does not reach back to the first letter")
    record.note("intervals", f"after {stored.depth} layers every position stands for all letters so far")
    order = np.argsort([first[channel] for channel in channels])
    starts = [tuple(range(len(channels)))]
    if not neutral:
        starts.append(tuple(int(v) for v in pads[order]))
    return _decode(stored, stream, automaton, maps, letters[:, order].astype(np.int64), starts, arith, record)


def _map_channels(network: Transformer, record: Record) -> tuple[int, ...]:
    """The channels that the first layer's heads copy."""
    used = np.any([(head.value @ head.output).any(axis=1) for head in network.layers[0].heads], axis=0)
    if not used.any():
        raise record.refuse("scan", "the first layer copies nothing")
    return tuple(int(channel) for channel in np.flatnonzero(used))


def _require_maps(network: Transformer, stream: Stream, channels: tuple[int, ...], record: Record) -> None:
    """Letters and padding hold maps of the points, exactly, and all padding positions the same one."""
    held, pads = stream.nominal[:, channels], stream.pads[:, channels]
    points = len(channels)
    for values in (held, pads):
        if (values != np.rint(values)).any() or values.min() < 0 or values.max() >= points:
            raise record.refuse("embedding", f"a map of {points} points must hold 0..{points - 1}")
    if stream.places[:, channels].any() or stream.radius[[*channels]].any():
        raise record.refuse("embedding", "a map channel also holds a position code")
    if (pads != pads[0]).any():
        raise record.refuse("embedding", "the padding positions hold different maps")


def _attend(
    network: Transformer, layer: Layer, stream: Stream, maps: Maps, arith: Arithmetic, record: Record
) -> tuple[Mixed, Stream]:
    """What each channel holds after the heads, and the stream of everything that is not a map."""
    blank = np.ones(network.dim)
    blank[maps.channels] = 0.0
    rest = stream.nominal * blank
    if (rest != rest[0]).any():
        raise record.refuse("scan", "letters differ in a channel that holds no map")
    bare = replace(stream, nominal=rest[:1], pads=stream.pads * blank)
    keep = layer.keep_attention
    kept = replace(bare, nominal=rest * keep, pads=bare.pads * keep, places=stream.places * keep)
    source = {channel: (channel, 0) for channel in maps.channels if keep[channel]}
    radius = maps.radius * keep
    distances = set()
    for head in layer.heads:
        if head.query[maps.channels].any() or head.key[maps.channels].any():
            raise record.refuse("scan", "a head's scores depend on the maps")
        scores = scores_of(bare, head, arith, network.mask, record)
        found = distance_of(scores, arith)
        if found is None:
            raise record.refuse("look-back", "a head does not look back a fixed distance")
        distance, leak = found
        record.require("look-back", 2 * scores.error, leak.gap, leak.lead_of(f"t − {distance}"))
        copied, wrong = _copied(head, maps, leak, network, arith, record)
        busy = (kept.nominal != 0).any(axis=0) | (kept.places != 0).any(axis=0) | (kept.pads != 0).any(axis=0)
        if set(copied) & set(source) or busy[list(copied)].any():
            raise record.refuse("scan", "two contents are added into one channel")
        source.update({target: (origin, distance) for target, origin in copied.items()})
        radius = radius + wrong
        distances.add(distance)
    if len(distances - {0}) != 1:
        raise record.refuse("scan", "the heads of a layer must look back one distance")
    return Mixed(source, max(distances), radius), kept


def _copied(
    head: Head, maps: Maps, leak: Leak, network: Transformer, arith: Arithmetic, record: Record
) -> tuple[dict[int, int], Array]:
    """Target ← source channels of a copying head, and the error of each target."""
    points = len(maps.channels)
    through = head.value @ head.output
    others = np.ones(len(through), dtype=bool)
    others[maps.channels] = False
    if head.value[others].any():
        raise record.refuse("scan", "a head copies more than maps")
    targets = np.flatnonzero(through.any(axis=0))
    sources = {}
    for target in targets:
        source = np.flatnonzero(through[:, target])
        if len(source) != 1 or through[source[0], target] != 1.0:
            raise record.refuse("scan", "a head does not copy a channel as it is")
        sources[int(target)] = int(source[0])
    silent = np.setdiff1d(np.arange(len(through)), targets)
    if head.output[:, silent].any():
        raise record.refuse("scan", "a head adds terms that cancel")
    box = np.zeros(len(through))
    box[maps.channels] = points - 1.0
    # Absolute weights: terms of a map may cancel in one word and not in another.
    value, rounding = linear(arith, np.stack([box, 0 * box]), maps.radius, np.abs(head.value))
    error = maps.radius @ np.abs(head.value) + rounding.max(axis=0)
    size = np.abs(value).max(axis=0) + error
    error = error + copied_error(leak, size, np.zeros_like(size), size, len(network.positions), arith)
    if network.num_padding > 1:
        # Padding positions may mix one another: all hold one map, but the weights add up to 1 only nearly.
        error = error + 4 * (network.num_padding + 2) * (arith.inner + arith.unit) * size
    _, last = linear(arith, value, error, np.abs(head.output))
    return sources, error @ np.abs(head.output) + last.max(axis=0)


def _compose(
    layer: Layer,
    mixed: Mixed,
    maps: Maps,
    arith: Arithmetic,
    record: Record,
    cache: dict[str, dict[int, Selection]],
) -> tuple[dict[int, int], Maps]:
    """The MLP composes: the channel of point q becomes f(g(q)), g from further back, f from here.

    Returns which channel was which point before, and the maps afterwards.
    """
    points = len(maps.channels)
    lefts = [channel for channel, (_, back) in mixed.source.items() if back]
    rights = [channel for channel, (_, back) in mixed.source.items() if not back]
    found = selections(layer.mlp, lefts, rights, mixed.radius, points, arith, record, cache)
    if layer.keep_mlp[list({*found, *mixed.source})].any():
        raise record.refuse("composition", "a map is added to what the channel held before")
    before = {} if -1 in maps.point.values() else maps.point
    after: dict[int, int] = {}
    for channel, selection in found.items():
        chosen = {mixed.source[right][0]: point for point, right in enumerate(selection.chosen)}
        before = before or chosen
        if len(chosen) != points or chosen != before:
            raise record.refuse("composition", "outputs disagree on which channel is which point")
        after[channel] = before[mixed.source[selection.argument][0]]
    if sorted(after.values()) != list(range(points)):
        raise record.refuse("composition", "the composed map does not have every point once")
    worst = max(selection.error for selection in found.values())
    record.require("composition", worst, 0.5, f"f(g(q)) for all maps of {points} points")
    error = np.zeros(len(mixed.radius))
    error[list(found)] = [selection.error for selection in found.values()]
    return before, Maps(after, error)


def _extend(cover: list[int], distance: int, tau: int, neutral: bool, record: Record) -> list[int]:
    """Position t joins what it stands for with what t − distance stands for.

    Padding holds the identity (``neutral``), which changes nothing, or a constant, which must come first.
    """
    out = []
    for number, first in enumerate(cover):
        source = tau + number - distance
        if source >= tau:
            if source != first - 1:
                raise record.refuse("intervals", f"layers do not fit together at letter {number}")
            out.append(cover[source - tau])
        elif first == tau or neutral:
            out.append(first)
        else:
            raise record.refuse("intervals", f"letters before letter {number} are skipped")
    return out


def _decode(
    network: Transformer,
    stream: Stream,
    automaton: Semiautomaton,
    maps: Maps,
    letters: Integers,
    starts: list[tuple[int, ...]],
    arith: Arithmetic,
    record: Record,
) -> float:
    """Whatever values the coordinates that are read reach, they decode to the automaton's state."""
    read = [channel for channel in maps.channels if network.readout[channel].any()]
    points = [maps.point[channel] for channel in read]
    reached: dict[tuple[tuple[int, ...], int], tuple[int, ...]] = {}
    frontier: list[tuple[tuple[tuple[int, ...], int], tuple[int, ...]]] = [
        ((tuple(start[q] for q in points), automaton.start), ()) for start in starts
    ]
    while frontier:
        following = []
        for (values, state), word in frontier:
            for letter in range(automaton.num_letters):
                pair = (tuple(int(letters[letter, v]) for v in values), int(automaton.table[state, letter]))
                if pair not in reached:
                    reached[pair] = (*word, letter)
                    following.append((pair, (*word, letter)))
        frontier = following
        if len(reached) > MAX_STATES:
            raise record.refuse("decode", "too many maps are reachable")
    rows = np.repeat(stream.nominal[:1], len(reached), axis=0)
    rows[:, read] = [values for values, _ in reached]
    decoded = replace(stream, nominal=rows, radius=maps.radius)
    states, margin = decode(decoded, network, arith, record)
    for number, ((_, state), word) in enumerate(reached.items()):
        wanted = automaton.outputs[state]
        if states[number] != wanted:
            reason = f"after {len(word)} letters the network is in {states[number]}, not {wanted}"
            raise Refuted("simulation", record.layer, reason, word)
    record.note("simulation", f"all {len(reached):,} reachable maps decode to the automaton's state")
    return margin
