"""The scan (Theorem 1): every layer composes neighbouring windows of letters, two or more.

Claim at a moment. Letters and padding stand for maps of n points. At every position t, m being the
composition of what stands at positions t - w + 1 ... t (nothing stands before position 0), channel
``channels[p]`` is in row m(p) of the boxes for every point p, and any other channel in every row, plus its
position code. All maps are covered at once: a unit sees few points, so n or n² cases decide what it adds.

An MLP that composes more than two windows does it in pairs, pairs of pairs and so on. Between two rounds
some hidden units hold the maps as channels do, and nothing else of that layer is read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.affine import normed
from krohn.check.finite import finite_attention, finite_mlp
from krohn.check.format import Box, whole
from krohn.check.head_rules import Look, lead_back
from krohn.check.machine import Moment, Setting
from krohn.check.mlp import Terms, form_of, run_block, run_strand
from krohn.check.reader import Automaton, Layer, Network
from krohn.check.readout import decode
from krohn.check.real import Array, Integers, Real, ample, hull, lowest_bit, point
from krohn.check.strands import Chain, Stage, Strand, chain_of, reaches, strand_to, strands, untouched
from krohn.check.verdict import inside, require
from krohn.check.witness import Scan

Source = tuple[str, int]
"""Where the content of a channel comes from: "left" or "own" window, or another one, and which point."""
Held = dict[int, tuple[int, int]]
"""Columns that hold a map: of which window (0 ends here, 1 is the one before it, ...), and of which point."""
LEFT, OWN_WINDOW = "left", "own"


@dataclass(frozen=True)
class Kind:
    """Units that see the same points, and kept channels that hold one of them."""

    sources: tuple[Source, ...]
    units: Integers
    kept: Integers


Added = tuple[Real, Real, Array, Array]
"""What units add, how that moves with the error of a left number, the size of terms, their common unit."""
Term = tuple[int, int, int, tuple[tuple[int, int], ...]]
"""What a kind adds to a channel, both by number; the axis of left(q) or -1; axes of own points, and which."""


def check_scan(setting: Setting, network: Network, automaton: Automaton, moment: Moment, scan: Scan) -> float:
    """The certified logit margin; raises ``Refused``."""
    letters, points = scan.letters.shape
    fits = letters == len(network.embedding) and scan.padding.shape == (points,)
    fits = fits and scan.channels.shape == (len(network.layers) + 1, points)
    fits = fits and (scan.letters < points).all() and (scan.padding < points).all() and points > 0
    require(fits and (scan.channels < network.embedding.shape[1]).all(), "witness: maps")
    require(all(len(np.unique(row)) == points for row in scan.channels), "witness: channels")
    require(scan.padding[scan.padding] == scan.padding, "meeting the padding twice must be meeting it once")
    require(not setting.strict, "a scan needs heads that see their own position", "use the mask causal")
    require(moment.places[:, scan.channels[0]] == 0, "a channel that holds a map also holds a position code")
    moment, window = replace(moment, box=_by_value(moment.box, scan)), 1
    for number, layer in enumerate(network.layers, 1):
        with inside(f"layer {number}", number):
            moment, windows = compose(setting, moment, layer, scan, number, window)
            window *= windows
    with inside("read-out", len(network.layers) + 1):
        require(window >= moment.length, "the windows do not reach back to the first letter", "add a layer")
        return _decoded(setting, network, automaton, moment, scan)


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


def compose(
    setting: Setting, moment: Moment, layer: Layer, scan: Scan, number: int, window: int
) -> tuple[Moment, int]:
    """One layer: heads look some windows back or at their own position, the MLP composes; how many it was."""
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
    return _in_rounds(setting, there, layer, held, windows, scan, number), windows


def _windows_back(look: Look, window: int, taken: set[int]) -> int:
    """How many windows back the position is that scores best at the last letter: a guess, shown afterwards.

    A window that would begin before the first position is there; of several such, one not ``taken``.
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
    setting: Setting, moment: Moment, layer: Layer, held: Held, windows: int, scan: Scan, number: int
) -> Moment:
    """The MLP, from one cut to the next: a round composes windows 2i (own) and 2i + 1 (left) to window i."""
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
        first, windows = stage, len(units)
    require(windows <= 2, f"{windows} windows are composed at once")
    sources = _named(held, range(len(coded.lo[0])), 0, windows)
    if not first:
        made_box = _composed(setting, coded, chain, channels, sources, alone=windows == 1)
        padding = run_block(setting, (layer,), chain, strands(chain), pads)
    else:
        require(quiet | (_kept(chain[-1]) == 0), "a map is added to what its channel held before")
        rest, ends = (*chain[first:-1], replace(chain[-1], keep=None)), np.flatnonzero(~quiet)
        made_box = _composed(setting, coded, rest, channels, sources, alone=windows == 1)
        strand = strand_to(rest, len(rest), ends)
        lo, hi = moment.pads.lo * quiet, moment.pads.hi * quiet
        padding = run_strand(setting, rest, strand, pads[:, strand.inputs])
        lo[:, ends], hi[:, ends] = padding.lo, padding.hi
        padding = Real(lo, hi)
    kept = moment.box.over(0).spread(*made_box.lo.shape)
    box = kept.where(np.broadcast_to(quiet, made_box.lo.shape), made_box)
    return replace(moment, box=box, pads=padding, places=moment.places * quiet)


