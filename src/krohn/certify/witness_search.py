"""The search for a witness: it may be as clever as it likes, since the checker believes none of it."""

from collections.abc import Iterator

import numpy as np

from krohn.certify.witness_folds import resolve_step, tabulate_step
from krohn.certify.witness_heads import attention_step
from krohn.certify.witness_machines import merged
from krohn.check.checker import WORK, embed, follow_step
from krohn.check.format import FORMATS
from krohn.check.machine import Claim, Setting
from krohn.check.reader import Automaton, Layer, Network, stored
from krohn.check.real import Flags
from krohn.check.verdict import Budget
from krohn.check.witness import Layered, Scan, Step


def search_layers(
    network: Network, dtype: str, length: int, *, choices: bool = True, work: float = WORK
) -> Layered:
    """A witness for the proof layer by layer; raises ``Refused`` where the checker stops on the way."""
    fmt = FORMATS[dtype]
    with np.errstate(all="ignore"):
        held = stored(network, fmt)
        walk = Walk(Setting(fmt, network.strict, Budget(work)), held, embed(held, length, fmt))
        live = live_channels(held)
        walk.take(merged(walk.claim, live[0]))
        for number, layer in enumerate(held.layers):
            counters = _looked_at(walk.claim, layer)
            if counters:
                walk.take(resolve_step(walk.claim, counters))
                walk.take(merged(walk.claim, live[2 * number]))
            walk.take(attention_step(walk.claim, layer, strict=network.strict))
            walk.take(merged(walk.claim, live[2 * number + 1]))
            walk.take(tabulate_step(walk.claim, layer, choices=choices))
            walk.take(merged(walk.claim, live[2 * number + 2]))
    return tuple(walk.steps)


class Walk:
    """The claim so far, and the steps that led to it."""

    def __init__(self, setting: Setting, network: Network, claim: Claim) -> None:
        self.setting, self.network, self.claim = setting, network, claim
        self.steps: list[Step] = []
        self.done = 0

    def take(self, step: Step) -> None:
        """The checker's own step: its boxes tell the search where it stands."""
        self.claim, self.done = follow_step(self.setting, self.network, self.claim, step, self.done)
        self.steps.append(step)


def _looked_at(claim: Claim, layer: Layer) -> list[int]:
    """Counters that queries or keys read."""
    read = np.zeros(len(claim.wide), dtype=bool)
    for head in layer.heads:
        read |= (head.query != 0).any(axis=1) | (head.key != 0).any(axis=1)
    return [k for k in range(len(claim.low)) if (claim.wide[read, k] != 0).any()]


def scans(network: Network, automaton: Automaton) -> Iterator[Scan]:
    """What letters and padding may stand for: maps of states, or the maps that the embedding holds."""
    heads = [head for layer in network.layers for head in layer.heads]
    codes = (network.positions != 0).any(axis=0)
    if not heads or any(head.query[~codes].any() or head.key[~codes].any() for head in heads):
        return
    used = np.any([(head.value @ head.output).any(axis=1) for head in network.layers[0].heads], axis=0)
    channels = np.flatnonzero(used & ~codes)
    maps, pads = network.embedding[:, channels], network.padding[:1, channels]
    both = np.concatenate([maps, pads])
    if both.size and (both == np.rint(both)).all() and both.min() >= 0 and both.max() < len(channels):
        yield Scan(maps.astype(np.int64), pads[0].astype(np.int64))
    size = len(automaton.table)
    yield Scan(automaton.table.T.copy(), np.full(size, automaton.start, dtype=np.int64))


def live_channels(network: Network) -> list[Flags]:
    """Which channels something later reads: after the embedding, after each attention, after each MLP."""
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
