"""Objectives and targets: blocks of a stock decoder, and automata minimised for their observations."""

import numpy as np
import pytest

import krohn
from krohn.construct.compiling import cost
from krohn.exporting.standard_blocks import standard_blocks

DEPTH_AND_BLOCKS = {
    "C2": (1, 1),
    "D8": (1, 2),
    "Q8": (2, 3),
    "S4": (3, 5),
    "Grid4": (2, 3),
    "Dyck4,2": (3, 4),
}


@pytest.mark.parametrize("objective", ["depth", "blocks"])
@pytest.mark.parametrize("name", DEPTH_AND_BLOCKS)
def test_blocks_are_few_proved_in_float32_and_those_of_the_export(name: str, objective: str) -> None:
    network = krohn.compile(name, length=24, objective=objective)  # type: ignore[call-overload]
    sizes, (depth, blocks) = network.sizes(), DEPTH_AND_BLOCKS[name]
    assert objective == "blocks" or sizes["depth"] == depth
    assert sizes["blocks"] == len(standard_blocks(network.transformer).blocks) <= blocks
    assert network.proved == "float32"


def test_in_float64_a_grid_takes_a_block_for_a_layer() -> None:
    network = krohn.compile("Grid4", length=16, objective="blocks", dtype="float64", effort=0.2)
    assert (network.sizes()["blocks"], network.proved) == (2, "float64")


def test_the_target_observation_minimises_first() -> None:
    merged = krohn.parse_spec("C6")
    parity = krohn.Semiautomaton(merged.table, observe=tuple(q % 2 for q in range(6)))
    network = krohn.compile(parity, length=12, target="observation")
    assert network.automaton.num_states == 2
    words = np.random.default_rng(0).integers(6, size=(30, 12))
    assert network.run(words).tolist() == [[q % 2 for q in parity.run(word)] for word in words.tolist()]


def test_an_objective_compares_what_it_names_first() -> None:
    network = krohn.compile("Grid4", length=16, unproved=True).transformer
    assert cost(network, "depth")[0] == network.depth
    assert cost(network, "blocks")[0] == network.num_blocks
    assert cost(network, "parameters")[0] == network.num_parameters
    assert cost(network, "width")[0] == max(network.dim, network.mlp_width, network.heads * network.head_dim)
