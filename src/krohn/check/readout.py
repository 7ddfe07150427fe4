"""The end of the proof: every class decodes to one state, and the machine runs in step with the automaton."""

import numpy as np

from krohn.check.affine import entering
from krohn.check.machine import Claim, Machine, Setting
from krohn.check.norm import Norm, normed
from krohn.check.reader import Automaton, Network
from krohn.check.real import Array, Integers, Real
from krohn.check.verdict import Refused, require

BLOCK = 1 << 22


def decode(setting: Setting, claim: Claim, network: Network) -> tuple[Integers, float]:
    """The state of each class, and the least distance of its logit to the others."""
    rows = claim.over_counters(claim.box, claim.wide) + claim.codes
    norm = normed(setting.fmt, claim.anywhere, network.gain, setting.epsilon)
    held = max(network.readout.size, 1)
    setting.budget.spend(float(len(rows)) * held, "logits")
    parts = [
        _leads(setting, network, rows[first : first + max(1, BLOCK // held)], norm)
        for first in range(0, len(rows), max(1, BLOCK // held))
    ]
    states, margins = (np.concatenate(found) for found in zip(*parts, strict=True))
    margin = float(margins.min())
    require(
        margins > 0,
        f"{int((~(margins > 0)).sum())} of {len(states)} classes do not have one largest logit"
        f" whatever rounding does (the closest two are {margin:.3g} apart)",
        "use a wider dtype or a shorter length",
    )
    return states, margin


def _leads(setting: Setting, network: Network, rows: Real, norm: Norm) -> tuple[Integers, Array]:
    """The likely state of each row, and how far its logit leads: what logits share of an error cancels."""
    form = entering(rows).normed(norm).linear(setting.fmt, network.readout, network.readout_bias, norm)
    states, every = form.box.lo.argmax(axis=1), np.arange(len(rows))
    leads = form.leads(every, states)
    leads[every, states] = np.inf
    return states, leads.min(axis=1)


def simulate(setting: Setting, machine: Machine, states: Integers, automaton: Automaton, length: int) -> int:
    """Breadth-first over pairs of machine and automaton states, up to ``length`` letters."""
    size = len(automaton.table)
    setting.budget.spend(float(machine.follow.size) * size, "pairs of states")
    seen = np.zeros(len(machine.follow) * size, dtype=bool)
    frontier = np.array([automaton.start])
    for read in range(length):
        seen[frontier] = True
        own, right = np.divmod(frontier, size)
        wanted = automaton.table[right][:, machine.letter]
        if (automaton.shows[wanted] != states[machine.shown[own]]).any():
            raise Refused(f"after {read + 1} letters the network can show something else than the automaton")
        frontier = np.unique(machine.follow[own] * size + wanted)
        frontier = frontier[~seen[frontier]]
        if not len(frontier):
            break
    return int(seen.sum())
