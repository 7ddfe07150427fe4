"""Theorem 3 as printed has its own proof for its last layer: no finite machine holds what its heads return.

All layers below are walked by the small checker, whose claim is handed on. Heads of the last layer return
codes of positions. But its MLP only compares them: each order of the last visits around a position is a
region of inputs on which the MLP is shown to be constant, and how the order changes from letter to letter is
a finite machine again, one for every coordinate of the grid.

Rounding in the last layer is written out here, relative terms only. So it is asked only about networks of
that form in which no number can leave the format, and in which what underflows cannot grow into anything.
"""

from dataclasses import dataclass, replace

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import Arithmetic, Array, linear
from krohn.certify.certificate import Check, Record, Refuted
from krohn.certify.ordered_mlp import Cone, Ladder, cones_of, evaluate_ordered
from krohn.certify.scores import scores_of
from krohn.certify.stream import MAX_STATES, Integers, Machine, Stream, cluster, minimise, streams_of
from krohn.certify.visit_heads import VisitHead, visit_head
from krohn.certify.walks import Walk, next_patterns, pattern_after_padding, ranks_of, walk_of
from krohn.certify.witness_search import live_channels, note_steps, walk_through
from krohn.check.format import FORMATS
from krohn.check.reader import Network, stored
from krohn.check.verdict import refusal_of
from krohn.network.transformer import RELU, Head, Layer, Mlp, Transformer

LARGEST = {"float64": 2.0**400, "float32": 2.0**80}
"""Far below the largest number, and times the least positive one it vanishes. Half types lack such room."""
MARGIN = 1e-3


def ordinary(network: Transformer, arith: Arithmetic) -> bool:
    """Whether a rough bound of every number, and of how errors grow from layer to layer, is small enough."""
    if arith.name not in LARGEST or not network.layers:
        return False
    outer = (network.embedding, network.padding, network.positions)
    size = max(1.0, 2 * max(float(np.abs(matrix).max(initial=0.0)) for matrix in outer))
    largest = size
    for layer in network.layers:
        size, here = _grown(layer, size)
        largest = max(largest, here)
    return bool(max(largest, size * _norm(network.readout, network.readout_bias)) < LARGEST[arith.name])


def _grown(layer: Layer, size: float) -> tuple[float, float]:
    """Bounds of the stream after a layer, and of everything inside it."""
    largest, mixed = size, size
    for head in layer.heads:
        asked = _norm(head.query) * _norm(head.key) * head.query.shape[1]
        largest = max(largest, size * size * asked)
        mixed += size * _norm(head.value) * _norm(head.output)
    out = mixed
    for weight, bias in zip(layer.mlp.weights, layer.mlp.biases, strict=True):
        out *= _norm(weight, bias)
    return mixed + out, max(largest, mixed + out)


def _norm(weight: Array, bias: Array | float = 0.0) -> float:
    """At least 1: by how much x W + b can exceed x, if that is at least 1."""
    return float(np.maximum(np.abs(weight).sum(axis=0) + np.abs(bias), 1.0).max(initial=1.0))


def prove_theorem3(
    network: Transformer, checked: Network, automaton: Semiautomaton, length: int, arith: Arithmetic
) -> tuple[Record, Refuted | None, float]:
    """The small checker layer by layer, and orders of last visits in the last one.

    The record names this proof as soon as the heads are found to follow a walk.
    """
    record = Record()
    if not network.layers or not ordinary(network, arith):
        return record, record.refuse("visits", "this is not Theorem 3 with numbers of ordinary size"), 0.0
    try:
        with np.errstate(all="ignore"):
            margin = _margin(network, checked, automaton, length, arith, record)
        if not margin > MARGIN:
            return record, record.refuse("decode", f"a margin of {margin:.3g} is not above {MARGIN}"), 0.0
        return record, None, margin
    except Refuted as error:
        return record, error, 0.0
    except Exception as error:  # whatever a strange network makes it stumble over is a refusal
        return record, record.refuse("proof", refusal_of(error).reason), 0.0


