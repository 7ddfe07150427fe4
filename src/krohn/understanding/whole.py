"""Swaps of whole positions: the effect of a position, here and at later positions."""

import numpy as np
import torch

from krohn.understanding.findings import Share
from krohn.understanding.readings import Numbers, Pairs, Readings, draw_pairs
from krohn.understanding.swaps import Bench
from krohn.understanding.variables import letter_variable, state_variable

BRINGS = {"state": (state_variable(), "moved"), "letter": (letter_variable(), "replaced")}
NEXT, LATER_PAIRS = 8, 64
"""How far behind a swap later answers are looked at, and for how many swaps."""


def whole_positions(bench: Bench, readings: Readings, seed: int, count: int) -> list[dict[str, Share]]:
    """By layer, what a swap of the whole position gives: the source's state, or that after its letter.

    Only where the two differ. Where the letter decides, all else still comes from earlier positions.
    """
    drawn = draw_pairs(readings, np.random.default_rng([seed, 2]), 8 * count)
    brought = _brought(readings, drawn)
    reached = np.isin(brought["letter"], np.unique(readings.states))
    chosen = np.flatnonzero(reached & (brought["state"] != brought["letter"]))[:count]
    everything = torch.eye(bench.stages.dim, dtype=torch.float64)
    swaps = bench.swapping(drawn.where(chosen))
    out = []
    for layer, later in enumerate(_later(bench, readings, seed)):
        said = swaps.said(layer, [everything])[:, 0]
        hits = {name: int((said == states[chosen]).sum()) for name, states in brought.items()}
        out.append({**{name: Share.of(hit, max(len(chosen), 1)) for name, hit in hits.items()}, **later})
    return out


def _brought(readings: Readings, pairs: Pairs) -> dict[str, Numbers]:
    return {name: one.roles[role](readings, pairs) for name, (one, role) in BRINGS.items()}


def _later(bench: Bench, readings: Readings, seed: int) -> list[dict[str, Share]]:
    """By layer, the effect of swapping a whole position on one of the next positions.

    It follows the letter if the answer there is that of the base's word with that letter changed, the state
    if it is where the base's letters since then lead from the source's state; only where both differ from the
    answer without a swap, so never with two states. Where neither holds, nothing later reads this position.
    """
    rng = np.random.default_rng([seed, 3])
    drawn = draw_pairs(readings, rng, 8 * LATER_PAIRS)
    place = drawn.at + rng.integers(1, NEXT + 1, size=len(drawn))
    fits = place < readings.length
    pairs, place = drawn.where(fits), place[fits]
    wanted = {
        f"later_{name}": moved_in(readings, pairs, place, states)
        for name, states in _brought(readings, pairs).items()
    }
    one, other = wanted.values()
    plain = readings.states[pairs.base, place]
    chosen = np.flatnonzero((one != other) & (one != plain) & (other != plain))[:LATER_PAIRS]
    pairs, place, count = pairs.where(chosen), place[chosen], np.arange(len(chosen))
    at, out = torch.from_numpy(pairs.at) + len(bench.stages.prompt), []
    for layer, stream in enumerate(bench.passed.streams):
        swapped = stream[torch.from_numpy(pairs.base)]
        swapped[torch.from_numpy(count), at] = stream[torch.from_numpy(pairs.source), at]
        said = bench.stages.finish(layer, swapped).numpy()[count, place]
        hits = {name: int((said == states[chosen]).sum()) for name, states in wanted.items()}
        out.append({name: Share.of(hit, len(chosen)) for name, hit in hits.items() if len(chosen)})
    return out


def moved_in(readings: Readings, pairs: Pairs, place: Numbers, state: Numbers) -> Numbers:
    """The state at a later position if the base's letters continue from this one."""
    for step in range(1, NEXT + 1):
        letter = readings.letters[pairs.base, np.minimum(pairs.at + step, place)]
        moves = (pairs.at + step <= place) & (state >= 0)
        state = np.where(moves, readings.table[state, letter], state)
    return state
