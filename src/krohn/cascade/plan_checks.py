"""The exact checks of the plan nodes: what is wrong, in words, or nothing.

Each check quantifies over all states and letters, so by induction along a word the node computes the
states of its automaton for words of every length. None of them trusts the pass that made the node.
"""

from collections.abc import Sequence

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.covering import check_covering
from krohn.cascade.holonomy import Cascade, Schedule


def holonomy_fault(automaton: Semiautomaton, cascade: Cascade, schedule: Schedule | None = None) -> str:
    """The cascade must be one of this automaton's table, and its covering must hold under the schedule."""
    if not np.array_equal(automaton.table, cascade.automaton.table):
        return "the cascade is of another automaton"
    if automaton.start != cascade.automaton.start:
        return f"the cascade starts at {cascade.automaton.start}, the automaton at {automaton.start}"
    if schedule is None or schedule.layers == schedule.layers_in_step:
        return cascade.covering.witness
    start, finish = schedule.of_sets(cascade.skeleton)
    return check_covering(cascade, start=start, finish=finish).witness


def reachable_fault(automaton: Semiautomaton, states: Sequence[int], inner: Semiautomaton) -> str:
    """The inner automaton must be the restriction to ``states``, which must hold the start."""
    if len(states) != inner.num_states or len(set(states)) != len(states):
        return "the states of the part must be distinct, one per inner state"
    if automaton.start not in states:
        return f"the start state {automaton.start} is not in the part"
    for place, state in enumerate(states):
        for letter in range(automaton.num_letters):
            if states[inner.step(place, letter)] != automaton.step(state, letter):
                return f"state {state}, letter {letter}: the part goes elsewhere"
    return ""


def homomorphism_fault(automaton: Semiautomaton, labels: Sequence[int], image: Semiautomaton) -> str:
    """``labels`` must carry every transition of the automaton to one of ``image``."""
    if len(labels) != automaton.num_states or image.num_letters != automaton.num_letters:
        return "a map must give every state a class, over the same letters"
    for state in range(automaton.num_states):
        for letter in range(automaton.num_letters):
            if labels[automaton.step(state, letter)] != image.step(labels[state], letter):
                return f"state {state}, letter {letter}: the class of the next state is not the next class"
    return ""


def parallel_fault(
    automaton: Semiautomaton, maps: Sequence[Sequence[int]], parts: Sequence[Semiautomaton]
) -> str:
    """Homomorphisms that together tell all states apart."""
    for labels, part in zip(maps, parts, strict=True):
        fault = homomorphism_fault(automaton, labels, part)
        if fault:
            return fault
    seen: dict[tuple[int, ...], int] = {}
    for state, classes in enumerate(zip(*maps, strict=True)):
        if seen.setdefault(classes, state) != state:
            return f"states {seen[classes]} and {state} lie in the same class of every part"
    return ""


def serial_fault(
    automaton: Semiautomaton,
    blocks: Sequence[int],
    labels: Sequence[int],
    drive: Sequence[Sequence[int]],
    quotient: Semiautomaton,
    fiber: Semiautomaton,
) -> str:
    """A homomorphism to the quotient, and a fibre that follows inside the blocks."""
    fault = homomorphism_fault(automaton, blocks, quotient)
    if fault:
        return fault
    if len(set(zip(blocks, labels, strict=True))) != automaton.num_states:
        return "two states of one block have the same place"
    for state in range(automaton.num_states):
        for letter in range(automaton.num_letters):
            place = fiber.step(labels[state], drive[blocks[state]][letter])
            if place != labels[automaton.step(state, letter)]:
                return f"state {state}, letter {letter}: the fibre goes to place {place}"
    return ""


def error_bit_fault(automaton: Semiautomaton, sink: int, states: Sequence[int], inner: Semiautomaton) -> str:
    """The sink stays, and away from it the inner automaton is right wherever no letter leads to the sink."""
    if any(automaton.step(sink, letter) != sink for letter in range(automaton.num_letters)):
        return f"state {sink} is not fixed by every letter"
    if sorted([*states, sink]) != list(range(automaton.num_states)) or len(states) != inner.num_states:
        return "the inner states must be all states but the sink"
    for place, state in enumerate(states):
        for letter in range(automaton.num_letters):
            after = automaton.step(state, letter)
            if after != sink and states[inner.step(place, letter)] != after:
                return f"state {state}, letter {letter}: the inner automaton goes elsewhere"
    return ""


def clamped_fault(automaton: Semiautomaton, line: Sequence[int], steps: Sequence[int]) -> str:
    """Every letter must be a step along the line, stopped at both ends."""
    last = automaton.num_states - 1
    if sorted(line) != list(range(last + 1)) or len(steps) != automaton.num_letters:
        return "the line must place every state once, and every letter needs a step"
    for state in range(automaton.num_states):
        for letter in range(automaton.num_letters):
            if line[automaton.step(state, letter)] != min(max(line[state] + steps[letter], 0), last):
                return f"state {state}, letter {letter}: not the clamped step {steps[letter]}"
    return ""
