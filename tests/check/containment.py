"""The containment test: every box that a proof claims on its way, against numbers that the network computes.

A claim counts whatever becomes of the proof: a network that is refused in the end has claims before that.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from check.runs import WAYS, Logs, Way, runs
from krohn.check.arithmetic.format import FORMATS
from krohn.check.files.reader import stored
from krohn.check.files.witness import Scan, witness_from
from krohn.check.ground import Verdict
from krohn.check.transformer.checker import check
from krohn.check.transformer.scan import Holding, Reading
from krohn.check.transformer.stream import Moment

Words = npt.NDArray[np.int64]
Numbers = npt.NDArray[Any]
OWN = 2.0**-50
"""Room for this test's own rounding, where it subtracts a position code or what counters are worth."""
RUNS_FOLLOWED = 64


def outside(values: Numbers, lo: Numbers, hi: Numbers, slack: Numbers | float = 0.0) -> float:
    """How far numbers are outside their boxes; NaN is infinitely far."""
    far = np.maximum(lo - values, values - hi)
    return float(np.where(np.isnan(values), np.inf, np.where(far > slack, far, 0.0)).max(initial=0.0))


def truth(automaton: Any, words: Words) -> Words:
    """The automaton's state after each letter."""
    state, shown = np.full(len(words), automaton.start), []
    for column in words.T:
        state = automaton.table[state, column]
        shown.append(state)
    return np.stack(shown, axis=1)


class Maps:
    """What the positions of some words do to points, padding included."""

    def __init__(self, scan: Scan, words: Words, padding: int) -> None:
        pads = np.broadcast_to(scan.padding, (len(words), padding, len(scan.padding)))
        self.at, self.tau = np.concatenate([pads, scan.letters[words]], axis=1), padding

    def over(self, first: int, last: int) -> Numbers:
        """[word, point]: the composition from one position to another, both included."""
        value = np.broadcast_to(np.arange(self.at.shape[2]), self.at[:, 0].shape)
        for position in range(max(first, 0), last + 1):
            value = np.take_along_axis(self.at[:, position], value, axis=1)
        return value

    def held(self, claim: Holding, window: int) -> Numbers:
        """[word, letter, point]: where a window of a claim sends each point."""
        first, size = window << claim.rounds, claim.size
        last = min(first + (1 << claim.rounds), max(claim.windows, first + 1))
        found = []
        for end in range(self.tau, self.at.shape[1]):
            value = np.broadcast_to(np.arange(self.at.shape[2]), self.at[:, 0].shape)
            for back in range(last - 1, first - 1, -1):
                at = max(end - back * size, 0)
                value = np.take_along_axis(self.over(at - size + 1, at), value, axis=1)
            found.append(value)
        return np.stack(found, axis=1)


def holding_excess(claim: Holding, tensor: Numbers, maps: Maps) -> float:
    """Columns that hold a map are in the row of its value, others in every row."""
    letters, tau = tensor[:, maps.tau :], maps.tau
    codes = claim.places[: letters.shape[1]]
    index = np.zeros(letters.shape, dtype=np.int64)
    values = {window: maps.held(claim, window) for window in {window for window, _ in claim.held.values()}}
    for column, (window, point) in claim.held.items():
        index[:, :, column] = values[window][:, :, point]
    read = np.zeros(letters.shape[2], dtype=bool)
    read[list(claim.held)] = True
    chosen = np.ones_like(read) if claim.rounds == 0 else read  # between rounds nothing reads other units
    lo, hi = (
        np.take_along_axis(side, index.reshape(-1, index.shape[2]), axis=0).reshape(index.shape)
        for side in (claim.box.lo, claim.box.hi)
    )
    slack = OWN * (np.abs(letters) + np.abs(codes)) * (codes != 0)
    far = outside((letters - codes)[..., chosen], lo[..., chosen], hi[..., chosen], slack[..., chosen])
    return max(far, outside(tensor[:, :tau][..., chosen], claim.pads.lo[:, chosen], claim.pads.hi[:, chosen]))


