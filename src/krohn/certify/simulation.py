"""The end of a proof: every class decodes to one state, and the machine with these states is the automaton."""

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import Arithmetic, linear
from krohn.certify.findings import Record, Refuted
from krohn.certify.machine import Integers, Machine
from krohn.certify.stream import Stream
from krohn.network.transformer import Transformer


def decode(stream: Stream, network: Transformer, arith: Arithmetic, record: Record) -> tuple[Integers, float]:
    """The state of every class and the least logit margin after all errors."""
    tau = stream.num_padding
    if (stream.places[tau:] @ network.readout).any():
        raise record.refuse("decode", "the read-out reads a position code")
    if (stream.wide.T @ network.readout).any():
        raise record.refuse("decode", "the read-out reads an unbounded prefix sum")
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
    seen = {(0, automaton.start)}
    frontier: list[tuple[int, int, tuple[int, ...]]] = [(0, automaton.start, ())]
    shown = states[machine.shown].tolist()
    follow, table = machine.follow.tolist(), automaton.table.tolist()
    for _ in range(length):
        reached: list[tuple[int, int, tuple[int, ...]]] = []
        for state, right, word in frontier:
            for letter in range(automaton.num_letters):
                wanted = table[right][letter]
                if shown[state][letter] != wanted:
                    reason = f"after {len(word) + 1} letters the network is in {shown[state][letter]}, not {wanted}"
                    record.note("simulation", reason, 1.0, 0.0)
                    raise Refuted("simulation", record.layer, reason, (*word, letter))
                pair = (follow[state][letter], wanted)
                if pair not in seen:
                    seen.add(pair)
                    reached.append((*pair, (*word, letter)))
        frontier = reached
        if not frontier:
            break
    record.note("simulation", f"all {len(seen):,} reachable pairs of machine and automaton states agree")
