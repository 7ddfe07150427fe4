"""Bounded stacks are recognised under any names, and nothing else is; their plan is the stack itself."""

from random import Random

import numpy as np
import pytest

from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.known_shapes import recognise_stack
from krohn.cascade.stack import StackPlan, stack_fault


def stack(symbols: int, height: int, idle: int = 0, doubled: int = 0) -> Semiautomaton:
    """Written down from contents: letters push each symbol, pop each symbol, do nothing, push 0 again."""
    contents: list[tuple[int, ...]] = [()]
    for content in contents:
        if len(content) < height:
            contents += [(*content, s) for s in range(symbols)]
    sink, number = len(contents), {content: q for q, content in enumerate(contents)}
    pushes = [*range(symbols), *[0] * doubled]
    letters = [[number.get((*c, s), sink) for c in contents] + [sink] for s in pushes]
    letters += [
        [number[c[:-1]] if c[-1:] == (s,) else sink for c in contents] + [sink] for s in range(symbols)
    ]
    letters += [list(range(sink + 1))] * idle
    return Semiautomaton.from_letters(letters)


def renamed(automaton: Semiautomaton, seed: int) -> Semiautomaton:
    """The same automaton with its states in another order and its letters shuffled."""
    random = Random(seed)
    order = random.sample(range(automaton.num_states), automaton.num_states)
    letters = []
    for letter in random.sample(list(automaton.letters), automaton.num_letters):
        moved = [0] * len(order)
        for q, target in enumerate(letter):
            moved[order[q]] = order[target]
        letters.append(moved)
    return Semiautomaton.from_letters(letters, start=order[automaton.start])


SHAPES = [(1, 1, 0, 0), (1, 3, 0, 0), (2, 2, 0, 0), (2, 3, 1, 0), (3, 2, 0, 1), (2, 1, 2, 2)]


@every("shape", SHAPES)
@every("seed", range(4))
def test_a_stack_is_found_under_any_names_and_its_plan_runs_it(
    shape: tuple[int, int, int, int], seed: int
) -> None:
    automaton = renamed(stack(*shape), seed)
    result = recognise_stack(automaton)
    assert result is not None
    assert (result.num_symbols, result.height) == shape[:2]
    plan = StackPlan(automaton, result)
    words = np.random.default_rng(seed).integers(0, automaton.num_letters, (30, 10))
    assert plan.simulate(words).tolist() == [automaton.run(word.tolist()) for word in words]
    for state in range(automaton.num_states):
        assert plan.state(plan.coordinates(state)) == state
        for letter in range(automaton.num_letters):
            after = plan.step(plan.coordinates(state), letter)
            assert plan.state(after) == automaton.step(state, letter)


@every("seed", range(30))
def test_a_stack_with_one_wrong_transition_is_not_recognised(seed: int) -> None:
    """Whatever is still called a stack must run as that stack in every state under every letter."""
    random = Random(seed)
    whole = stack(2, 2)
    table = whole.table.copy()
    state, letter = random.randrange(whole.num_states), random.randrange(whole.num_letters)
    others = [q for q in range(whole.num_states) if q != table[state, letter]]
    table[state, letter] = random.choice(others)
    broken = Semiautomaton(table, 0)
    assert recognise_stack(broken) is None
    result = recognise_stack(whole)
    assert result is not None
    assert stack_fault(broken, result)
    with pytest.raises(AssertionError):
        StackPlan(broken, result)
