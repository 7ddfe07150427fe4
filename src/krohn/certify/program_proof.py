"""The program that krohn.json describes, proved to be the automaton: operation by operation, a machine.

Registers are integers here, exactly. A prefix sum becomes a counter Z, a memory or a look-back cells of the
machine, a residue a counter modulo n; a register that carries prefix sums is an integer plus a combination
of counters. After every layer the machine is minimised with respect to the registers still read. Where only
residues of prefix sums are read, or clamped sums, the proof holds for words of every length; a sum that is
read as it is bounds it, and so does a clamped one where the proof needs to know how far beyond an end it is.
"""

from dataclasses import replace
from math import lcm

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Record, Refuted
from krohn.certify.program_maps import (
    MAX_CHOICES,
    UNBOUNDED,
    Advance,
    Registers,
    forget,
    map_registers,
    remembering,
    resolved,
)
from krohn.certify.stream import (
    Integers,
    Rhythm,
    check_simulation,
)
from krohn.errors import InvalidInput
from krohn.network.attention_operations import (
    AttentionOperation,
    EndWrite,
    LatestMatch,
    LatestWrite,
    LookBack,
    PlaceSum,
    PrefixSum,
)
from krohn.network.program import Program, interpret_registers

FARTHEST = 4
"""Look-backs beyond this belong to Theorem 1, which is proved from the weights by induction instead."""

Memory = LatestWrite | EndWrite | LatestMatch


def prove_program(program: Program, automaton: Semiautomaton, length: int, record: Record) -> list[Registers]:
    """Raises ``Refuted`` unless the program computes the automaton's states; notes for which lengths.

    Returns the registers at every moment of a layout: at first, and after attention and maps of each layer.
    """
    known = len(record.checks)
    try:
        return _prove(program, automaton, length, record, MAX_CHOICES)
    except Refuted:
        # What a clamped sum may do at an end is more than what it does: follow it exactly.
        del record.checks[known:]
        return _prove(program, automaton, length, record, 1)


def _prove(
    program: Program, automaton: Semiautomaton, length: int, record: Record, choices: int
) -> list[Registers]:
    state = _start(program, choices)
    needed, moments = _needed(program), [state]
    try:
        for index, layer in enumerate(program.layers):
            for operation in layer.attention:
                state = _attend(state, operation, program.mask, length)
            moments.append(state)
            for change in layer.maps:
                state = map_registers(state, change, length)
            state = forget(state, needed[index])
            moments.append(state)
        read = list(program.readout.registers)
        state = resolved(state, read, length)
    except InvalidInput as error:
        raise record.refuse("program", f"the program has no meaning on some word: {error}") from error
    states = program.readout.decode(np.stack([state.value[name] for name in read], axis=-1))
    reach = _reach(state, states, automaton, length, record)
    words = "every length" if reach == UNBOUNDED else f"length ≤ {reach}"
    record.note("program", f"the program computes the automaton's states on words of {words}")
    return moments


def _reach(state: Registers, states: Integers, automaton: Semiautomaton, length: int, record: Record) -> int:
    """Up to which length the states are right: any, or that of the network where longer words are not."""
    reach, known = min(state.limit, UNBOUNDED), len(record.checks)
    try:
        check_simulation(state.machine, states, automaton, reach, record)
    except Refuted as refusal:
        if refusal.word is None or len(refusal.word) <= length:
            raise
        del record.checks[known:]  # a scan is built for its length
        check_simulation(state.machine, states, automaton, length, record)
        return length
    return reach


def has_finite_memory(program: Program) -> bool:
    """Whether its look-backs are short enough for a machine to remember, and no position is copied."""
    heads = [operation for layer in program.layers for operation in layer.attention]
    if any(program.register[place.register].kind == "wide" for place in program.places):
        return False
    return all(not isinstance(head, LookBack) or head.distance <= FARTHEST for head in heads)


def _start(program: Program, choices: int) -> Registers:
    letters = program.num_letters
    pads = interpret_registers(program, np.zeros((1, 0), dtype=np.int64))
    # A clock says where in the rhythm of its places a position stands; class = reading · letters + letter.
    first = program.num_padding
    early = max((len(place.early) - first for place in program.places), default=0)
    rhythm = Rhythm(np.zeros(0, dtype=bool), max(0, early), lcm(1, *(len(p.cycle) for p in program.places)))
    machine = rhythm.clock(letters)
    value = {
        source.register: np.tile(np.array(source.letters, dtype=np.int64), rhythm.readings)
        for source in program.sources
    }
    for place in program.places:
        readings = [place.at(first + reading) for reading in range(rhythm.readings)]
        value[place.register] = np.repeat(np.array(readings, dtype=np.int64), letters)
    share = {name: np.zeros(0, dtype=np.int64) for name in value}
    known = {name: held[0] for name, held in pads.items()}
    return Registers(machine, value, share, known, UNBOUNDED, choices)


def _needed(program: Program) -> list[set[str]]:
    """Per layer the registers that something after it reads."""
    later = set(program.readout.registers)
    found = []
    for layer in reversed(program.layers):
        found.append(set(later))
        later |= {name for operation in layer.operations for name in operation.reads}
    return found[::-1]


def _attend(state: Registers, operation: AttentionOperation, mask: str, length: int) -> Registers:
    if isinstance(operation, (PrefixSum, PlaceSum)):
        return _summed(state, operation, mask)
    sources = list(operation.sources)
    shares = np.stack([state.share[name] for name in sources])
    held = np.stack([state.value[name] for name in sources], axis=1)
    if isinstance(operation, LookBack):
        start, advance = _line(state, operation, held, shares)
    else:
        start, advance = _cells(state, operation, held, shares, mask)
    after, shown = remembering(state, start, advance)
    value, share = dict(after.value), dict(after.share)
    for number, (source, target) in enumerate(zip(sources, operation.targets, strict=True)):
        value[target], share[target] = shown[:, number], state.share[source]
    return replace(after, value=value, share=share)


