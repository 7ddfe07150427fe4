"""The scan (Theorem 1): every layer composes two neighbouring windows of letters.

Claim at a moment. Letters and padding stand for maps of n points. At every position t, m being the
composition of what stands at positions t - w + 1 ... t (nothing stands before position 0), channel
``channels[p]`` is in row m(p) of the boxes for every point p, and any other channel in every row, plus its
position code. All maps are covered at once: a unit sees few points, so n or n² cases decide what it adds.
"""

from dataclasses import dataclass, replace

import numpy as np

from krohn.check.affine import beside, entering, mirrors
from krohn.check.format import Box, whole
from krohn.check.heads import Look, lead_back
from krohn.check.machine import Claim, Setting
from krohn.check.mlp import chain_of, run_block, untouched
from krohn.check.norm import Norm, normed
from krohn.check.reader import Automaton, Layer, Network
from krohn.check.readout import decode
from krohn.check.real import Array, Flags, Integers, Real, ample, hull, lowest_bit, point
from krohn.check.verdict import inside, require
from krohn.check.witness import Scan

Source = tuple[str, int]
"""Where the content of a channel comes from: "left" or "own" window, and which point."""
LEFT, OWN_WINDOW = "left", "own"


@dataclass(frozen=True)
class Kind:
    """Units that see the same points, and kept channels that hold one of them."""

    sources: tuple[Source, ...]
    units: Integers
    kept: Integers


Added = tuple[Real, Real, Array, Array]
"""What units add, how that moves with the error of a left number, the size of terms, their common unit."""


def check_scan(setting: Setting, network: Network, automaton: Automaton, claim: Claim, scan: Scan) -> float:
    """The certified logit margin; raises ``Refused``."""
    letters, points = scan.letters.shape
    fits = letters == len(network.embedding) and scan.padding.shape == (points,)
    fits = fits and scan.channels.shape == (len(network.layers) + 1, points)
    fits = fits and (scan.letters < points).all() and (scan.padding < points).all() and points > 0
    require(fits and (scan.channels < network.embedding.shape[1]).all(), "witness: maps")
    require(all(len(np.unique(row)) == points for row in scan.channels), "witness: channels")
    require(scan.padding[scan.padding] == scan.padding, "meeting the padding twice must be meeting it once")
    require(not setting.strict, "a scan needs heads that see their own position", "use the mask causal")
    require(claim.places[:, scan.channels[0]] == 0, "a channel that holds a map also holds a position code")
    claim, window = replace(claim, box=_by_value(claim.box, scan)), 1
    for number, layer in enumerate(network.layers, 1):
        with inside(f"layer {number}", number):
            claim, window = compose(setting, claim, layer, scan, number), 2 * window
    with inside("read-out", len(network.layers) + 1):
        require(window >= claim.length, "the windows do not reach back to the first letter", "add a layer")
        return _decoded(setting, network, automaton, claim, scan)


def _by_value(box: Real, scan: Scan) -> Real:
    """[value, channel]: channels of points hold their value; a value that no letter has stands for itself."""
    points = len(scan.padding)
    every = hull(box, np.zeros(len(box), dtype=np.int64))
    lo, hi = np.repeat(every.lo, points, axis=0), np.repeat(every.hi, points, axis=0)
    for p, channel in enumerate(scan.channels[0]):
        for value in range(points):
            rows = box[scan.letters[np.arange(len(box)) % len(scan.letters), p] == value, channel]
            lo[value, channel] = rows.lo.min() if len(rows) else value
            hi[value, channel] = rows.hi.max() if len(rows) else value
    return Real(lo, hi)


