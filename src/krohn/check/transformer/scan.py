"""The scan (Theorem 1): every layer composes neighbouring windows of letters, two or more.

Claim at a moment. Letters and padding stand for maps of n points. At every position t, m being the
composition of what stands at positions t - w + 1 ... t (nothing stands before position 0), channel
``channels[p]`` is in row m(p) of the boxes for every point p, and any other channel in every row, plus its
position code. All maps are covered at once: a unit sees few points, so n or n² cases decide what it adds.

An MLP that composes more than two windows does it in pairs, pairs of pairs and so on. Between two rounds
some hidden units hold the maps as channels do, and nothing else of that layer is read.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from krohn.check.arithmetic.finite import finite_attention, finite_mlp
from krohn.check.arithmetic.format import Box, whole
from krohn.check.arithmetic.real import Array, Integers, Real, hull
from krohn.check.files.reader import Automaton, Layer, Network
from krohn.check.transformer.composition import LEFT, OWN_WINDOW, Source, composed, kept_by, numbers_of
from krohn.check.transformer.head_rules import Look, lead_back
from krohn.check.transformer.layer_norm import normed
from krohn.check.transformer.machine import Moment, Setting
from krohn.check.transformer.mlp import run_block, run_strand
from krohn.check.transformer.readout import decode
from krohn.check.transformer.strands import Chain, chain_of, strand_to, strands, untouched
from krohn.check.transformer.witness import MAX_NUMBERS, Scan
from krohn.check.verdict import inside, require

Held = dict[int, tuple[int, int]]
"""Columns that hold a map: its window (0 ends here, 1 is the one before it, ...) and its point."""


@dataclass(frozen=True)
class Holding:
    """Columns of a tensor hold maps: at every letter column c is in row m(p) of ``box`` plus its code, where
    ``held[c]`` names the point p and the window of ``size`` positions whose map is m; after ``rounds`` rounds
    it is a window of 2^rounds of these, of which there are ``windows``. Other columns are in every row.
    """

    box: Real
    places: Array
    pads: Real
    held: Held
    size: int
    windows: int = 1
    rounds: int = 0


@dataclass(frozen=True)
class Reading:
    """The row of the boxes for the images of the points ``read`` and a state of the automaton."""

    box: Real
    places: Array
    read: list[int]
    rows: dict[tuple[tuple[int, ...], int], int]


def check_scan(setting: Setting, network: Network, automaton: Automaton, moment: Moment, scan: Scan) -> float:
    """The certified logit margin; raises ``Refused``."""
    letters, points = scan.letters.shape
    fits = letters == len(network.embedding) and scan.padding.shape == (points,)
    fits = fits and scan.channels.shape == (len(network.layers) + 1, points)
    fits = fits and (scan.letters < points).all() and (scan.padding < points).all() and points > 0
    require(fits and (scan.channels < network.embedding.shape[1]).all(), "witness: maps")
    numbers = points * network.embedding.shape[1]
    require(numbers <= MAX_NUMBERS, f"points times channels may be {MAX_NUMBERS:,}; they are {numbers:,}")
    require(all(len(np.unique(row)) == points for row in scan.channels), "witness: channels")
    require(scan.padding[scan.padding] == scan.padding, "meeting the padding twice must be meeting it once")
    require(not setting.strict, "a scan needs heads that see their own position", "use the mask causal")
    require(moment.places[:, scan.channels[0]] == 0, "a channel that holds a map also holds a position code")
    moment, window = replace(moment, box=_by_value(moment.box, scan)), 1
    setting.note("embedding", _holding(moment, scan.channels[0], 1))
    for number, layer in enumerate(network.layers, 1):
        with inside(f"layer {number}", number):
            moment, windows = compose(setting, moment, layer, scan, number, window)
            window *= windows
            setting.note(f"layer.{number - 1}.stream", _holding(moment, scan.channels[number], window))
    with inside("read-out", len(network.layers) + 1):
        require(window >= moment.length, "the windows do not reach back to the first letter", "add a layer")
        return _decoded(setting, network, automaton, moment, scan)


def _holding(moment: Moment, channels: Integers, window: int) -> Holding:
    """What the stream holds between two layers."""
    held = {int(channel): (0, point) for point, channel in enumerate(channels)}
    return Holding(moment.box, moment.places, moment.pads, held, window)


def _by_value(box: Real, scan: Scan) -> Real:
    """[value, channel]: boxes by value in the channels of points; the value itself where no letter has it."""
    points = len(scan.padding)
    every = hull(box, np.zeros(len(box), dtype=np.int64))
    lo, hi = np.repeat(every.lo, points, axis=0), np.repeat(every.hi, points, axis=0)
    for p, channel in enumerate(scan.channels[0]):
        values = scan.letters[np.arange(len(box)) % len(scan.letters), p]
        unseen = np.isin(np.arange(points), values, invert=True)
        lo[:, channel], hi[:, channel] = np.where(unseen, np.arange(points), [[np.inf], [-np.inf]])
        np.minimum.at(lo[:, channel], values, box.lo[:, channel])
        np.maximum.at(hi[:, channel], values, box.hi[:, channel])
    return Real(lo, hi)


# Rule: a layer of a scan.
# Hypotheses: each head that writes looks a whole number of windows back, and its position leads whatever is
# there; it takes one point to a channel, and no channel gets two maps; a unit of the MLP sees at most two
# points; every number is finite, read or not.
# Conclusion: if channel p held m(p) for windows of w positions, it does for windows of w times as many.
# Why: for window maps l (left) and o (own), channel q must hold o(l(q)). What units add to it depends on
# l(q) = x and o(x) = y through the points they see: n² cases, and for each the hull over all other points.
def compose(
    setting: Setting, moment: Moment, layer: Layer, scan: Scan, number: int, window: int
) -> tuple[Moment, int]:
    """One layer: heads fetch their own or earlier windows, the MLP composes them; and how many they are."""
    points, tau, keep = len(scan.padding), len(moment.pads), layer.keep_attention
    channels = scan.channels[number - 1]
    boxes, pads = [moment.computed(moment.box).kept(keep)], [whole(moment.pads).kept(keep)]
    norm = normed(setting.fmt, moment.anywhere, layer.gain_attention, setting.epsilon)
    finite_attention(setting, moment.anywhere, layer, norm, moment.positions)
    held: Held = {int(c): (0, p) for p, c in enumerate(channels) if keep[c]}
    for place, head in enumerate(layer.heads, 1):
        with inside(f"head {place}"):
            if not head.output.any():
                continue
            one = np.zeros(points, dtype=np.int64)
            look = Look(setting, moment, head, one, one, norm)
            pads.append(look.at_padding())
            found = _copied(head.value, head.output, channels)
            require(not set(found) & set(held), "two maps are added into one channel")
            back = _windows_back(look, window, {held[c][0] for c in held if held[c][1] in found.values()})
            lead = lead_back(look, back * window)
            out, _, _ = look.delivered(np.arange(points + tau), lead)
            held.update({channel: (back, p) for channel, p in found.items()})
            boxes.append(_with_padding(out, found, scan) if back else out[:points])
    there = replace(
        moment,
        box=setting.fmt.gathered(boxes).part,
        places=moment.places * keep,
        pads=setting.fmt.gathered(pads).part,
    )
    windows = 1 + max((back for back, _ in held.values()), default=0)
    mixed = Holding(there.box, there.places, there.pads, held, window, windows)
    setting.note(f"layer.{number - 1}.mixed", mixed)
    return _in_rounds(setting, there, layer, mixed, scan, number), windows


def _windows_back(look: Look, window: int, taken: set[int]) -> int:
    """How many windows back the best-scoring position is at the last letter: a guess, proved afterwards.

    Windows before the first position all look at position 0; of these, one not ``taken`` is returned.
    """
    *_, (_, scores, _) = look.blocks(0)
    best, last = int(scores.lo[-1, 0].argmax()), int(scores.lo.shape[2]) - 1
    if best == last:
        return 0
    back = -(-(last - best) // window)
    fits = max(last - back * window, 0) == best
    require(fits, f"it looks {last - best} back, which is no multiple of {window}")
    while best == 0 and back in taken:
        back += 1
    return back


def _in_rounds(
    setting: Setting, moment: Moment, layer: Layer, mixed: Holding, scan: Scan, number: int
) -> Moment:
    """The MLP, from one cut to the next: a round composes windows 2i (own) and 2i + 1 (left) to window i."""
    held, windows, rounds = mixed.held, mixed.windows, 0
    norm = normed(setting.fmt, moment.anywhere, layer.gain_mlp, setting.epsilon)
    finite_mlp(setting, moment.anywhere, layer, norm)
    chain, channels, quiet = chain_of((layer,), [norm]), scan.channels[number], untouched((layer,))
    coded, pads, first, known = moment.box + moment.codes, moment.pads, 0, dict[Key, tuple[Real, Real]]()
    for stage, units in scan.cuts[number - 1] if scan.cuts else ():
        _require_cut(chain, first, stage, units, ((windows + 1) // 2, len(channels)))
        made = [
            _one_window(setting, chain[first:stage], ends, (coded, pads, held), (2 * i, windows), known)
            for i, ends in enumerate(units)
        ]
        width = len(chain[stage - 1].bias)
        coded, pads = (_side_by_side([both[side] for both in made], units, width) for side in (0, 1))
        held = {int(unit): (i, p) for i, row in enumerate(units) for p, unit in enumerate(row)}
        first, windows, rounds = stage, len(units), rounds + 1
        after = replace(mixed, box=coded, places=0 * coded.lo[:1], pads=pads, held=held, rounds=rounds)
        setting.note(f"layer.{number - 1}.mlp.{stage - 1}", after)
    require(windows <= 2, f"{windows} windows are composed at once")
    sources = _named(held, range(len(coded.lo[0])), 0, windows)
    rest = chain
    if first:
        require(quiet | (kept_by(chain[-1]) == 0), "a map is added to what its channel held before")
        rest = (*chain[first:-1], replace(chain[-1], keep=None))
    made_box = composed(setting, coded, rest, channels, sources, alone=windows == 1)
    padding = run_block(setting, strands(rest, quiet), pads, moment.pads)
    kept = moment.box.over(0).spread(*made_box.lo.shape)
    box = kept.where(np.broadcast_to(quiet, made_box.lo.shape), made_box)
    return replace(moment, box=box, pads=padding, places=moment.places * quiet)


Key = tuple[object, ...]
"""All numbers that the composition of a window depends on: equal windows are run once."""


def _require_cut(chain: Chain, first: int, stage: int, units: Integers, shape: tuple[int, int]) -> None:
    """Refuses unless the units of a cut are distinct ReLUs and no other unit of their layer is read."""
    fits = first < stage < len(chain) and units.shape == shape
    require(fits and (units < len(chain[stage - 1].bias)).all(), "witness: cut")
    require(len(np.unique(units)) == units.size, "witness: cut")
    sine, others = chain[stage - 1].sine, np.ones(len(chain[stage - 1].bias), dtype=bool)
    others[units] = False
    require(sine is not None and not sine[units].any(), "a unit that holds a map must be a ReLU")
    require(not chain[stage].weight[others].any(), "a unit that holds no map is read after a round")


def _one_window(
    setting: Setting,
    chain: Chain,
    ends: Integers,
    before: tuple[Real, Real, Held],
    own: tuple[int, int],
    known: dict[Key, tuple[Real, Real]],
) -> tuple[Real, Real]:
    """The boxes of the units ``ends``, one per point of a window, after a round; also those of padding."""
    strand = strand_to(chain, len(chain), ends)
    (coded, pads, held), columns, places = before, strand.inputs, np.searchsorted(strand.outputs, ends)
    sources = _named(held, columns, *own)
    parts = [*numbers_of(strand), coded.lo[:, columns], coded.hi[:, columns], pads.lo[:, columns]]
    parts += [pads.hi[:, columns], places]
    alone = own[0] + 1 == own[1]
    key = (alone, tuple(sorted(sources.items())), *((part.shape, part.tobytes()) for part in parts))
    if key not in known:
        box = composed(setting, coded[:, columns], strand.stages, places, sources, alone=alone)
        padding = run_strand(setting, strand, pads[:, columns])
        known[key] = box[:, places].positive(), padding[:, places].positive()
    return known[key]


def _side_by_side(parts: list[Real], units: Integers, width: int) -> Real:
    """The boxes of the units of all windows; the other units, which nothing reads, count as 0."""
    lo, hi = (np.zeros((len(parts[0].lo), width)) for _ in range(2))
    for row, part in zip(units, parts, strict=True):
        lo[:, row], hi[:, row] = part.lo, part.hi
    return Real(lo, hi)


def _named(held: Held, columns: Iterable[int], own: int, windows: int) -> dict[int, Source]:
    """The window and point that each column holds when window ``own`` and the one before it are composed."""
    names = {own: LEFT} if own + 1 == windows else {own: OWN_WINDOW, own + 1: LEFT}
    found = ((n, held[int(column)]) for n, column in enumerate(columns) if int(column) in held)
    return {n: (names.get(window, f"window {window}"), p) for n, (window, p) in found}


def _copied(value: Array, output: Array, channels: Integers) -> dict[int, int]:
    """The channels that a head copies from points: channel to point; each depends on one point only."""
    through = (value[channels] != 0).astype(np.float64) @ (output != 0).astype(np.float64) > 0
    require(through.sum(axis=0) <= 1, "a head mixes two points in one channel")
    return {
        int(channel): int(through[:, channel].argmax()) for channel in np.flatnonzero(through.any(axis=0))
    }


def _with_padding(out: Box, found: dict[int, int], scan: Scan) -> Box:
    """The position looked at may be padding: its box joins the row of the value that padding gives."""
    points = len(scan.padding)
    rows, pads = out.part[:points], out.part[points:].over(0)
    lo, hi = np.minimum(rows.lo, pads.lo), np.maximum(rows.hi, pads.hi)
    for channel, p in found.items():
        other = np.arange(points) != scan.padding[p]
        lo[other, channel], hi[other, channel] = rows.lo[other, channel], rows.hi[other, channel]
    beyond = np.broadcast_to(out.beyond, out.part.lo.shape)
    return Box(Real(lo, hi), beyond.max(axis=0))


def _decoded(setting: Setting, network: Network, automaton: Automaton, moment: Moment, scan: Scan) -> float:
    """Searches all pairs (images of the points read, state), with and without padding, and decodes them."""
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
    channels = scan.channels[-1][read]
    every = moment.box.over(0).spread(len(pairs), moment.box.lo.shape[1])  # points that are not read
    lo, hi = every.lo.copy(), every.hi.copy()
    lo[:, channels], hi[:, channels] = moment.box.lo[rows, channels], moment.box.hi[rows, channels]
    setting.note(
        "read-out", Reading(Real(lo, hi), moment.places, read, {pair: row for row, pair in enumerate(pairs)})
    )
    states, margin = decode(setting, replace(moment, box=Real(lo, hi)), network)
    wanted = automaton.shows[np.array([state for _, state in pairs], dtype=np.int64)]
    require(states == wanted, "a composition of letters decodes to another state than the automaton is in")
    return margin
