"""The end of a proof: every class decodes to one state; with these the machine is the automaton."""

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import Arithmetic, Array, linear
from krohn.certify.findings import Check, Record, Refuted
from krohn.certify.machine import Integers, Machine, minimise, used_classes
from krohn.certify.stream import Stream
from krohn.network.transformer import Transformer

LOGITS_AT_ONCE = 1 << 22
MANY_PAIRS = 1 << 24
"""With more pairs of machine and automaton states the machine is minimised before they are compared."""


def decode(stream: Stream, network: Transformer, arith: Arithmetic, record: Record) -> tuple[Integers, float]:
    """The state of every class and the least logit margin after all errors."""
    if stream.carries_code(network.readout):
        raise record.refuse("decode", "the read-out reads a position code")
    few = max(1, LOGITS_AT_ONCE // network.readout.shape[1])
    parts = [
        _decoded(stream.nominal[first : first + few], stream.radius, network, arith)
        for first in range(0, len(stream.nominal), few)
    ]
    states = np.concatenate([part[0] for part in parts])
    if network.readout.shape[1] > 1:
        # A share that is not a number must not be lost in a maximum.
        worst = float(np.max([part[1] for part in parts]))
        if not worst < 1.0:
            reason = f"outputs are not told apart: logits may err by {worst:.3g} times their distance"
            raise record.refuse("decode", f"{reason}; use float64, a shorter length or --variant mod")
        record.note("decode", f"{len(states)} classes decode by the largest logit", worst)
    return states, float(np.min([part[2] for part in parts]))


def _decoded(
    vectors: Array, radius: Array, network: Transformer, arith: Arithmetic
) -> tuple[Integers, float, float]:
    """States, the largest share of a gap that errors take, and the least that they leave of one."""
    logits, rounding = linear(arith, vectors, radius, network.readout, network.readout_bias)
    states = logits.argmax(axis=1)
    if logits.shape[1] == 1:
        return states, 0.0, float("inf")
    # Errors of one channel move all logits together: only differences of read-out columns count.
    gaps = np.take_along_axis(logits, states[:, None], axis=1) - logits
    error = rounding + np.take_along_axis(rounding, states[:, None], axis=1)
    for channel in np.flatnonzero(radius):
        row = network.readout[channel]
        error = error + np.abs(row[states][:, None] - row) * radius[channel]
    rest = gaps - error
    share = np.where(gaps > 0, error / np.where(gaps > 0, gaps, 1.0), np.inf)
    for table, filler in ((rest, np.inf), (share, 0.0)):
        np.put_along_axis(table, states[:, None], filler, axis=1)
    return states, float(share.max()), float(rest.min())


def check_simulation(
    machine: Machine, states: Integers, automaton: Semiautomaton, length: int, record: Record
) -> None:
    """Breadth-first over pairs (machine state, automaton state), up to words of the given length."""
    size = automaton.num_states
    if machine.num_states * size > MANY_PAIRS:
        machine, states = minimise(used_classes(machine, states)), np.arange(int(states.max()) + 1)
    table = automaton.table.astype(np.int64).repeat(machine.choices, axis=1)
    outputs = np.array(automaton.outputs)
    seen = np.zeros(machine.num_states * size, dtype=bool)
    frontier = np.array([automaton.start], dtype=np.int64)
    seen[frontier] = True
    trail: list[tuple[Integers, Integers]] = []  # per level: parent's place in the level before, letter
    for _ in range(length):
        state, right = np.divmod(frontier, size)
        wanted, shown = table[right], states[machine.shown[state]]
        wrong = np.argwhere(outputs[wanted] != shown)
        if len(wrong):
            place, letter = (int(number) for number in wrong[0])
            word = tuple(drawn // machine.choices for drawn in (*_spelled(trail, place), letter))
            pair = f"{shown[place, letter]}, not {outputs[wanted[place, letter]]}"
            reason = f"after {len(word)} letters the network is in {pair}"
            record.checks.append(Check("simulation", record.layer, 1.0, 0.0, False, reason))
            raise Refuted("simulation", record.layer, reason, word)
        pairs, first = np.unique((machine.follow[state] * size + wanted).reshape(-1), return_index=True)
        fresh = ~seen[pairs]
        trail.append((first[fresh] // table.shape[1], first[fresh] % table.shape[1]))
        frontier = pairs[fresh]
        seen[frontier] = True
        if not len(frontier):
            break
    record.note(
        "simulation", f"all {int(seen.sum()):,} reachable pairs of machine and automaton states agree"
    )


def _spelled(trail: list[tuple[Integers, Integers]], place: int) -> tuple[int, ...]:
    """The word that leads to a place of the last level."""
    letters = []
    for parents, chosen in reversed(trail):
        letters.append(int(chosen[place]))
        place = int(parents[place])
    return tuple(reversed(letters))