def _margin(
    network: Transformer,
    checked: Network,
    automaton: Semiautomaton,
    length: int,
    arith: Arithmetic,
    record: Record,
) -> float:
    live = live_channels(stored(checked, FORMATS[arith.name]))
    below = replace(checked, layers=checked.layers[:-1])
    walk = walk_through(below, arith.name, length, live=live[: 2 * len(below.layers) + 1])
    note_steps(record, walk, None)
    record.streams += streams_of(walk.moments, walk.network)
    stream = streams_of([walk.moment], walk.network)[0]
    record.layer = len(network.layers)
    held = stored_network(network, arith, record)
    if not copies_positions(stream, held.layers[-1]):
        raise record.refuse("visits", "no head of the last layer returns positions: this is not Theorem 3")
    return prove_visits(stream, held, automaton, arith, record)


def stored_network(network: Transformer, arith: Arithmetic, record: Record) -> Transformer:
    """The same network with its weights as the dtype stores them."""

    def cast(matrix: Array) -> Array:
        made = arith.cast(matrix)
        if not np.isfinite(made).all():
            raise record.refuse("weights", f"a weight does not fit into {arith.name}")
        return made

    def head(item: Head) -> Head:
        return Head(cast(item.query), cast(item.key), cast(item.value), cast(item.output))

    def layer(item: Layer) -> Layer:
        mlp = Mlp(tuple(map(cast, item.mlp.weights)), tuple(map(cast, item.mlp.biases)), item.mlp.activations)
        return replace(item, heads=tuple(map(head, item.heads)), mlp=mlp)

    return Transformer(
        cast(network.embedding),
        cast(network.padding),
        cast(network.positions),
        tuple(map(layer, network.layers)),
        cast(network.readout),
        cast(network.readout_bias),
        network.mask,
    )


LOGITS_AT_ONCE = 1 << 22
STEPS = (-1, 0, 1)
THEOREM_3 = "the small checker, and for the last layer the proof of Theorem 3, outside it"


@dataclass(frozen=True, eq=False)
class Coordinate:
    """One walk and what the MLP makes of it: a machine that reads steps and shows values of ``channel``."""

    walk: Walk
    channel: int
    machine: Machine
    values: Array
    radius: float


def copies_positions(stream: Stream, layer: Layer) -> bool:
    """Whether a head of the layer returns position codes."""
    return any(stream.carries_code(head.value) and head.output.any() for head in layer.heads)


def prove_visits(
    stream: Stream, network: Transformer, automaton: Semiautomaton, arith: Arithmetic, record: Record
) -> float:
    """The last layer, decoding and simulation; raises ``Refuted`` or returns the logit margin."""
    layer = network.layers[-1]
    if arith.half or any((codes != RELU).any() for codes in layer.mlp.activations):
        raise record.refuse(
            "visits", "orders of visits are followed through ReLU in float64 and float32 only"
        )
    found = _heads(stream, layer, network.mask, arith, record)
    _require_range(stream, layer, found, arith, record)
    read = (network.readout != 0).any(axis=1)
    cones = [cone for cone in cones_of(layer) if (cone.outputs & read).any()]
    coordinates = [_coordinate(stream, cone, read, found, arith, record) for cone in cones]
    if {coordinate.channel for coordinate in coordinates} != set(np.flatnonzero(read)):
        raise record.refuse("visits", "the read-out looks at more than what the MLP writes")
    record.layer = len(network.layers) + 1
    return _simulated(stream, network, automaton, coordinates, arith, record)


def _heads(
    stream: Stream, layer: Layer, mask: str, arith: Arithmetic, record: Record
) -> list[tuple[Walk, VisitHead]]:
    walks: dict[bytes, Walk] = {}
    found = []
    for head in layer.heads:
        if not head.output.any():
            raise record.refuse("visits", "a head writes nothing")
        scores = scores_of(stream, head, arith, mask, record)
        if not np.isfinite(scores.error):
            raise record.refuse("range", "scores may overflow")
        key = scores.key_of.tobytes() + scores.key_of_pad.tobytes()
        if key not in walks:
            walks[key] = walk_of(stream, scores, record)
            record.proof = THEOREM_3 if walks[key].steps.any() else ""
        found.append((walks[key], visit_head(stream, head, scores, walks[key], arith, record)))
    channels = [head.channel for _, head in found]
    if len(set(channels)) != len(channels):
        raise record.refuse("visits", "two heads write into one channel")
    return found


