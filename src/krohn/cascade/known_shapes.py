"""Known shapes: the plan that is made of one checks that the automaton has it."""

from collections.abc import Sequence

import numpy as np

from krohn.automata.graph import sink_states
from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.cascade.stack import POP, PUSH, REST, BracketStack, Numbers, stack_fault


def clamped_line(automaton: Semiautomaton) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Places on a line along which every letter is a clamped step, and the steps; None if there are none.

    Some letter must step by one: its moves order the states.
    """
    size = automaton.num_states
    for letter in automaton.letters:
        fixed = [state for state in range(size) if letter[state] == state]
        if len(fixed) != 1 or len(set(letter)) != size - 1:
            continue
        line = _path_to(fixed[0], letter)
        if line is None:
            continue
        steps = [_clamped_step(other, line) for other in automaton.letters]
        if all(step is not None for step in steps):
            return line, tuple(step for step in steps if step is not None)
    return None


def _path_to(end: int, letter: Transformation) -> tuple[int, ...] | None:
    """The distance of every state from the fixed state, if the letter walks a single path to it."""
    before = {target: state for state, target in enumerate(letter) if state != target}
    path = [end]
    while path[-1] in before:
        path.append(before[path[-1]])
    return tuple(np.argsort(path).tolist()) if len(path) == len(letter) else None


def _clamped_step(letter: Transformation, line: Sequence[int]) -> int | None:
    """The step c with letter = clamp(x + c), if there is one."""
    last = len(line) - 1
    moves = {line[state]: line[target] for state, target in enumerate(letter)}
    for step in (moves[0], moves[last] - last):
        if all(moves[place] == min(max(place + step, 0), last) for place in moves):
            return step
    return None


def recognise_stack(automaton: Semiautomaton) -> BracketStack | None:
    """Recognises a stack that starts empty, under any names; ``None`` if the automaton is not one.

    Several letters may push or pop the same symbol, and letters that change nothing are allowed.
    """
    table, start = automaton.table, automaton.start
    sinks = sink_states(automaton.table)
    if len(sinks) != 1 or sinks[0] == start:
        return None
    first = table[start].tolist()
    symbols = list(dict.fromkeys(q for q in first if q not in (sinks[0], start)))
    acts = []
    for letter, target in enumerate(first):
        taken = [symbol for symbol, held in enumerate(symbols) if table[held, letter] == start]
        if target in symbols:
            acts.append((PUSH, symbols.index(target)))
        else:
            acts.append((POP, taken[0]) if taken else (REST, 0))
    if not symbols:
        return None
    height, number = _number_contents(automaton, acts, len(symbols), sinks[0])
    stack = BracketStack(height, len(symbols), tuple(acts), sinks[0], number)
    return stack if not stack_fault(automaton, stack) else None


def _number_contents(
    automaton: Semiautomaton, acts: list[tuple[int, int]], symbols: int, sink: int
) -> tuple[int, Numbers]:
    """The greatest height, and the content number of every state that pushes alone reach; −1 for others."""
    number = np.full(automaton.num_states, -1, dtype=np.int64)
    number[automaton.start] = 0
    pushes = [acts.index((PUSH, symbol)) for symbol in range(symbols)]
    height, level = 0, np.array([automaton.start])
    while True:
        reached = automaton.table[level][:, pushes]
        numbers = number[level][:, None] * symbols + np.arange(1, symbols + 1)
        fresh = (reached != sink) & (number[reached] < 0)
        if not fresh.any():
            return height, number
        number[reached[fresh]] = numbers[fresh]
        height, level = height + 1, np.unique(reached[fresh])
