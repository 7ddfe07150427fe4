"""``--method wide``: one layer for any automaton, on all short words and certified on long ones."""

import itertools

import numpy as np
import pytest

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.tight.small_scan import scan_program
from krohn.network.program import interpret

SPECS = ("D6", "Q8", "S4", "A5", "Grid4", "FlipFlop", "regex:(a|b)*abb")


def stepped(automaton: Semiautomaton, word: tuple[int, ...]) -> list[int]:
    """The states after every letter, read off the table."""
    state, result = automaton.start, []
    for letter in word:
        state = automaton.table[state, letter]
        result.append(int(state))
    return result


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_one_layer_is_right_on_all_short_words(spec: str, length: int) -> None:
    network = krohn.compile(spec, length, method="wide", unproved=True)
    assert network.transformer.depth == (1 if length > 1 else 0)
    words = itertools.product(range(network.automaton.num_letters), repeat=min(length, 3))
    longer = [word + word[:1] * (length - len(word)) for word in words]
    shown = np.asarray(network.run(np.array(longer)))
    assert shown.tolist() == [stepped(network.automaton, word) for word in longer]


def test_heads_and_width_grow_with_the_length_and_layers_do_not() -> None:
    sizes = [krohn.compile("Q8", length, method="wide", unproved=True).transformer for length in (4, 8, 16)]
    assert [network.depth for network in sizes] == [1, 1, 1]
    assert [network.heads for network in sizes] == [3, 7, 15]
    assert sizes[0].num_parameters < sizes[1].num_parameters < sizes[2].num_parameters


def test_words_of_24_letters_are_certified_without_looking_at_all_of_them() -> None:
    network = krohn.compile("D6", 24, method="wide", dtype="float32", unproved=True)
    assert krohn.verify(network, dtype="float32", second_opinion=False).certified
    assert network.transformer.depth == 1


def test_a_scan_follows_only_states_that_words_reach() -> None:
    reached = [[1, 2, 0], [2, 2, 1]]
    table = [[a, b] for a, b in zip(*reached, strict=True)]
    extra = [[3 + (n * 7) % 40, 3 + (n * 5) % 40] for n in range(40)]  # a part that no word enters
    small, large = Semiautomaton(np.array(table), 0), Semiautomaton(np.array(table + extra), 0)
    for length in (4, 9):
        sizes = [scan_program(automaton, length) for automaton in (small, large)]
        assert len(sizes[0].registers) == len(sizes[1].registers)
        words = np.random.default_rng(0).integers(2, size=(50, length))
        for automaton, program in zip((small, large), sizes, strict=True):
            shown = interpret(program, words)
            assert shown.tolist() == [stepped(automaton, tuple(word)) for word in words.tolist()]
