"""The search for a witness.

The search may use any heuristic: the checker trusts none of it.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from krohn.check.arithmetic.format import FORMATS
from krohn.check.files.reader import (
    Cut,
    Head,
    Layer,
    Layered,
    Network,
    Scan,
    Step,
    Tabulate,
    assert_moderate,
    stored,
)
from krohn.check.ground import Flags, Integers, Real, Work, inside, require
from krohn.check.transformer.checker import embed, follow_step, readings_of
from krohn.check.transformer.mlp import Block, Strand, tabulate
from krohn.check.transformer.stream import Moment, Setting
from krohn.proving.witness.heads import attention_step
from krohn.proving.witness.machines import Numbers, merge_alike, middle, tabulate_step

GRAIN, NEAR = 2.0**10, 2.0**-12


def begin_walk(
    network: Network, dtype: str, length: int, budget: Work, *, rough: bool = False, clock: bool = True
) -> "WitnessWalk":
    """The claim about embedded letters, from which the search sets out."""
    require(len(network.padding) > 0, "the proof starts from a padding position; there is none")
    fmt = FORMATS[dtype]
    with np.errstate(all="ignore"):
        held = stored(network, fmt)
        walk = WitnessWalk(Setting(fmt, budget), held, embed(held, length, fmt, clock=clock))
    walk.clock, walk.rough = clock, rough
    return walk


def walk_through(walk: "WitnessWalk", *, choices: bool = True) -> None:
    """Searches a witness for the layer-by-layer proof; raises ``Refused`` where the checker would."""
    held, live = walk.network, live_channels(walk.network)
    with np.errstate(all="ignore"):
        # Each step multiplies the states by what it remembers. Merging after each by what is read later
        # keeps the machine near the size of the automaton's.
        walk.take(merge_alike(walk.moment, live[0]))
        for number, layer in enumerate(held.layers):
            if 2 * number < walk.done:
                continue
            with inside(f"layer {number + 1}", number + 1):
                walk.take(attention_step(walk.moment, layer), moment=True)
                walk.take(merge_alike(walk.moment, live[2 * number + 1]))
                step = tabulate_step(walk.moment, layer, walk.setting.budget, choices=choices)
                walk.guessed |= step.lift.follow.shape[1] > walk.moment.machine.follow.shape[1]
                walk.take(step, moment=True)
                walk.take(merge_alike(walk.moment, live[walk.done]))
    walk.complete = True


class WitnessWalk:
    """The claim so far, and the steps that led to it."""

    def __init__(self, setting: Setting, network: Network, moment: Moment) -> None:
        self.setting, self.network, self.moment = setting, network, moment
        self.steps: list[Step] = []
        self.moments = [moment]
        self.done, self.guessed, self.clock, self.rough = 0, False, True, False
        self.complete = False

    @property
    def witness(self) -> Layered:
        """The witness for the checker."""
        return Layered(tuple(self.steps), self.clock)

    def take(self, step: Step, *, moment: bool = False) -> None:
        """Takes the checker's own step: its boxes guide the rest of the search."""
        assert_moderate([*self.steps, step], len(self.moment.wide))
        if self.rough and isinstance(step, Tabulate):
            # An export's LayerNorm widens every box; its middles still say which machine to propose.
            layer = self.network.layers[self.done // 2]
            self.moment, self.done = tabulate(Middles(self.setting, self.moment, step), layer), self.done + 1
        else:
            self.moment, self.done = follow_step(self.setting, self.network, self.moment, step, self.done)
        if self.rough:
            self.moment = without_errors(self.moment)
        self.steps.append(step)
        if moment:
            self.moments.append(self.moment)


class Middles(Block):
    """For the search alone: MLPs run on the middles of boxes."""

    def evaluate(self, strand: Strand, inputs: Real) -> Real:
        """The outputs in plain float64."""
        values = strand.passed(Numbers(strand.place), middle(inputs))
        return Real(values, values)


def without_errors(moment: Moment) -> Moment:
    """For the search alone: the middles of boxes, rounded to short numbers where they are close to one.

    Sums of short numbers are exact, so they do not widen the boxes of the checker's steps.
    """

    def meant(box: Real) -> Real:
        value = middle(box)
        short = np.rint(value * GRAIN) / GRAIN
        value = np.where(np.abs(short - value) <= NEAR, short, value)
        return Real(value, value)

    return replace(moment, box=meant(moment.box), pads=meant(moment.pads))


def compares_repeating_codes(network: Network) -> bool:
    """Whether keys read periodic position codes: heads may compare them, as they do with binary codes."""
    repeats = readings_of(network.positions[len(network.padding) :])[0]
    return any(bool((head.key[repeats] != 0).any()) for layer in network.layers for head in layer.heads)


def scans(network: Network) -> Iterator[Scan]:
    """Witnesses of scans: letters and padding as maps of points, read off the embedding."""
    heads = [head for layer in network.layers for head in layer.heads]
    codes = (network.positions != 0).any(axis=0)
    if (
        not heads
        or not len(network.padding)
        or any(head.query[~codes].any() or head.key[~codes].any() for head in heads)
    ):
        return
    # Points are the channels that the first heads copy and that hold no position code; if the padding token
    # has each of 0, 1, … once, it is the identity and says which point is which.
    first = [(head.value @ head.output).any(axis=1) for head in network.layers[0].heads]
    used = np.any(first, axis=0) if first else np.zeros(len(codes), dtype=bool)
    channels = np.flatnonzero(used & ~codes)
    pads = network.padding[0, channels]
    if sorted(pads.tolist()) == list(range(len(channels))):
        channels, pads = channels[np.argsort(pads)], np.sort(pads)
    maps = network.embedding[:, channels]
    both = np.concatenate([maps, pads[None]])
    if both.size and (both == np.rint(both)).all() and both.min() >= 0 and both.max() < len(channels):
        moments = [channels]
        for layer in network.layers:
            moments.append(_follow_points(layer, moments[-1]))
        rounds = zip(network.layers, moments, strict=False)
        cuts = tuple(tuple(_rounds(network, layer, channels)) for layer, channels in rounds)
        parts = maps.astype(np.int64), pads.astype(np.int64), np.stack(moments)
        yield Scan(*parts, cuts if any(cuts) else ())


def _rounds(network: Network, layer: Layer, channels: Integers) -> Iterator[Cut]:
    """The units between two rounds of an MLP that composes many windows.

    Each sees all points of one window and a single point of the window before it; or a single point only.
    """
    held = {int(channel): (0, p) for p, channel in enumerate(channels)}
    distances = {_distance(network, head): head for head in layer.heads if head.output.any()}
    for window, distance in enumerate(sorted(distances.keys() | {0})):
        if distance:
            through = distances[distance].value @ distances[distance].output
            held |= {
                int(copy): (window, p) for p, c in enumerate(channels) for copy in np.flatnonzero(through[c])
            }
    windows, reach = len(distances.keys() | {0}), np.eye(len(layer.weights[0]))
    # A round halves the windows: units that hold points of two neighbours lead to units of both together.
    for stage, weight in enumerate(layer.weights[:-1], 1):
        reach = (reach @ (weight != 0) > 0).astype(np.float64)
        if windows <= 2:
            return
        result: dict[tuple[int, int], int] = {}
        for unit, column in enumerate(reach.T):
            seen = [held[int(c)] for c in np.flatnonzero(column) if int(c) in held]
            left = [pair for pair in seen if pair[0] == max(window for window, _ in seen)] if seen else []
            both = {window // 2 for window, _ in seen}
            if len(left) == 1 and len(both) == 1 and len(seen) in (1 + len(channels), 1):
                if len(seen) == 1 and (left[0][0] % 2 or left[0][0] + 1 < windows):
                    continue
                result[both.pop(), left[0][1]] = unit
        shape = ((windows + 1) // 2, len(channels))
        if len(result) == shape[0] * shape[1]:
            units = np.array([[result[i, p] for p in range(shape[1])] for i in range(shape[0])])
            yield stage, units
            held = {int(unit): (i, p) for (i, p), unit in result.items()}
            windows, reach = shape[0], np.eye(weight.shape[1])


def _distance(network: Network, head: Head) -> int:
    """The distance back to the best position at the last letter, for a head that scores positions only."""
    codes = network.positions
    scores = (codes[-1] @ head.query) @ (codes @ head.key).T
    return len(codes) - 1 - int(scores.argmax())


def _follow_points(layer: Layer, channels: Integers) -> Integers:
    """The channel to which the MLP writes each point: the one output that depends on a copy of it."""
    reads = (layer.weights[0] != 0).astype(np.float64)
    for weight in layer.weights[1:]:
        reads = reads @ (weight != 0).astype(np.float64)
    out = channels.copy()
    for head in layer.heads:
        through = head.value @ head.output
        for point, channel in enumerate(channels):
            for copy in np.flatnonzero(through[channel]):
                own = [] if copy in channels else [copy]  # it may also erase itself
                written = np.setdiff1d(np.flatnonzero(reads[copy]), own)
                if len(written) == 1:
                    out[point] = written[0]
    return out


def live_channels(network: Network) -> list[Flags]:
    """Which channels something later reads: after the embedding, after each attention, after each MLP."""
    # Backwards: a channel is live if a matrix after it reads it, or if it is kept and live later.
    live: Flags = (network.readout != 0).any(axis=1)
    moments = [live]
    for layer in reversed(network.layers):
        wanted = live
        for weight in reversed(layer.weights):
            wanted = (weight[:, wanted] != 0).any(axis=1)
        live = ((layer.keep_mlp > 0) & live) | wanted
        moments.append(live)
        before = (layer.keep_attention > 0) & live
        for head in layer.heads:
            for matrix in (head.query, head.key, head.value):
                before = before | (matrix != 0).any(axis=1)
        live = before
        moments.append(live)
    return moments[::-1]
