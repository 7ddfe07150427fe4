"""The end of a proof: every class decodes to one state; with these the machine is the automaton."""

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import Arithmetic, linear
from krohn.certify.findings import Check, Record, Refuted
from krohn.certify.machine import Integers, Machine
from krohn.certify.stream import Stream
from krohn.network.transformer import Transformer


def decode(stream: Stream, network: Transformer, arith: Arithmetic, record: Record) -> tuple[Integers, float]:
    """The state of every class and the least logit margin after all errors."""
    if stream.carries_code(network.readout):
        raise record.refuse("decode", "the read-out reads a position code")
    logits, rounding = linear(arith, stream.nominal, stream.radius, network.readout, network.readout_bias)
    states = logits.argmax(axis=1)
    if logits.shape[1] == 1:
        return states, float("inf")
    # Errors of one channel move all logits together: only differences of read-out columns count.
    gaps = np.take_along_axis(logits, states[:, None], axis=1) - logits
    tilt = np.abs(network.readout[:, states].T[:, None, :] - network.readout.T[None, :, :])
    error = tilt @ stream.radius + rounding + np.take_along_axis(rounding, states[:, None], axis=1)
    rest = gaps - error
    share = np.where(gaps > 0, error / np.where(gaps > 0, gaps, 1.0), np.inf)
    for table, filler in ((rest, np.inf), (share, 0.0)):
        np.put_along_axis(table, states[:, None], filler, axis=1)
    record.require("decode", float(share.max()), 1.0, f"{len(states)} classes decode by the largest logit")
    return states, float(rest.min())


def check_simulation(
    machine: Machine, states: Integers, automaton: Semiautomaton, length: int, record: Record
) -> None:
    """Breadth-first over pairs (machine state, automaton state), up to words of the given length."""
    size = automaton.num_states
    table = automaton.table.astype(np.int64)
    seen = np.zeros(machine.num_states * size, dtype=bool)
    frontier = np.array([automaton.start], dtype=np.int64)
    seen[frontier] = True
    trail: list[tuple[Integers, Integers]] = []  # per level: parent's place in the level before, letter
    for _ in range(length):
        state, right = np.divmod(frontier, size)
        wanted, shown = table[right], states[machine.shown[state]]
        wrong = np.argwhere(wanted != shown)
        if len(wrong):
            place, letter = (int(number) for number in wrong[0])
            word = (*_spelled(trail, place), letter)
            pair = f"{shown[place, letter]}, not {wanted[place, letter]}"
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
