"""Networks whose registers mean nothing alone: points of a permutation, vectors of a wreath product."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

import krohn
from krohn.lab.suite.causal import TEST, TRAIN, counterfactuals, join, swap_variable, variables_of
from krohn.lab.suite.disguise import DECOY_UNITS, DISGUISES, disguise
from krohn.lab.suite.paper_program import with_program
from krohn.lab.suite.patching import EdgeModel
from krohn.lab.suite.swaps import interchange_accuracy
from krohn.network.compiled import CompiledNetwork
from krohn.network.program import interpret, interpret_registers


@pytest.mark.parametrize(("spec", "length"), [("D6", 6), ("C4", 4), ("A4", 4)])
def test_the_papers_network_holds_at_every_moment_what_its_program_says(spec: str, length: int) -> None:
    network = with_program(krohn.compile(spec, length=length, method="paper"))
    assert network.program is not None
    letters = range(network.automaton.num_letters)
    words = np.array(list(product(letters, repeat=length)))
    right = np.array([network.automaton.run(word) for word in words.tolist()])
    assert (interpret(network.program, words) == right).all()
    for word in words[:: max(1, len(words) // 12)]:
        values = interpret_registers(network.program, word[None])
        for held in krohn.explain(network, tuple(word.tolist())).moments:  # a pass of the weights
            assert {name for name in held if not np.allclose(held[name], values[name][0], atol=1e-6)} == set()


def test_other_networks_of_the_paper_keep_no_program() -> None:
    with_resets = krohn.compile("Grid4", length=2, method="paper")
    assert with_program(with_resets) is with_resets
    assert with_resets.program is None


def a5() -> CompiledNetwork:
    return krohn.compile("A5", length=8)


def test_a_window_of_a5_swapped_as_a_whole_is_the_word_with_these_letters_changed() -> None:
    """By hand: the window of w letters that ends at t is read at t, t + w, t + 2w, …"""
    network = a5()
    variables, pairs = counterfactuals(network, np.eye(64), seed=1, count=16)
    windows = {f"0 after {w} letters … 4 after {w} letters": w for w in (1, 2, 4, 8)}
    assert set(windows) <= {each.name for each in variables}
    for one in pairs:
        if one.variable in windows:
            width, t = windows[one.variable], one.letter
            first = max(0, t - width + 1)
            mixed = (*one.base[:first], *one.source[first : t + 1], *one.base[t + 1 :])
            own, other = network.automaton.run(one.base), network.automaton.run(mixed)
            read = [s >= t and (s - t) % width == 0 for s in range(len(one.base))]
            assert one.answers == tuple(b if here else a for a, b, here in zip(own, other, read, strict=True))
    assert {(one.variable, one.split) for one in pairs} == {
        (each.name, split) for each in variables for split in (TRAIN, TEST)
    }


def test_one_point_of_a_permutation_has_no_meaning_alone() -> None:
    network = a5()
    assert network.program is not None
    (point, *_) = variables_of(network, np.eye(64))
    bases, sources = np.zeros((1, 8), dtype=np.int64), np.full((1, 8), 2)
    _, meant = swap_variable(network.program, bases, sources, point, np.array([3]))
    assert not meant.any()
    (whole, *_) = join(variables_of(network, np.eye(64)))
    answers, meant = swap_variable(network.program, bases, sources, whole, np.array([3]))
    assert meant.all()
    assert answers[0].tolist() == list(network.automaton.run([0, 0, 0, 2, 0, 0, 0, 0]))


def test_only_variables_of_one_moment_are_joined() -> None:
    variables = variables_of(a5(), np.eye(64))
    assert [len(each.registers) for each in join(variables)] == [5] * 7
    assert join([variables[0], variables[-1]]) == []


@pytest.mark.parametrize("spec", ["D6", "A5"])
@pytest.mark.parametrize("kind", DISGUISES)
def test_the_network_follows_swaps_of_its_variables(spec: str, kind: str) -> None:
    network = with_program(krohn.compile(spec, length=8, method="paper" if spec == "D6" else "auto"))
    shown = disguise(network, kind, 3, units=DECOY_UNITS)
    variables, pairs = counterfactuals(network, shown.turn, seed=2, count=12)
    assert any(len(each.registers) > 1 for each in variables)
    model = EdgeModel(shown.decoder)
    for variable in variables:
        asked = [one for one in pairs if one.variable == variable.name]
        basis = torch.tensor(variable.basis, dtype=torch.float64)
        assert sum(one.telling for one in asked) >= 8
        assert interchange_accuracy(model, variable.place, basis, asked) == 1.0
        moved = [replace(one, source=one.base) for one in asked if one.telling]  # a swap that changes nothing
        assert interchange_accuracy(model, variable.place, basis, moved) == 0.0
