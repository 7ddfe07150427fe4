"""The naive meaning the constructions are tested against, and the words they are tested on."""

import itertools
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.compiled import CompiledNetwork
from krohn.network.program import interpret
from krohn.paper.component_cascade import ComponentCascade

Words = npt.NDArray[np.int64]


def all_words(letters: int, length: int) -> Words:
    return np.array(list(itertools.product(range(letters), repeat=length)), dtype=np.int64).reshape(
        -1, length
    )


def random_words(letters: int, length: int, count: int, seed: int = 0) -> Words:
    return np.random.default_rng(seed).integers(0, letters, (count, length))


def naive_states(automaton: Semiautomaton, words: Words) -> Words:
    return np.array([automaton.run(word) for word in words], dtype=np.int64).reshape(words.shape)


def started(automaton: Semiautomaton, start: int) -> Semiautomaton:
    return Semiautomaton(table=automaton.table, start=start, name=automaton.name)


def random_automaton(states: int, letters: int, seed: int, start: int = 0) -> Semiautomaton:
    table = np.random.default_rng(seed).integers(0, states, (states, letters)).astype(np.int32)
    return Semiautomaton(table=table, start=start)


def line(states: int, start: int = 0, *, noop: bool = False) -> Semiautomaton:
    left = [max(q - 1, 0) for q in range(states)]
    right = [min(q + 1, states - 1) for q in range(states)]
    letters = [left, right, list(range(states))] if noop else [left, right]
    return Semiautomaton.from_letters(letters, start=start)


def assert_simulates(
    net: CompiledNetwork, words: Words, dtypes: tuple[str, ...] = ("float64", "float32")
) -> None:
    expected = naive_states(net.automaton, words)
    for dtype in dtypes:
        wrong = np.argwhere(net.run(words, dtype) != expected)
        assert not len(wrong), f"{dtype}: word {words[wrong[0][0]].tolist()} is wrong at letter {wrong[0][1]}"
    if net.program is not None:
        assert (interpret(net.program, words) == expected).all(), "the program does not mean the automaton"


def cascade_step(whole: ComponentCascade, values: tuple[int, ...], letter: int) -> tuple[int, ...]:
    """One step: the definition of the cascade product."""
    actions = whole.moves[values, letter]
    return tuple(a if isinstance(a, int) else a[v] for a, v in zip(actions, values, strict=True))


def cascade_run(whole: ComponentCascade, word: Iterable[int]) -> list[int]:
    """States after each letter."""
    values, states = whole.initial, []
    for letter in word:
        values = cascade_step(whole, values, letter)
        states.append(whole.state[values])
    return states