def _summed(state: Registers, operation: PrefixSum | PlaceSum, mask: str) -> Registers:
    machine, value, share = state.machine, dict(state.value), dict(state.share)
    steps, count = [machine.steps], machine.steps.shape[2]
    for source, target in zip(operation.sources, operation.targets, strict=True):
        if not state.is_narrow(source):
            raise InvalidInput(f"{source} is summed though it is itself a sum")
        moved, begun = state.value[source], state.pads[source]
        if isinstance(operation, PlaceSum):
            moved = np.where(state.value[operation.flag] == 1, moved, 0)
            begun = np.where(state.pads[operation.flag] == 1, begun, 0)
        steps.append(moved[machine.shown][..., None])
        value[target] = np.full_like(moved, int(begun.sum()))
        if mask == "strict":
            value[target] = value[target] - moved
    total = count + len(operation.sources)
    share = {
        name: np.concatenate([held, np.zeros(total - count, dtype=np.int64)]) for name, held in share.items()
    }
    for number, target in enumerate(operation.targets):
        share[target] = np.eye(total, dtype=np.int64)[count + number]
    made = replace(machine, steps=np.concatenate(steps, axis=2))
    return replace(state, machine=made, value=value, share=share)


def _line(
    state: Registers, operation: LookBack, held: Integers, shares: Integers
) -> tuple[Integers, Advance]:
    distance, width = operation.distance, held.shape[1]
    tau = len(state.pads[operation.sources[0]])
    places = [max(tau - 1 - back, 0) for back in range(distance)]
    start = np.stack([state.pads[name][places] for name in operation.sources], axis=1)

    def advance(memory: Integers, shown: Integers, steps: Integers) -> tuple[Integers, Integers]:
        count, letters = shown.shape
        line = memory.reshape(count, 1, distance, width) - (steps @ shares.T)[:, :, None, :]
        whole = np.concatenate([held[shown][:, :, None, :], line], axis=2)
        return whole[:, :, :distance].reshape(count, letters, -1), whole[:, :, distance]

    return start.reshape(-1), advance


def _filing(state: Registers, operation: Memory) -> tuple[Integers, Integers, Integers]:
    """Cell that each class is filed under (−1: none), cell it reads, cell of each padding position."""
    if isinstance(operation, EndWrite):
        marked = np.all([state.value[name] == 1 for name in operation.flags], axis=0)
        padded = np.all([state.pads[name] == 1 for name in operation.flags], axis=0)
        return np.where(marked, 0, -1), np.zeros(len(marked), dtype=np.int64), np.where(padded, 0, -1)
    if isinstance(operation, LatestWrite):
        flags, pads = state.value[operation.flag], state.pads[operation.flag]
        return np.where(flags == 1, 0, -1), np.zeros_like(flags), np.where(pads == 1, 0, -1)
    if not all(state.is_narrow(name) for name in (operation.key, operation.query) if name):
        raise InvalidInput(f"{operation.key} is compared though it is a sum")
    keys, pads = state.value[operation.key], state.pads[operation.key]
    asked = state.value[operation.query] if operation.query else np.zeros_like(keys)
    wanted, reads = np.unique((asked + operation.shift) % operation.modulus, return_inverse=True)
    number = np.full(max(operation.modulus, int(keys.max()) + 1, int(pads.max()) + 1), -1, dtype=np.int64)
    number[wanted] = np.arange(len(wanted))
    return number[keys], reads.reshape(-1), number[pads]


def _cells(
    state: Registers,
    operation: Memory,
    held: Integers,
    shares: Integers,
    mask: str,
) -> tuple[Integers, Advance]:
    """One cell per key that is asked for and one for BOS, forgotten once no key is without a value."""
    filed, wanted, pad_filed = _filing(state, operation)
    keys, width = int(wanted.max()) + 1, held.shape[1]
    earliest = isinstance(operation, EndWrite) and operation.end == "earliest"
    start = np.zeros((keys + 1, 1 + width), dtype=np.int64)
    pads = np.stack([state.pads[name] for name in operation.sources], axis=1)
    start[keys] = [1, *pads[0]]
    for place in range(1, len(pads)):
        if pad_filed[place] >= 0 and not (earliest and start[pad_filed[place], 0]):
            start[pad_filed[place]] = [1, *pads[place]]

    def advance(memory: Integers, shown: Integers, steps: Integers) -> tuple[Integers, Integers]:
        count, letters = shown.shape
        cells = memory.reshape(count, 1, keys + 1, 1 + width).repeat(letters, axis=1)
        cells[..., 1:] -= (steps @ shares.T)[:, :, None, :] * cells[..., :1]
        after = cells.copy()
        for number in range(keys):
            hit = filed[shown] == number
            if earliest:
                hit = hit & (cells[..., number, 0] == 0)
            after[hit, number, 0], after[hit, number, 1:] = 1, held[shown][hit]
        read = after if mask == "causal" else cells
        chosen = np.take_along_axis(read, wanted[shown][:, :, None, None], axis=2)[:, :, 0]
        out = np.where(chosen[..., :1] > 0, chosen[..., 1:], read[:, :, keys, 1:])
        after = after.copy()
        after[(after[:, :, :keys, 0] > 0).all(axis=2), keys] = 0
        return after.reshape(count, letters, -1), out

    return start.reshape(-1), advance