def compose(setting: Setting, claim: Claim, layer: Layer, scan: Scan, number: int) -> Claim:
    """One layer: heads look one window back or at their own position, and the MLP composes."""
    points, tau, keep = len(scan.padding), len(claim.pads), layer.keep_attention
    channels, window = scan.channels[number - 1], 2 ** (number - 1)
    boxes, pads = [claim.computed(claim.box).kept(keep)], [whole(claim.pads).kept(keep)]
    norm = normed(setting.fmt, claim.anywhere, layer.gain_attention, setting.epsilon)
    sources: dict[int, Source] = {int(c): (OWN_WINDOW, p) for p, c in enumerate(channels) if keep[c]}
    for place, head in enumerate(layer.heads, 1):
        with inside(f"head {place}"):
            one = np.zeros(points, dtype=np.int64)
            look = Look(setting, claim, head, one, one, norm)
            pads.append(look.at_padding())
            if not head.output.any():
                continue
            distance = _distance(look)
            require(distance in (0, window), f"it looks {distance} back, not {window} or 0")
            lead = lead_back(look, distance)
            out, _, _ = look.delivered(np.arange(points + tau), lead)
            found = _copied(head.value, head.output, channels)
            require(not set(found) & set(sources), "two maps are added into one channel")
            side = LEFT if distance else OWN_WINDOW
            sources.update({channel: (side, p) for channel, p in found.items()})
            boxes.append(_with_padding(out, found, scan) if distance else out[:points])
    mixed = setting.fmt.gathered(boxes).part
    there = replace(claim, box=mixed, places=claim.places * keep)
    there = replace(there, pads=setting.fmt.gathered(pads).part)
    norm = normed(setting.fmt, there.anywhere, layer.gain_mlp, setting.epsilon)
    made = _composed(setting, there, layer, scan.channels[number], sources, norm)
    padding = run_block(setting, (layer,), chain_of((layer,), [norm]), there.pads)
    return replace(made, pads=padding, places=claim.places * keep * untouched((layer,)))


def _distance(look: Look) -> int:
    """How far back the position is that scores best at the last letter: a guess, shown afterwards."""
    *_, (_, scores, _) = look.blocks(0)
    return int(scores.lo.shape[2] - 1 - scores.lo[-1, 0].argmax())


def _copied(value: Array, output: Array, channels: Integers) -> dict[int, int]:
    """Which channels a head writes that depend on a point, each on one."""
    through = (value[channels] != 0).astype(np.float64) @ (output != 0).astype(np.float64) > 0
    require(through.sum(axis=0) <= 1, "a head mixes two points in one channel")
    return {
        int(channel): int(through[:, channel].argmax()) for channel in np.flatnonzero(through.any(axis=0))
    }


def _with_padding(out: Box, found: dict[int, int], scan: Scan) -> Box:
    """To the left may stand padding: its number joins the row of the value that padding has there."""
    points = len(scan.padding)
    rows, pads = out.part[:points], out.part[points:].over(0)
    lo, hi = np.minimum(rows.lo, pads.lo), np.maximum(rows.hi, pads.hi)
    for channel, p in found.items():
        other = np.arange(points) != scan.padding[p]
        lo[other, channel], hi[other, channel] = rows.lo[other, channel], rows.hi[other, channel]
    beyond = np.broadcast_to(out.beyond, out.part.lo.shape)
    return Box(Real(lo, hi), beyond.max(axis=0))


