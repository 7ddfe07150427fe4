"""The end of the proof: every class decodes to one state, and the machine runs in step with the automaton."""

import numpy as np

from krohn.check.format import whole
from krohn.check.machine import Claim, Machine, Setting
from krohn.check.reader import Automaton, Network
from krohn.check.real import Integers
from krohn.check.verdict import Refused, require


def decode(setting: Setting, claim: Claim, network: Network) -> tuple[Integers, float]:
    """The state of each class, and the least distance of its logit to the others."""
    rows = claim.over_counters(claim.box, claim.wide) + claim.codes
    logits = setting.fmt.linear(whole(rows), network.readout, network.readout_bias).part
    states = logits.lo.argmax(axis=1)
    number = np.arange(len(states))
    others = logits.hi.copy()
    others[number, states] = -np.inf
    margins = logits.lo[number, states] - others.max(axis=1)
    margin = float(margins.min())
    require(
        margins > 0,
        f"{int((~(margins > 0)).sum())} of {len(states)} classes do not have one largest logit"
        f" whatever rounding does (the closest two are {margin:.3g} apart)",
        "use a wider dtype or a shorter length",
    )
    return states, margin


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