Key = tuple[object, ...]
"""All numbers that a window is composed with: windows that are treated alike are run once."""


def _require_cut(chain: Chain, first: int, stage: int, units: Integers, shape: tuple[int, int]) -> None:
    """The units that a cut names hold maps, each another one, and nothing else of their layer is read."""
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
    """What the units ``ends``, of the points of one window, hold after a round; and at padding positions."""
    strand = strand_to(chain, len(chain), ends)
    (coded, pads, held), columns, places = before, strand.inputs, np.searchsorted(strand.units[-1], ends)
    sources = _named(held, columns, *own)
    parts = [*_parts(chain, strand), coded.lo[:, columns], coded.hi[:, columns], pads.lo[:, columns]]
    parts += [pads.hi[:, columns], places]
    key = (tuple(sorted(sources.items())), *((part.shape, part.tobytes()) for part in parts))
    if key not in known:
        small = tuple(_stages(chain, strand))
        alone = own[0] + 1 == own[1]
        box = _composed(setting, coded[:, columns], small, places, sources, alone=alone)
        whole_strand = strand_to(small, len(small), np.arange(len(places)))
        padding = run_strand(setting, small, whole_strand, pads[:, columns])
        known[key] = box[:, places].positive(), padding[:, places].positive()
    return known[key]


def _stages(chain: Chain, strand: Strand) -> Iterator[Stage]:
    """The stages of a chain with the units of one strand alone."""
    columns = strand.inputs
    for stage, units in zip(chain, strand.units, strict=True):
        norm = None if stage.norm is None else stage.norm[columns]
        sine = None if stage.sine is None else stage.sine[units]
        yield Stage(stage.weight[np.ix_(columns, units)], stage.bias[units], norm, sine, None)
        columns = units


def _side_by_side(parts: list[Real], units: Integers, width: int) -> Real:
    """What the units of all windows hold; the others, which nothing reads, count as 0."""
    lo, hi = (np.zeros((len(parts[0].lo), width)) for _ in range(2))
    for row, part in zip(units, parts, strict=True):
        lo[:, row], hi[:, row] = part.lo, part.hi
    return Real(lo, hi)


def _named(held: Held, columns: Iterable[int], own: int, windows: int) -> dict[int, Source]:
    """Whose point each column holds if windows ``own`` and the one before it are composed."""
    names = {own: LEFT} if own + 1 == windows else {own: OWN_WINDOW, own + 1: LEFT}
    found = ((n, held[int(column)]) for n, column in enumerate(columns) if int(column) in held)
    return {n: (names.get(window, f"window {window}"), p) for n, (window, p) in found}


def _copied(value: Array, output: Array, channels: Integers) -> dict[int, int]:
    """Which channels a head writes that depend on a point, each on one."""
    through = (value[channels] != 0).astype(np.float64) @ (output != 0).astype(np.float64) > 0
    require(through.sum(axis=0) <= 1, "a head mixes two points in one channel")
    return {
        int(channel): int(through[:, channel].argmax()) for channel in np.flatnonzero(through.any(axis=0))
    }


def _with_padding(out: Box, found: dict[int, int], scan: Scan) -> Box:
    """Padding may stand to the left: its number joins the row of the value that it has there."""
    points = len(scan.padding)
    rows, pads = out.part[:points], out.part[points:].over(0)
    lo, hi = np.minimum(rows.lo, pads.lo), np.maximum(rows.hi, pads.hi)
    for channel, p in found.items():
        other = np.arange(points) != scan.padding[p]
        lo[other, channel], hi[other, channel] = rows.lo[other, channel], rows.hi[other, channel]
    beyond = np.broadcast_to(out.beyond, out.part.lo.shape)
    return Box(Real(lo, hi), beyond.max(axis=0))


