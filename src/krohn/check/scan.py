"""The scan (Theorem 1): every layer composes two neighbouring windows of letters.

Claim at a moment. Letters and padding stand for maps of some points. At every position t the computed stream
lies in ``box[m] + places[t]``, m being the composition of what stands at positions t − w + 1 … t (nothing
stands before position 0). No finite machine is needed: the witness only says which maps letters and padding
stand for.
"""

from dataclasses import dataclass, replace

import numpy as np

from krohn.check.format import whole
from krohn.check.heads import Look, lead_back
from krohn.check.machine import Claim, Setting
from krohn.check.mlp import run_block, untouched
from krohn.check.reader import Automaton, Layer, Network
from krohn.check.readout import decode
from krohn.check.real import Integers, Real, hull
from krohn.check.verdict import inside, require
from krohn.check.witness import Scan

Map = tuple[int, ...]


@dataclass(frozen=True)
class Windows:
    """``maps[c]``: what class c stands for; ``padding`` what padding stands for; the length of a window."""

    maps: list[Map]
    padding: Map
    length: int


def check_scan(
    setting: Setting, network: Network, automaton: Automaton, claim: Claim, witness: Scan
) -> float:
    """The certified logit margin; raises ``Refused``."""
    letters, points = witness.letters.shape
    require(letters == len(network.embedding) and witness.padding.shape == (points,), "witness: maps")
    require((witness.letters < points).all() and (witness.padding < points).all(), "witness: maps")
    padding: Map = tuple(witness.padding.tolist())
    require(then(padding, padding) == padding, "meeting the padding twice must be meeting it once")
    require(not setting.strict, "a scan needs heads that see their own position", "use the mask causal")
    windows = Windows([tuple(row) for row in witness.letters.tolist()], padding, 1)
    for number, layer in enumerate(network.layers, 1):
        with inside(f"layer {number}"):
            claim, windows = compose(setting, claim, layer, windows)
    with inside("read-out"):
        require(
            windows.length >= claim.length, "the windows do not reach back to the first letter", "add a layer"
        )
        states, margin = decode(setting, claim, network)
        _compare(setting, automaton, windows, states, [tuple(row) for row in witness.letters.tolist()])
    return margin


def then(first: Map, second: Map) -> Map:
    """First one map, then the other."""
    return tuple(second[image] for image in first)


def compose(setting: Setting, claim: Claim, layer: Layer, windows: Windows) -> tuple[Claim, Windows]:
    """One layer: heads look one window back or at their own position; the MLP runs on all pairs of maps."""
    count, tau, keep = claim.classes, len(claim.pads), layer.keep_attention
    meaning = [
        *windows.maps,
        *[windows.padding] * tau,
    ]  # padding stands left of letters, as a value of its own
    left, own = (grid.reshape(-1) for grid in np.indices((count + tau, count)))
    setting.budget.spend(float(len(left)) * (len(windows.padding) + len(keep)), "pairs of maps")
    boxes, pads = [claim.computed(claim.box).kept(keep)[own]], [whole(claim.pads).kept(keep)]
    for number, head in enumerate(layer.heads, 1):
        with inside(f"head {number}"):
            one = np.zeros(count, dtype=np.int64)
            look = Look(setting, claim, head, one, one)
            pads.append(look.at_padding())
            distance = _distance(look)
            require(distance in (0, windows.length), f"it looks {distance} back, not {windows.length} or 0")
            lead = lead_back(look, distance)
            out, _, _ = look.delivered(np.arange(count + tau), lead.least, lead.size)
            boxes.append(out[left if distance else own])
    total, places = setting.fmt.gathered(boxes).part, claim.places * keep
    quiet = untouched(layer)
    coded = total + Real(places.min(axis=0), places.max(axis=0))
    done = total.where(np.broadcast_to(quiet, total.lo.shape), run_block(setting, layer, coded))
    found: dict[Map, int] = {}
    made = [
        found.setdefault(then(meaning[a], windows.maps[b]), len(found))
        for a, b in zip(left, own, strict=True)
    ]
    box = settled(hull(done, np.array(made, dtype=np.int64)))
    padding = run_block(setting, layer, setting.fmt.gathered(pads).part)
    claim = replace(claim, box=box, places=places * quiet, pads=padding)
    return claim, Windows(list(found), windows.padding, 2 * windows.length)


def _distance(look: Look) -> int:
    """How far back the position is that scores best at the last letter: a guess, shown afterwards."""
    *_, (_, scores, _) = look.blocks(0)
    return int(scores.lo.shape[2] - 1 - scores.lo[-1, 0].argmax())


def settled(box: Real) -> Real:
    """Boxes of a channel that overlap become one: classes that agree in a channel have equal boxes there."""
    lo, hi = box.lo.copy(), box.hi.copy()
    for channel in range(lo.shape[1]):
        order = np.argsort(lo[:, channel], kind="stable")
        reach = np.maximum.accumulate(hi[order, channel])
        fresh = np.concatenate([[0], (lo[order, channel][1:] > reach[:-1]).astype(np.int64)]).cumsum()
        joint = hull(Real(lo[order, channel], hi[order, channel]), fresh)
        lo[order, channel], hi[order, channel] = joint.lo[fresh], joint.hi[fresh]
    return Real(lo, hi)


def _compare(
    setting: Setting, automaton: Automaton, windows: Windows, states: Integers, letters: list[Map]
) -> None:
    """Breadth-first over pairs (composition, state), with and without padding in front."""
    number = {held: n for n, held in enumerate(windows.maps)}
    start = tuple(range(len(windows.padding)))
    frontier = [(windows.padding, automaton.start), (start, automaton.start)]
    seen = set(frontier)
    while frontier:
        held, state = frontier.pop()
        setting.budget.spend(len(letters) * len(start), "maps")
        for letter, act in enumerate(letters):
            pair = (then(held, act), int(automaton.table[state, letter]))
            if pair[0] in number:
                wanted = "a composition of letters decodes to another state than the automaton is in"
                require(states[number[pair[0]]] == pair[1], wanted)
            if pair not in seen:
                seen.add(pair)
                frontier.append(pair)