def _composed(
    setting: Setting, claim: Claim, layer: Layer, channels: Integers, sources: dict[int, Source], norm: Norm
) -> Claim:
    """The MLP: units by the points they see; what each kind adds, whatever the maps are, is joined."""
    require(len(layer.weights) == 2, "a scan composes with one hidden layer")
    points, fmt, bias = len(channels), setting.fmt, layer.biases[1]
    coded = claim.box + claim.codes
    place = np.full(len(bias), -1)
    place[channels] = np.arange(points)
    kinds: dict[tuple[Source, ...], list[int]] = {}
    for number, column in enumerate((layer.weights[0] != 0).T):
        seen = sorted({sources[int(c)] for c in np.flatnonzero(column) if int(c) in sources})
        kinds.setdefault(tuple(seen), []).append(number)
    quiet = untouched((layer,))  # only these keep their code beside the box
    kept: dict[tuple[Source, ...], list[int]] = {}
    for channel in np.flatnonzero((layer.keep_mlp > 0) & ~quiet).tolist():  # as if a unit wrote it again
        alone = (sources[channel],) if channel in sources else ()
        kept.setdefault(alone, []).append(channel)
        kinds.setdefault(alone, [])
    shape = (points, points, len(bias))
    total = Real(np.zeros(shape) + bias, np.zeros(shape) + bias)
    known: dict[tuple[object, ...], Added] = {}
    slopes, size, unit = Real(np.zeros(shape), np.zeros(shape)), np.abs(bias), lowest_bit(bias)
    for kind, chosen in kinds.items():
        require(len(kind) <= 2, "a unit of the MLP sees more than two points")
        part = Kind(kind, np.array(chosen, dtype=np.int64), np.array(kept.get(kind, []), dtype=np.int64))
        # The channels that these units write; to the others they add exactly nothing.
        written = np.union1d(np.flatnonzero((layer.weights[1][part.units] != 0).any(axis=0)), part.kept)
        setting.budget.spend(40.0 * points**2 * (1 + len(written)), "points that units see")
        made = _kind(setting, layer, coded, sources, part, written, known, norm)
        size[written] += made[2].max(axis=0)
        unit[written] = np.minimum(unit[written], made[3])
        parts = _by_outcome(made[0], made[1], kind, place[written], points)
        for sums, added in zip((total, slopes), parts, strict=True):
            moved = sums[..., written] + added
            sums.lo[..., written], sums.hi[..., written] = moved.lo, moved.hi
    terms = (layer.weights[1] != 0).sum(axis=0) + 1.0 + layer.keep_mlp  # what has weight 0 adds nothing
    out = total.widened(ample(slopes.size)).widened(fmt.any_sum(size, terms, unit))
    # Row y of the channel of point q: all x = left(q) with own(x) = y. Other channels: whatever the maps are.
    rows = out.over(0).where(
        np.isin(np.arange(len(bias)), channels), out.over((0, 1)).spread(points, len(bias))
    )
    held = claim.box.over(0).spread(*rows.lo.shape)
    return replace(claim, box=held.where(np.broadcast_to(quiet, rows.lo.shape), rows))


def _kind(
    setting: Setting,
    layer: Layer,
    coded: Real,
    sources: dict[int, Source],
    part: "Kind",
    written: Integers,
    known: dict[tuple[object, ...], Added],
    norm: Norm,
) -> Added:
    """[values of the points seen, channel written]: what these units add, and how that moves with the left
    number's error.

    The error of a left number is the same for all kinds that see it, so its share is kept apart: it cancels
    when all of them are added. Two channels that hold one left number have two errors: nothing is shared
    then.
    """
    kind, units = part.sources, part.units
    points, count = len(coded), len(coded) ** len(kind)
    used = np.union1d(np.flatnonzero((layer.weights[0][:, units] != 0).any(axis=1)), part.kept)
    grid = np.indices((points,) * len(kind)).reshape(len(kind), count)
    row = np.zeros((count, len(used)), dtype=np.int64)
    for n, channel in enumerate(used.tolist()):
        if channel in sources:
            row[:, n] = grid[kind.index(sources[channel])]
    box = Real(*(np.take_along_axis(side[:, used], row, axis=0) for side in (coded.lo, coded.hi)))
    left = [n for n, channel in enumerate(used.tolist()) if sources.get(channel, ("", 0))[0] == LEFT]
    if len(left) == 1 and list(sources.values()).count(sources[int(used[left[0]])]) > 1:
        left = []
    first, bias, sine = layer.weights[0][np.ix_(used, units)], layer.biases[0][units], layer.sine[0][units]
    again = (part.kept[:, None] == written).astype(np.float64)
    parts = (
        first,
        bias,
        sine,
        layer.weights[1][np.ix_(units, written)],
        np.searchsorted(used, part.kept),
        again,
    )
    key = (len(kind), tuple(left), len(units), *(side.tobytes() for side in (box.lo, box.hi, *parts)))
    if key not in known:  # points are often treated alike: the same units on the same numbers
        known[key] = _added(setting, box, parts, left, norm[used])
    sums, slope, size, unit = known[key]
    shape = (*(points,) * len(kind), len(written))
    return sums.shaped(*shape), slope.shaped(*shape), size, unit