def _composed(
    setting: Setting,
    coded: Real,
    chain: Chain,
    channels: Integers,
    sources: dict[int, Source],
    *,
    alone: bool,
) -> Real:
    """Units by the points they see; what each kind adds, whatever the maps are, is joined.

    A window that is ``alone`` is only passed on: it is the left one, and there is no other.
    """
    last = chain[-1]
    points, d, keep = len(channels), len(last.bias), _kept(last)
    quiet = (keep > 0) & ~(last.weight != 0).any(axis=0) & (last.bias == 0)  # their code stays beside
    place = np.full(d, -1)
    place[channels] = np.arange(points)
    adding, terms = Adding(setting, chain, coded, sources), dict[int, list[Term]]()
    for kind in _kinds(chain, sources, np.flatnonzero((keep > 0) & ~quiet).tolist()):
        # The channels that these units write; to the others they add exactly nothing.
        written = np.union1d(np.flatnonzero((last.weight[kind.units] != 0).any(axis=0)), kind.kept)
        number = adding.number(kind, written)
        for n, channel in enumerate(written.tolist()):
            terms.setdefault(channel, []).append(_term(number, n, kind.sources, int(place[channel])))
    count = (last.weight != 0).sum(axis=0) + 1.0 + keep  # what has weight 0 adds nothing
    lo, hi = np.zeros((points, d)), np.zeros((points, d))
    known: dict[tuple[tuple[Term, ...], float, float], Real] = {}
    for channel in range(d):
        key = (tuple(terms.get(channel, ())), float(last.bias[channel]), float(count[channel]))
        if key not in known:  # points are often treated alike: the same terms in the same order
            known[key] = adding.column(*key)
        # Row y of the channel of point q: all x = left(q) with own(x) = y. Others: whatever the maps are.
        made = known[key].over(int(alone)) if place[channel] >= 0 else known[key].over((0, 1))
        lo[:, channel], hi[:, channel] = made.lo, made.hi
    return Real(lo, hi)


def _kept(last: Stage) -> Array:
    return np.zeros(len(last.bias)) if last.keep is None else last.keep


def _kinds(chain: Chain, sources: dict[int, Source], again: list[int]) -> list[Kind]:
    """Units by the points they see; channels ``again`` are kept, as if a unit wrote them again."""
    units: dict[tuple[Source, ...], list[int]] = {}
    kept: dict[tuple[Source, ...], list[int]] = {}
    for number, column in enumerate(reaches(chain, len(chain) - 1)[0].T if len(chain) > 1 else ()):
        seen = sorted({sources[int(c)] for c in np.flatnonzero(column) if int(c) in sources})
        units.setdefault(tuple(seen), []).append(number)
    for channel in again:
        kept.setdefault((sources[channel],) if channel in sources else (), []).append(channel)
    require(all(len(kind) <= 2 for kind in units), "a unit of the MLP sees more than two points")
    every = dict.fromkeys([*units, *kept])
    whole = [[np.array(side.get(kind, []), dtype=np.int64) for side in (units, kept)] for kind in every]
    return [Kind(kind, *numbers) for kind, numbers in zip(every, whole, strict=True)]


def _term(number: int, n: int, kind: tuple[Source, ...], q: int) -> Term:
    """What units add to the channel of point q (-1: of no point): along which axis left(q), own(x) stand."""
    left = [axis for axis, source in enumerate(kind) if source == (LEFT, q)]
    own = tuple((axis, x) for axis, (window, x) in enumerate(kind) if window == OWN_WINDOW and q >= 0)
    return number, n, left[0] if left else -1, own