def moment_excess(claim: Moment, tensor: Numbers, words: Words, tau: int) -> float:
    """Some run of the machine has the stream at every letter in the box of its class."""
    machine, far = claim.machine, outside(tensor[:, :tau], claim.pads.lo, claim.pads.hi)
    for word, rows in zip(words.tolist(), tensor[:, tau:], strict=True):
        followed = {(0, (0,) * len(claim.low)): 0.0}
        for t, letter in enumerate(word):
            after: dict[tuple[int, tuple[int, ...]], float] = {}
            for (state, counters), off in followed.items():
                for choice in np.flatnonzero(machine.letter == letter).tolist():
                    total = np.array(counters, dtype=np.int64) + machine.steps[state, choice]
                    base = claim.wide @ total.astype(float) + claim.places[t]
                    sizes = np.abs(claim.wide) @ np.abs(total).astype(float) + np.abs(claim.places[t])
                    row = int(machine.shown[state, choice])
                    slack = 8 * OWN * (np.abs(rows[t]) + sizes)
                    gone = outside(rows[t] - base, claim.box.lo[row], claim.box.hi[row], slack)
                    key = (int(machine.follow[state, choice]), tuple(total.tolist()))
                    after[key] = min(after.get(key, np.inf), max(off, gone))
            least = min(after.values())
            followed = {key: off for key, off in after.items() if off <= least}
            followed = dict(list(followed.items())[:RUNS_FOLLOWED])
        far = max(far, least)
    return far


def reading_excess(
    claim: Reading, tensor: Numbers, maps: Maps, states: Words, normed: bool, readout: Numbers
) -> float:
    """The stream at the end is in the row of its pair; without LayerNorm only what is read counts."""
    matters, far = readout.any(axis=1) | normed, 0.0
    for word in range(len(states)):
        for t in range(states.shape[1]):
            value = maps.over(0, maps.tau + t)[word, claim.read]
            row = claim.rows.get((tuple(value.tolist()), int(states[word, t])))
            if row is None:
                return np.inf
            code, held = claim.places[t][matters], tensor[word, maps.tau + t][matters]
            slack = OWN * (np.abs(held) + np.abs(code)) * (code != 0)
            far = max(
                far, outside(held - code, claim.box.lo[row, matters], claim.box.hi[row, matters], slack)
            )
    return far


def margin_excess(margin: float, logits: Numbers, right: Words) -> float:
    """The right logit leads by the margin."""
    own = np.take_along_axis(logits, right[..., None], axis=2)
    others = np.where(np.arange(logits.shape[2]) == right[..., None], -np.inf, logits)
    return outside(own - others.max(axis=2, keepdims=True), np.array(margin * (1 - 1e-9)), np.array(np.inf))


def violations(
    network: Any,
    automaton: Any,
    dtype: str,
    length: int,
    witness: Any,
    words: Words,
    ways: tuple[Way, ...] = WAYS,
) -> tuple[Verdict, int, list[tuple[str, str, float]]]:
    """The verdict, how many claims it made, and each tensor that leaves its box: in which way, how far."""
    claims: list[tuple[str, Any]] = []
    verdict = check(
        network, automaton, dtype, length, witness, note=lambda name, claim: claims.append((name, claim))
    )
    held, plan, tau = stored(network, FORMATS[dtype]), witness_from(witness), len(network.padding)
    maps = Maps(plan, words, tau) if isinstance(plan, Scan) else None
    states, found = truth(automaton, words), []

    def excess(name: str, claim: Any, logs: Logs) -> float:
        tensor = logs[name].astype(np.float64)
        if isinstance(claim, Moment):
            return moment_excess(claim, tensor, words, tau)
        assert maps is not None
        if isinstance(claim, Holding):
            return holding_excess(claim, tensor, maps)
        return reading_excess(claim, tensor, maps, states, network.gain is not None, network.readout)

    for way, logs in zip(ways, runs(held, words, dtype, ways), strict=True):
        for name, claim in claims:
            if (far := excess(name, claim, logs)) > 0:
                found.append((name, way.order, far))
        if verdict.certified:
            logits = logs["logits"][:, tau:].astype(np.float64)
            if (far := margin_excess(verdict.margin, logits, automaton.shows[states])) > 0:
                found.append(("margin", way.order, far))
    return verdict, len(claims), found
