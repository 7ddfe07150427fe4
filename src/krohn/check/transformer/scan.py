"""The scan (Theorem 1): every layer composes neighbouring windows of letters, two or more.

Claim at a moment. Letters and padding stand for maps of n points. At every position t, m being the
composition of what stands at positions t - w + 1 ... t (nothing stands before position 0), channel
``channels[p]`` is in row m(p) of the boxes for every point p, and any other channel in every row, plus its
position code. All maps are covered at once: n² cases decide what a channel holds after a layer.

An MLP that composes more than two windows does it in pairs, pairs of pairs and so on. Between two rounds
some hidden units hold the maps as channels do, and nothing else of that layer is read.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.arithmetic.format import Box, normalise
from krohn.check.files.reader import Automaton, Layer, Network
from krohn.check.files.witness import MAX_NUMBERS, Scan
from krohn.check.ground import Array, Integers, Real, hull, inside, lowest_bit, require
from krohn.check.transformer.head_rules import Average, Letters, Look, lead_back
from krohn.check.transformer.mlp import (
    Mlp,
    Strand,
    decode,
    run_block,
    run_strand,
    strand_to,
    strands,
    untouched,
)
from krohn.check.transformer.stream import Moment, Setting, after_heads, bound_padding, finite_mlp

MAX_HELD = 1 << 24
"""Numbers in the rows of the read-out, one for each pair of a map and a state: 134 MB for each side."""
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
    require(moment.places[:, scan.channels[0]] == 0, "a channel that holds a map also holds a position code")
    # From here on rows of the boxes are values of maps, not classes of letters.
    moment, window, known = replace(moment, box=_by_value(moment.box, scan)), 1, dict[bytes, Real]()
    setting.note("embedding", _holding(moment, scan.channels[0], 1))
    for number, layer in enumerate(network.layers, 1):
        with inside(f"block {number}", number):
            moment, windows = compose(setting, moment, layer, scan, number, window, known)
            window *= windows
            setting.note(f"layer.{number - 1}.stream", _holding(moment, scan.channels[number], window))
    with inside("read-out", len(network.layers) + 1):
        require(window >= moment.length, "the windows do not reach back to the first letter", "add a layer")
        return _decode(setting, network, automaton, moment, scan)


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


class Fetching(Letters):
    """The heads of a scan: each that writes fetches the map of its own or of an earlier window."""

    def __init__(self, setting: Setting, moment: Moment, scan: Scan, channels: Integers, window: int) -> None:
        super().__init__(setting, moment)
        self.scan, self.channels, self.window, self.held = scan, channels, window, Held()

    def kept(self, x: Moment, flags: Array) -> Array:
        """Channels that are kept hold their own window."""
        self.held = {int(c): (0, p) for p, c in enumerate(self.channels) if flags[c]}
        return flags

    def written(self, read: Average, output: Array) -> Box | None:
        """What a head adds, by the value of the map that it fetches."""
        if not output.any():
            return None
        points, held, one = (
            len(self.scan.padding),
            self.held,
            np.zeros(len(self.scan.padding), dtype=np.int64),
        )
        look, found = Look(self, read, one, one), _find_copied(read.value.matrix, output, self.channels)
        require(not set(found) & set(held), "two maps are added into one channel")
        back = _windows_back(look, self.window, {w for w, p in held.values() if p in found.values()})
        lead = lead_back(look, back * self.window)
        out, _, _ = look.deliver(np.arange(points + look.tau), lead, output)
        held.update({channel: (back, p) for channel, p in found.items()})
        return _with_padding(out[:-1], found, self.scan) if back else out[:points]

    def total(self, parts: list[Any]) -> Moment:
        """keep x + Σ heads, but for padding."""
        moment, (keep, *written) = self.moment, parts
        boxes = [moment.computed(moment.box).kept(keep), *(box for box in written if box is not None)]
        return replace(moment, box=self.setting.fmt.gathered(boxes).part, places=moment.places * keep)


# Rule: a layer of a scan.
# Hypotheses: each head that writes looks a whole number of windows back, and its position leads whatever is
# there; it takes one point to a channel, and no channel gets two maps; every number is finite, read or not.
# Conclusion: if channel p held m(p) for windows of w positions, it does for windows of several times as many.
# Why: for window maps l (left) and o (own), channel q must hold o(l(q)), and n² cases decide what it holds.
def compose(
    setting: Setting, moment: Moment, layer: Layer, scan: Scan, number: int, window: int, known: "Known"
) -> tuple[Moment, int]:
    """One layer: heads fetch their own or earlier windows, the MLP composes them; and how many they are."""
    heads: Any = Fetching(setting, moment, scan, scan.channels[number - 1], window)
    pads = bound_padding(setting, moment, layer)
    there = replace(after_heads(heads, layer, moment), pads=pads)
    windows = 1 + max((back for back, _ in heads.held.values()), default=0)
    mixed = Holding(there.box, there.places, there.pads, heads.held, window, windows)
    setting.note(f"layer.{number - 1}.mixed", mixed)
    return _in_rounds(setting, there, layer, mixed, scan, number, known), windows


def _windows_back(look: Look, window: int, taken: set[int]) -> int:
    """How many windows back the best-scoring position is at the last letter: a guess, proved afterwards.

    Windows before the first position all look at position 0; of these, one not ``taken`` is returned.
    """
    scores, _ = look.at_last()
    best, last = int(scores.lo[0].argmax()), int(scores.lo.shape[1]) - 1
    # Whatever is returned here, ``lead_back`` must prove it for every letter.
    if best == last:
        return 0
    back = -(-(last - best) // window)
    fits = max(last - back * window, 0) == best
    require(fits, f"it looks {last - best} back, which is no multiple of {window}")
    while best == 0 and back in taken:
        back += 1
    return back


def _in_rounds(
    setting: Setting,
    moment: Moment,
    layer: Layer,
    mixed: Holding,
    scan: Scan,
    number: int,
    known: "Known",
) -> Moment:
    """The MLP, from one cut to the next: a round composes windows 2i (own) and 2i + 1 (left) to window i."""
    norm = normalise(setting.fmt, moment.anywhere, layer.gain_mlp, setting.epsilon)
    finite_mlp(setting, moment.anywhere, layer)
    mlp, channels, quiet = (layer, norm), scan.channels[number], untouched(layer)
    held, first = replace(mixed, box=moment.box + moment.codes), 0
    for stage, units in scan.cuts[number - 1] if scan.cuts else ():
        _require_cut(layer, first, stage, units, ((held.windows + 1) // 2, len(channels)))
        held = _one_round(setting, mlp, (first, stage), held, units, known)
        setting.note(f"layer.{number - 1}.mlp.{stage - 1}", replace(held, windows=mixed.windows))
        first = stage
    require(held.windows <= 2, f"{held.windows} windows are composed at once")
    part: Part = (0, None)
    if first:
        require(quiet | (layer.keep_mlp == 0), "a map is added to what its channel held before")
        part = (first, len(layer.weights))  # 0 is added to what it writes
    kept = moment.box.over(0).spread(*moment.box.lo.shape)
    lo, hi, point_of = kept.lo.copy(), kept.hi.copy(), {int(c): q for q, c in enumerate(channels)}
    for channel in np.flatnonzero(~quiet).tolist():
        q = point_of.get(channel)
        ways = _one(held, held.held.get(channel)) if q is None else _pairs(held, 0, q)
        made = _by_cases(setting, strand_to(mlp, np.array([channel]), *part), held, ways, known)
        made = made.over(0) if q is None else made
        lo[:, channel], hi[:, channel] = made.lo, made.hi
    every = [strand_to(mlp, np.flatnonzero(~quiet), *part)] if first else strands(mlp, quiet)
    pads = run_block(setting, every, held.pads, moment.pads)
    return replace(moment, box=Real(lo, hi), pads=pads, places=moment.places * quiet)


Part = tuple[int, int | None]
"""Matrices of an MLP: the first one, and the one after the last; with ``None``, the stream is added too."""


def _one_round(
    setting: Setting, mlp: Mlp, part: tuple[int, int], held: Holding, units: Integers, known: "Known"
) -> Holding:
    """What the units of a cut hold; the others, which nothing reads, count as 0."""
    width = len(mlp[0].biases[part[1] - 1])
    box, pads = (
        Real(np.zeros((rows, width)), np.zeros((rows, width))) for rows in map(len, (held.box, held.pads))
    )
    for window, row in enumerate(units):
        for q, unit in enumerate(row.tolist()):
            strand = strand_to(mlp, np.array([unit]), *part)
            made = _by_cases(setting, strand, held, _pairs(held, 2 * window, q), known)
            box.lo[:, unit], box.hi[:, unit] = made.lo, made.hi
        pads = run_block(setting, [strand_to(mlp, row, *part)], held.pads, pads)
    points = {int(unit): (i, q) for i, row in enumerate(units) for q, unit in enumerate(row)}
    return Holding(box, 0 * box.lo[:1], pads, points, held.size, len(units), held.rounds + 1)


def _require_cut(layer: Layer, first: int, stage: int, units: Integers, shape: tuple[int, int]) -> None:
    """Refuses unless the units of a cut are distinct ReLUs and no other unit of their layer is read."""
    fits = first < stage < len(layer.weights) and units.shape == shape
    require(fits and (units < len(layer.biases[stage - 1])).all(), "witness: cut")
    require(len(np.unique(units)) == units.size, "witness: cut")
    others = np.ones(len(layer.biases[stage - 1]), dtype=bool)
    others[units] = False
    require(not layer.sine[stage - 1][units].any(), "a unit that holds a map must be a ReLU")
    require(not layer.weights[stage][others].any(), "a unit that holds no map is read after a round")


SAYS_NOTHING, SAYS_X, SAYS_Y = -1, -2, -3
"""What a column says in a case (x, y): nothing, x, or y; a point p: y where x = p, else nothing."""


@dataclass(frozen=True)
class Ways:
    """Cases, with the value y of the new map in each, and by (window, point) what a column says in them."""

    points: int
    paired: bool
    says: dict[tuple[int, int], int]

    @property
    def values(self) -> Integers:
        """The value of the new map, case by case."""
        return self._cases[1]

    @property
    def _cases(self) -> tuple[Integers, Integers]:
        x, y = np.divmod(np.arange(self.points ** (1 + self.paired)), self.points)
        return x, y

    def rows(self, said: Integers) -> Integers:
        """[case, column]: the row that each column is in, −1 for any row."""
        x, y = self._cases
        out = np.where(x[:, None] == said, y[:, None], -1)
        for what, row in ((SAYS_NOTHING, np.full_like(y, -1)), (SAYS_X, x), (SAYS_Y, y)):
            out[:, said == what] = row[:, None]
        return out


# Rule: cases for a point q of two windows, left and own.
# Hypotheses: none. Conclusion: the cases left(q) = x, own(x) = y, for all x and y, cover all pairs of maps,
# and in each the composition sends q to y. Why: whatever left(q) and own of it are, they are some x and y.
def _pairs(held: Holding, own: int, q: int) -> Ways:
    """The cases when window ``own`` and the one before it are composed; without one before it, it stays."""
    points = len(held.box)
    if own + 1 == held.windows:
        return Ways(points, False, {(own, q): SAYS_Y})
    return Ways(points, True, {**{(own, p): p for p in range(points)}, (own + 1, q): SAYS_X})


def _one(held: Holding, source: tuple[int, int] | None) -> Ways:
    """The cases for a column that holds no map afterwards: by the value that it holds now, if it does."""
    return Ways(len(held.box), False, {} if source is None else {source: SAYS_Y})


Known = dict[bytes, Real]
"""Columns that were run, by the SHA-256 of all that is run: points and layers are often treated alike."""


def _numbers(strand: Strand) -> Iterator[npt.NDArray[Any]]:
    """All that the outputs of a strand are computed from."""
    layer, norm, part = strand.layer, strand.norm, slice(strand.first, strand.last)
    yield np.array([strand.first == 0, strand.last is None, len(layer.sine[part])])
    yield from (*layer.weights[part], *layer.biases[part], *layer.sine[part], layer.keep_mlp, strand.place)
    if layer.gain_mlp is not None:
        yield from (norm.scale, norm.alike, norm.own, norm.faint, np.array(norm.mean))


# Rule: a column, case by case.
# Hypotheses: the cases cover all maps. Conclusion: where the new map has value y, the unit is in the hull of
# the cases with value y. Why: a case is a row of boxes, and rows are run by the network's own matrices;
# columns that the case sets are in their row, others in the hull of theirs, whatever the maps do elsewhere.
def _by_cases(setting: Setting, strand: Strand, held: Holding, ways: Ways, known: Known) -> Real:
    """[value]: what the one unit, or channel, at the end of a strand holds."""
    columns, cases = strand.inputs, ways.points ** (1 + ways.paired)
    setting.budget.spend(float(cases) * (1 + len(columns)), "cases")
    sources = (held.held.get(column, (-1, -1)) for column in columns.tolist())  # of no window: any row
    said = np.array([ways.says.get(source, SAYS_NOTHING) for source in sources], dtype=np.int64)
    box, shape = held.box[:, columns], np.array([ways.points, ways.paired])
    parts = [*_numbers(strand), box.lo, box.hi, said, shape]
    # Equal inputs give equal outputs: points and layers of a scan mostly have the same weights, so that n²
    # cases are run a few times and not for each point of each layer.
    key = sha256(b"".join(f"{part.dtype}{part.shape}".encode() + part.tobytes() for part in parts)).digest()
    if key not in known:
        chosen = ways.rows(said)
        grain = np.where(box.known, lowest_bit(box.lo), 0.0).min(axis=0)
        case = box[np.maximum(chosen, 0), np.arange(len(columns))]
        case = case.where(chosen >= 0, box.over(0).spread(*chosen.shape))
        known[key] = hull(run_strand(setting, strand, case, grain=grain)[:, 0], ways.values)
    return known[key]


def _find_copied(value: Array, output: Array, channels: Integers) -> dict[int, int]:
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


def _decode(setting: Setting, network: Network, automaton: Automaton, moment: Moment, scan: Scan) -> float:
    """Searches all pairs (images of the points read, state), with and without padding, and decodes them."""
    read = [p for p, channel in enumerate(scan.channels[-1]) if network.readout[channel].any()]
    # Two beginnings: the window of the last layer reaches padding, or it ends at the first letter.
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
        numbers = len(pairs) * (len(moment.wide) + 8)
        require(numbers <= MAX_HELD, f"pairs of maps and states times channels may be {MAX_HELD:,}")
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
