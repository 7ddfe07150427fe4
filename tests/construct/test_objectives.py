"""Objectives and targets: blocks of a stock decoder, and automata minimised for their observations."""

import numpy as np
import pytest

import krohn
from krohn.exporting.standard_blocks import standard_blocks

BLOCKS = {"C2": 1, "S4": 5, "Grid4": 2, "Grid9": 2, "Dyck4,2": 4}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_few_and_are_what_the_export_has(name: str) -> None:
    network = krohn.compile(name, length=40, objective="blocks")
    assert network.sizes()["blocks"] == len(standard_blocks(network.transformer).blocks) <= BLOCKS[name]
    assert krohn.verify(network, second_opinion=False).certified


def test_the_target_observation_minimises_first() -> None:
    merged = krohn.parse_spec("C6")
    parity = krohn.Semiautomaton(merged.table, observe=tuple(q % 2 for q in range(6)))
    network = krohn.compile(parity, length=12, target="observation")
    assert network.automaton.num_states == 2
    words = np.random.default_rng(0).integers(6, size=(30, 12))
    assert network.run(words).tolist() == [[q % 2 for q in parity.run(word)] for word in words.tolist()]
