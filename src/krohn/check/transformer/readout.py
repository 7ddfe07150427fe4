"""The end of the proof: every class decodes to one state, and the machine runs in step with the automaton."""

import numpy as np

from krohn.check.arithmetic.affine import entering
from krohn.check.arithmetic.real import Array, Integers, Real
from krohn.check.files.reader import Automaton, Network
from krohn.check.transformer.enclosures import Anywhere
from krohn.check.transformer.forward import logits
from krohn.check.transformer.layer_norm import Norm, normalise
from krohn.check.transformer.machine import Machine, Moment, Setting
from krohn.check.transformer.mlp import Forms, Units
from krohn.check.verdict import Refused

BLOCK = 1 << 22
TINY = 1 / 1024
"""If errors are below this share of the largest logit, the weights are at fault, not rounding."""


# Rule: the read-out.
# Hypotheses: in each class one logit is above all others for every number of its box, LayerNorm included.
# Conclusion: whatever word shows this class, the output is that one; the margin is the least lead.
# Why: logits are run as affine forms of the box: what two of them share cancels in their difference.
def decode(setting: Setting, moment: Moment, network: Network) -> tuple[Integers, float]:
    """The output of each class, and the least lead of its logit over the others."""
    rows = moment.over_counters(moment.box, moment.wide) + moment.codes
    norm = normalise(setting.fmt, moment.anywhere, network.gain, setting.epsilon)
    everything = Anywhere(setting, moment.anywhere, moment.positions)
    logits(everything, network, everything.row)  # nothing overflows
    held = max(network.readout.size, 1)
    setting.budget.spend(float(len(rows)) * held, "logits")
    parts = [
        _leads(setting, network, rows[first : first + max(1, BLOCK // held)], norm)
        for first in range(0, len(rows), max(1, BLOCK // held))
    ]
    states, others, margins, ideal, sizes = (np.concatenate(found) for found in zip(*parts, strict=True))
    worst, bad = int(margins.argmin()), ~(margins > 0)
    if bad.any():
        raise Refused(
            f"outputs {states[worst]} and {others[worst]} are not told apart: their logits are "
            f"{ideal[worst]:.3g} apart and may err by {ideal[worst] - margins[worst]:.3g} "
            f"({int(bad.sum())} of {len(states)} classes)",
            "the errors are too large: use a wider dtype or a shorter length"
            if ((ideal - margins)[bad] > TINY * sizes.max()).any()
            else "the weights are at fault, no rounding: look at the layer that should tell them apart",
        )
    return states, float(margins[worst])


def _leads(
    setting: Setting, network: Network, rows: Real, norm: Norm
) -> tuple[Integers, Integers, Array, Array, Array]:
    """For each row the likely output, its nearest rival, the lead of its logit, the lead without errors, and
    the size of logits.

    Errors that logits share cancel.
    """
    form = logits(Forms(setting, norm), network, Units(entering(rows))).form
    states, every = form.box.lo.argmax(axis=1), np.arange(len(rows))
    leads = form.leads(every, states)
    leads[every, states] = np.inf
    others = leads.argmin(axis=1)
    ideal = form.centre[every, states] - form.centre[every, others]
    return states, others, leads.min(axis=1), ideal, form.box.size.max(axis=1)


# Rule: simulation.
# Hypotheses: on all pairs of states that words of at most ``length`` letters reach together, the class shown
# decodes to what the automaton shows. Conclusion: the network is right on these words.
# Why: for each word some run of the machine has the stream in its boxes, and all runs are followed here.
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
            raise Refused(f"after {read + 1} letters the network may disagree with the automaton")
        frontier = np.unique(machine.follow[own] * size + wanted)
        frontier = frontier[~seen[frontier]]
        if not len(frontier):
            break
    return int(seen.sum())