def _added(
    setting: Setting,
    box: Real,
    parts: tuple[Array, Array, Flags, Array, Integers, Array],
    left: list[int],
    norm: Norm,
) -> Added:
    """What some units add to some channels, row by row."""
    first, bias, sine, out, kept, again = parts
    weight = np.concatenate([out, again])
    work = (box.lo.shape[1] + 2 * len(bias)) * (len(bias) + weight.shape[1])
    setting.budget.spend(float(len(box)) * work, "MLP rows")
    stream = entering(box)
    form = stream.normed(norm).linear(setting.fmt, first, bias, norm)
    form = beside(form.activated(setting.fmt, sine, mirrors(first, out)), stream.chosen(kept))
    slope = point(np.zeros((len(box), weight.shape[1])))
    if len(left) == 1:
        slope = point(form.tied[left[0]]) @ weight
        form.tied[left[0]] = 0.0
    return form.sums(weight), slope, form.box.size @ np.abs(weight), form.grain(weight)


def _by_outcome(
    added: Real, slope: Real, kind: tuple[Source, ...], places: Integers, points: int
) -> tuple[Real, Real]:
    """[x, y, channel]: for the channel of point q = ``places[n]`` the hull over all maps with left(q) = x and
    own(x) = y; for a channel of no point (-1) the hull over all maps.
    """
    folded, shape = added.widened(ample(slope.size)), (points, points, len(places))
    made = [Real(np.zeros(shape), np.zeros(shape)) for _ in range(2)]
    for n, q in enumerate(places.tolist()):
        tied = (LEFT, q) in kind
        for part, out in zip((added, slope) if tied else (folded,), made, strict=False):
            picked = _picked(part[..., n], kind, q, points)
            out.lo[..., n], out.hi[..., n] = picked.lo, picked.hi
    return made[0], made[1]


def _picked(part: Real, kind: tuple[Source, ...], q: int, points: int) -> Real:
    """[x, y] where left(q) = x and own(x) = y: whatever else these units see may be anything."""
    axes = list(range(len(kind)))
    at = [axis for axis in axes if kind[axis] == (LEFT, q)]
    rows = part.over(tuple(axis for axis in axes if axis not in at))  # along x, or nothing
    lo, hi = (np.tile(side.reshape(-1, 1), (points // side.size, points)) for side in (rows.lo, rows.hi))
    for axis, (window, x) in enumerate(kind):
        if window == OWN_WINDOW and q >= 0:
            here = part[(slice(None),) * at[0] + (x,)] if at else part
            place = axis - sum(other < axis for other in at)
            seen = here.over(tuple(other for other in range(here.lo.ndim) if other != place))
            lo[x], hi[x] = seen.lo, seen.hi
    return Real(lo, hi)


def _decoded(setting: Setting, network: Network, automaton: Automaton, claim: Claim, scan: Scan) -> float:
    """Breadth-first over what the points that are read become, with and without padding in front."""
    read = [p for p, channel in enumerate(scan.channels[-1]) if network.readout[channel].any()]
    frontier = [(tuple(held), automaton.start) for held in ([scan.padding[p] for p in read], read)]
    pairs: dict[tuple[tuple[int, ...], int], None] = {}
    while frontier:
        values, state = frontier.pop()
        setting.budget.spend(1000.0 * len(scan.letters) * (1 + len(read)), "maps")
        for letter, act in enumerate(scan.letters.tolist()):
            pair = (tuple(act[value] for value in values), int(automaton.table[state, letter]))
            if pair not in pairs:
                pairs[pair] = None
                frontier.append(pair)
    rows = np.array([values for values, _ in pairs], dtype=np.int64).reshape(len(pairs), len(read))
    index = np.zeros((len(pairs), claim.box.lo.shape[1]), dtype=np.int64)
    index[:, scan.channels[-1][read]] = rows
    box = Real(
        np.take_along_axis(claim.box.lo, index, axis=0), np.take_along_axis(claim.box.hi, index, axis=0)
    )
    states, margin = decode(setting, replace(claim, box=box), network)
    wanted = automaton.shows[np.array([state for _, state in pairs], dtype=np.int64)]
    require(states == wanted, "a composition of letters decodes to another state than the automaton is in")
    return margin