def _require_range(
    stream: Stream, layer: Layer, found: list[tuple[Walk, VisitHead]], arith: Arithmetic, record: Record
) -> None:
    """A rough bound that holds for all units, also for those that nothing depends on."""
    size = np.maximum(stream.size(), np.abs(stream.pads).max(axis=0, initial=0.0) + stream.pad_radius)
    size = size + stream.lost
    for _, head in found:
        size[head.channel] += float(np.abs(head.codes).max()) + head.error
    for weight, bias in zip(layer.mlp.weights, layer.mlp.biases, strict=True):
        record.require("range", float(size.max(initial=0.0)), arith.largest, "every number stays finite")
        size = size @ np.abs(weight) + np.abs(bias)
    record.require("range", float(size.max(initial=0.0)), arith.largest, "every number stays finite")


def _coordinate(
    stream: Stream,
    cone: Cone,
    read: np.ndarray,
    found: list[tuple[Walk, VisitHead]],
    arith: Arithmetic,
    record: Record,
) -> Coordinate:
    outputs = np.flatnonzero(cone.outputs & read)
    if len(outputs) != 1 or cone.layer.keep_mlp[outputs[0]]:
        raise record.refuse("visits", "the MLP must write one number for a walk, into an empty channel")
    inputs = np.flatnonzero((cone.layer.mlp.weights[0] != 0).any(axis=1))
    heads = [(walk, head) for walk, head in found if head.channel in inputs]
    empty = stream.size() * cone.layer.keep_attention + stream.lost
    if len(heads) != len(inputs) or empty[inputs].any() or len({id(walk) for walk, _ in heads}) != 1:
        raise record.refuse("visits", "the MLP must read nothing but what heads found about one walk")
    heads.sort(key=lambda item: item[1].channel)
    codes = heads[0][1].codes
    if any((head.codes != codes).any() for _, head in heads):
        raise record.refuse("visits", "heads return different codes of positions")
    walk, reach = heads[0][0], max(abs(head.offset) for _, head in heads)
    patterns, machine = _orders(walk, reach)
    ranks = ranks_of(patterns, [head.offset for _, head in heads])
    gaps = np.array([len(pattern) for pattern in patterns], dtype=np.int64)
    errors = np.array([head.error for _, head in heads])
    ladder = Ladder(float(codes.min()), float(codes.max()), float(-np.diff(codes).max()), errors)
    centre, radius = evaluate_ordered(cone.layer.mlp, inputs, ranks, gaps, ladder, arith)
    values, classes, drift = cluster(centre[:, outputs])
    wrong = float(radius[:, outputs].max() + drift[0])
    record.note("visits", f"{len(patterns):,} orders of the last {2 * reach} visits", wrong, 0.5)
    shown = minimise(replace(machine, shown=classes[machine.follow]))
    return Coordinate(walk, int(outputs[0]), shown, values[:, 0], wrong)


def _orders(walk: Walk, reach: int) -> tuple[list[str], Machine]:
    """All patterns that can follow the padding; a machine over steps −1, 0, 1, each with its choices."""
    number = {pattern_after_padding(walk.pads, reach): 0}
    patterns, rows, choices = list(number), [], reach + 2
    taken = {int(step) for step in walk.steps}
    for pattern in patterns:
        row: list[int] = []
        for step in STEPS:
            after = next_patterns(pattern, step if step in taken else 0, reach)
            for one in after:
                if one not in number:
                    number[one] = len(number)
                    patterns.append(one)
            row += [number[one] for one in (after + after[-1:] * choices)[:choices]]
        rows.append(row)
        if len(rows) > MAX_STATES:
            raise Refuted("visits", -1, "there are too many orders of visits")
    follow = np.array(rows, dtype=np.int64)
    return patterns, Machine(
        follow, np.zeros_like(follow), np.zeros((*follow.shape, 0), dtype=np.int64), choices
    )


