"""Programs proved for words of every length, and forged ones refused."""

from dataclasses import replace

import numpy as np
import pytest

from certify.built_networks import CLIPPED, PROGRAMS, clipped_sum_program, compiled
from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Record, Refuted
from krohn.certify.program_proof import has_finite_memory, prove_program
from krohn.network.attention_operations import LatestMatch, LatestWrite
from krohn.network.position_maps import Table
from krohn.network.program import Program, interpret


@pytest.mark.parametrize("name", PROGRAMS)
def test_hand_written_programs_are_proved(name: str) -> None:
    program, automaton = PROGRAMS[name]
    record = Record()
    prove_program(program(), automaton, 16, record)
    assert "every length" in record.checks[-1].text


@pytest.mark.parametrize("spec", ["C8", "S4", "D6", "abab", "Grid4", "Grid9", "T3", "Add", "FlipFlop"])
def test_cascades_are_proved_for_words_of_every_length(spec: str) -> None:
    network = compiled(spec, 64, "cascade")
    record = Record()
    assert network.program is not None
    prove_program(network.program, network.automaton, 64, record)
    assert "every length" in record.checks[-1].text


@pytest.mark.parametrize("spec", ["Dyck2,2", "Dyck4,2"])
def test_a_height_that_rises_and_falls_is_followed_between_its_ends(spec: str) -> None:
    network = compiled(spec, 64, "cascade")
    record = Record()
    assert network.program is not None
    prove_program(network.program, network.automaton, 64, record)
    assert "every length" in record.checks[-1].text


def test_a_sum_that_is_needed_beyond_its_ends_bounds_the_length() -> None:
    record = Record()
    prove_program(clipped_sum_program(), CLIPPED, 2, record)
    assert "length ≤ 2" in record.checks[-1].text
    with pytest.raises(Refuted, match="after 3 letters") as refusal:
        prove_program(clipped_sum_program(), CLIPPED, 3, Record())
    assert refusal.value.word in ((1, 1, 0), (0, 0, 1))


def test_a_scan_is_left_to_its_own_proof() -> None:
    network = compiled("Grid4", 64, "scan")
    assert network.program is not None
    assert not has_finite_memory(network.program)


def forged(program: Program, seed: int) -> Program:
    """One table entry, flag or shift changed."""
    dice = np.random.default_rng(seed)
    places = [
        (index, kind, number)
        for index, layer in enumerate(program.layers)
        for kind, group in (("attention", layer.attention), ("maps", layer.maps))
        for number, operation in enumerate(group)
        if isinstance(operation, (Table, LatestMatch, LatestWrite))
    ]
    index, kind, number = places[int(dice.integers(len(places)))]
    layer = program.layers[index]
    group = list(getattr(layer, kind))
    operation = group[number]
    if isinstance(operation, Table):
        row = int(dice.integers(len(operation.rows)))
        given, result = operation.rows[row]
        other = operation.rows[int(dice.integers(len(operation.rows)))][1]
        rows = [*operation.rows[:row], (given, other), *operation.rows[row + 1 :]]
        group[number] = replace(operation, rows=tuple(rows))
        assert result is not None
    elif isinstance(operation, LatestMatch):
        group[number] = replace(operation, shift=operation.shift + 1)
    layers = [*program.layers]
    layers[index] = replace(layer, **{kind: tuple(group)})
    return replace(program, layers=tuple(layers))


@pytest.mark.parametrize("spec", ["D6", "abab", "Grid4", "T3"])
def test_a_forged_program_is_proved_only_if_it_is_still_right(spec: str) -> None:
    network = compiled(spec, 16, "cascade")
    automaton = network.automaton
    assert network.program is not None
    words = np.random.default_rng(0).integers(automaton.num_letters, size=(200, 16))
    right = np.array([automaton.run(word) for word in words])
    refused = 0
    for seed in range(12):
        program = forged(network.program, seed)
        try:
            wrong = bool((interpret(program, words) != right).any())
        except ValueError:
            wrong = True
        try:
            prove_program(program, automaton, 16, Record())
        except Refuted:
            refused += 1
        else:
            assert not wrong
    assert refused


def test_a_refused_program_names_a_shortest_word() -> None:
    program, automaton = PROGRAMS["parity"]
    other = Semiautomaton.from_letters([(0, 0), (1, 0)])
    with pytest.raises(Refuted, match="after 2 letters") as caught:
        prove_program(program(), other, 8, Record())
    assert caught.value.word == (1, 0)
    assert automaton.run((1, 0)) != other.run((1, 0))