class Adding:
    """What kinds of units add to channels; kinds that do the same with the same numbers are run once."""

    def __init__(self, setting: Setting, chain: Chain, coded: Real, sources: dict[int, Source]) -> None:
        self.setting, self.chain, self.coded, self.sources = setting, chain, coded, sources
        self.numbers: dict[tuple[object, ...], int] = {}
        self.made: list[Added] = []
        self.known: dict[Term, tuple[Real, Real]] = {}
        self.copies = Counter(sources.values())

    def number(self, part: Kind, written: Integers) -> int:
        """The number of the kind among those that differ.

        The error of a left number is the same for all kinds that see it, so its share is kept apart: it
        cancels when all of them are added. Two channels that hold one left number have two errors: nothing
        is shared then.
        """
        chain, kind = self.chain, part.sources
        strand = strand_to(chain, len(chain) - 1, part.units, part.kept)
        axes = [kind.index(self.sources[c]) if c in self.sources else -1 for c in strand.inputs.tolist()]
        left = [n for n, axis in enumerate(axes) if axis >= 0 and kind[axis][0] == LEFT]
        if len(left) == 1 and self.copies[kind[axes[left[0]]]] > 1:
            left = []
        again = (part.kept[:, None] == written).astype(np.float64)
        weight = np.concatenate([chain[-1].weight[np.ix_(part.units, written)], again])
        rows = self.coded[:, strand.inputs]
        parts = [rows.lo, rows.hi, weight, np.searchsorted(strand.inputs, part.kept), *_parts(chain, strand)]
        key = (tuple(axes), tuple(left), *((side.shape, side.tobytes()) for side in parts))
        if key not in self.numbers:
            self.numbers[key] = len(self.made)
            points, count = len(rows), len(rows) ** len(kind)
            grid = np.indices((points,) * len(kind)).reshape(len(kind), count)
            index = np.zeros((count, len(axes)), dtype=np.int64)
            for n, axis in enumerate(axes):
                index[:, n] = grid[axis] if axis >= 0 else 0
            box = Real(*(np.take_along_axis(side, index, axis=0) for side in (rows.lo, rows.hi)))
            terms = (part.units, part.kept, weight)
            sums, slope, size, unit = self.added(strand, box, terms, left)
            shape = (*(points,) * len(kind), len(written))
            self.made.append((sums.shaped(*shape), slope.shaped(*shape), size, unit))
        return self.numbers[key]

    def added(self, strand: Strand, box: Real, terms: Terms, left: list[int]) -> Added:
        """What units add, row by row, and how that moves with the left number's error: the symbol of its
        channel, among those of the channels that are not known.
        """
        form = form_of(self.setting, self.chain, strand, box, terms)
        slope = point(np.zeros((len(box), terms[2].shape[1])))
        unsure = (~box.known).sum(axis=0) > 0
        if len(left) == 1 and unsure[left[0]]:
            symbol = int(unsure[: left[0]].sum())
            slope = point(form.tied[symbol]) @ terms[2]
            form.tied[symbol] = 0.0
        return form.sums(terms[2]), slope, form.box.size @ np.abs(terms[2]), form.grain(terms[2])

    def column(self, terms: tuple[Term, ...], bias: float, count: float) -> Real:
        """[x, y]: what stands in a channel if left(q) = x and own(x) = y."""
        shape = (len(self.coded), len(self.coded))
        total, slopes, size = point(np.full(shape, bias)), point(np.zeros(shape)), np.abs(np.asarray(bias))
        unit = lowest_bit(np.asarray(bias))
        self.setting.budget.spend(20.0 * total.lo.size * (1 + len(terms)), "points that units see")
        for term in terms:
            number, n, left, own = term
            made = self.made[number]
            if term not in self.known:
                sides = (made[0][..., n], made[1][..., n])
                if left < 0:  # nothing cancels
                    sides = (sides[0].widened(ample(sides[1].size)), point(np.zeros_like(sides[0].lo)))
                self.known[term] = (_picked(sides[0], left, own, shape), _picked(sides[1], left, own, shape))
            total, slopes = total + self.known[term][0], slopes + self.known[term][1]
            size, unit = size + made[2][:, n].max(), np.minimum(unit, made[3][n])
        off = self.setting.fmt.any_sum(size, np.asarray(count), unit)
        return total.widened(ample(slopes.size)).widened(off)


def _parts(chain: Chain, strand: Strand) -> Iterator[npt.NDArray[Any]]:
    """All numbers that units of a strand are computed with."""
    columns = strand.inputs
    for stage, units in zip(chain, strand.units, strict=False):
        yield from (stage.weight[np.ix_(columns, units)], stage.bias[units])
        if stage.sine is not None:
            yield stage.sine[units]
        if stage.norm is not None:
            norm = stage.norm[columns]
            yield from (norm.scale, norm.alike, norm.own, norm.faint)
        columns = units


def _picked(part: Real, left: int, own: tuple[tuple[int, int], ...], shape: tuple[int, int]) -> Real:
    """[x, y] where left(q) = x and own(x) = y: whatever else these units see may be anything."""
    rows = part.over(tuple(axis for axis in range(part.lo.ndim) if axis != left))  # along x, or one number
    lo, hi = (np.broadcast_to(side.reshape(-1, 1), shape).copy() for side in (rows.lo, rows.hi))
    for axis, x in own:
        here = part if left < 0 else part[(slice(None),) * left + (x,)]
        place = axis - (0 <= left < axis)
        seen = here.over(tuple(other for other in range(here.lo.ndim) if other != place))
        lo[x], hi[x] = seen.lo, seen.hi
    return Real(lo, hi)


def _decoded(setting: Setting, network: Network, automaton: Automaton, moment: Moment, scan: Scan) -> float:
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
    index = np.zeros((len(pairs), moment.box.lo.shape[1]), dtype=np.int64)
    index[:, scan.channels[-1][read]] = rows
    box = Real(
        np.take_along_axis(moment.box.lo, index, axis=0), np.take_along_axis(moment.box.hi, index, axis=0)
    )
    states, margin = decode(setting, replace(moment, box=box), network)
    wanted = automaton.shows[np.array([state for _, state in pairs], dtype=np.int64)]
    require(states == wanted, "a composition of letters decodes to another state than the automaton is in")
    return margin