def _simulated(
    stream: Stream,
    network: Transformer,
    automaton: Semiautomaton,
    coordinates: list[Coordinate],
    arith: Arithmetic,
    record: Record,
) -> float:
    """Breadth-first over states of all coordinates and of the automaton; decodes every tuple of values."""
    start = (0,) * len(coordinates), automaton.start
    words: dict[tuple[tuple[int, ...], int], tuple[int, ...]] = {start: ()}
    tuples: dict[tuple[int, ...], int] = {}
    moments: list[tuple[int, int, tuple[int, ...]]] = []  # tuple shown, state wanted, word
    queue = [start]
    for pair in queue:
        for letter in range(automaton.num_letters):
            wanted, word = int(automaton.table[pair[1], letter]), (*words[pair], letter)
            for states, shown in _moves(coordinates, pair[0], letter, stream.machine.choices):
                moments.append((tuples.setdefault(shown, len(tuples)), wanted, word))
                after = (states, wanted)
                if after not in words:
                    words[after] = word
                    queue.append(after)
        if len(queue) > MAX_STATES:
            raise record.refuse("simulation", "there are too many states to compare")
    rows, radius = np.zeros((len(tuples), network.dim)), np.zeros(network.dim)
    for number, coordinate in enumerate(coordinates):
        rows[:, coordinate.channel] = coordinate.values[[shown[number] for shown in tuples]]
        radius[coordinate.channel] = coordinate.radius
    blank = replace(stream, nominal=rows, radius=radius, places=np.zeros_like(stream.places))
    decoded, margin = decode(blank, network, arith, record)
    for number, state, word in moments:
        wanted = automaton.outputs[state]
        if decoded[number] != wanted:
            reason = f"after {len(word)} letters the network is in {decoded[number]}, not {wanted}"
            record.checks.append(Check("simulation", record.layer, 1.0, 0.0, False, reason))
            raise Refuted("simulation", record.layer, reason, word)
    record.note("simulation", f"all {len(words):,} reachable pairs of machine and automaton states agree")
    return margin


def _moves(
    coordinates: list[Coordinate], states: tuple[int, ...], letter: int, choices: int
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All that a letter may lead to: next states and shown values of all coordinates."""
    made: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), ())]
    for coordinate, state in zip(coordinates, states, strict=True):
        machine, first = coordinate.machine, int(coordinate.walk.steps[letter * choices]) + 1
        where = range(first * machine.choices, (first + 1) * machine.choices)
        ends = {(int(machine.follow[state, at]), int(machine.shown[state, at])) for at in where}
        made = [((*s, follow), (*v, shown)) for s, v in made for follow, shown in sorted(ends)]
    return made


def decode(stream: Stream, network: Transformer, arith: Arithmetic, record: Record) -> tuple[Integers, float]:
    """The state of every class and the least logit margin after all errors."""
    if stream.carries_code(network.readout):
        raise record.refuse("decode", "the read-out reads a position code")
    few = max(1, LOGITS_AT_ONCE // network.readout.shape[1])
    parts = [
        _decoded(stream.nominal[first : first + few], stream.radius, network, arith)
        for first in range(0, len(stream.nominal), few)
    ]
    states = np.concatenate([part[0] for part in parts])
    if network.readout.shape[1] > 1:
        # A share that is not a number must not be lost in a maximum.
        worst = float(np.max([part[1] for part in parts]))
        if not worst < 1.0:
            reason = f"outputs are not told apart: logits may err by {worst:.3g} times their distance"
            raise record.refuse("decode", f"{reason}; use float64, a shorter length or --variant mod")
        record.note("decode", f"{len(states)} classes decode by the largest logit", worst)
    return states, float(np.min([part[2] for part in parts]))


def _decoded(
    vectors: Array, radius: Array, network: Transformer, arith: Arithmetic
) -> tuple[Integers, float, float]:
    """States, the largest share of a gap that errors take, and the least that they leave of one."""
    logits, rounding = linear(arith, vectors, radius, network.readout, network.readout_bias)
    states = logits.argmax(axis=1)
    if logits.shape[1] == 1:
        return states, 0.0, float("inf")
    # Errors of one channel move all logits together: only differences of read-out columns count.
    gaps = np.take_along_axis(logits, states[:, None], axis=1) - logits
    error = rounding + np.take_along_axis(rounding, states[:, None], axis=1)
    for channel in np.flatnonzero(radius):
        row = network.readout[channel]
        error = error + np.abs(row[states][:, None] - row) * radius[channel]
    rest = gaps - error
    share = np.where(gaps > 0, error / np.where(gaps > 0, gaps, 1.0), np.inf)
    for table, filler in ((rest, np.inf), (share, 0.0)):
        np.put_along_axis(table, states[:, None], filler, axis=1)
    return states, float(share.max()), float(rest.min())
