"""A bug in any function of the compiler that makes weights, plans of weights or programs is caught."""

from dataclasses import replace
from typing import Any

import pytest

import krohn
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.compiled import CompiledNetwork
from krohn.network.lowering import maps as weights
from krohn.network.lowering.assembly import lower
from krohn.network.operations import Linear, PrefixSum
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source
from krohn.proving.attempts import RUN_ONLY, arithmetic, attempt
from krohn.proving.verification import verify
from proving.mutants import Mutant, is_wrong
from proving.planting import gadgets, planted
from unproved import compile

Network = tuple[str, str, dict[str, Any]]

PARITY: Network = ("Parity", "cascade", {})
FLIP_FLOP: Network = ("FlipFlop", "paper", {})
COUNTER: Network = ("C5", "paper", {})
PRODUCT: Network = ("C2xC2", "paper", {})
CASCADE: Network = ("abab", "paper", {})
SCAN: Network = ("C3", "scan", {})
GRID: Network = ("Grid4", "grid", {})
PAPER_GRID: Network = ("Grid4", "grid", {"variant": "log_depth"})
WALLS: Network = ("Grid4", "cascade", {})

EFFECT: dict[str, Network] = {
    "lowering.assembly.symbolic_head": PARITY,
    "lowering.assembly.lower": PARITY,
    "lowering.head_sums.write_sums": PARITY,
    "lowering.heads.lower_latest_match": WALLS,
    "lowering.heads.lower_latest_write": ("FlipFlop", "cascade", {}),
    "lowering.heads.lower_look_back": ("Add", "cascade", {}),
    "lowering.heads.lower_place_sum": ("abab", "features", {}),
    "lowering.heads.lower_prefix_sum": PARITY,
    "lowering.table_code.best_code": ("D6", "cascade", {}),
    "paper.blocks.add_mlps": COUNTER,
    "paper.blocks.basis": SCAN,
    "paper.blocks.deepen": COUNTER,
    "paper.blocks.lift_layer": COUNTER,
    "paper.blocks.lift_mlp": SCAN,
    "paper.blocks.parallel_layers": COUNTER,
    "paper.blocks.sum_of": PAPER_GRID,
    "paper.positions.circle": SCAN,
    "paper.positions.rotation": SCAN,
    "paper.circular_mlp.circular_mlp": GRID,
    "paper.composition.composition_mlp": SCAN,
    "paper.counter.counter_layer": COUNTER,
    "paper.group_products.direct_product": PRODUCT,
    "paper.group_products.side_by_side": PRODUCT,
    "paper.theorem3.position_column": GRID,
    "paper.grid_heads.mod_axis": GRID,
    "paper.grid_heads.paper_axis": PAPER_GRID,
    "paper.grid_heads.query_block": PAPER_GRID,
    "paper.grid_heads.visit_head": PAPER_GRID,
    "paper.age_mlp.state_mlp": PAPER_GRID,
    "paper.theorem3.assemble": GRID,
    "paper.group_products.cyclic_simulator": COUNTER,
    "paper.blocks.integer_readout": COUNTER,
    "paper.interpolation.indicator_units": COUNTER,
    "paper.interpolation.interpolate_1d": COUNTER,
    "paper.interpolation.interpolate_nd": COUNTER,
    "paper.interpolation.saturating_nd": ("C5", "paper", {"dtype": "float32"}),
    "paper.interpolation.table_mlp": COUNTER,
    "paper.positions.circle_code": SCAN,
    "paper.memory.memory_head": FLIP_FLOP,
    "paper.blocks.then_table": COUNTER,
    "paper.counter.modular_mlp": COUNTER,
    "paper.permutation_reset.reset_simulator": COUNTER,
    "paper.counter.absorber": COUNTER,
    "paper.counter.prefix_sum_head": COUNTER,
    "paper.theorem1.scan_transformer": SCAN,
    "paper.group_products.four_stages": PRODUCT,
    "paper.group_products.solvable_simulator": COUNTER,
    "paper.theorem2.look_back_code": CASCADE,
    "paper.unused_channels.drop_unused_channels": COUNTER,
    "paper.group_products.reindex_mlp": PRODUCT,
    "paper.group_products.wreath_product": PRODUCT,
    "tight.leaf_programs.clamped_track": WALLS,
    "tight.plan_programs.plan_program": PARITY,
    "tight.moved_coordinate.moved": PARITY,
    "tight.finite.joined": ("Grid3x4", "cascade", {}),
    "tight.finite.register_value": ("T3", "cascade", {}),  # two tiles would be swapped back
    "tight.holonomy_program.holonomy_track": PARITY,
    "tight.plan_programs.plan_track": PARITY,
    "tight.small_scan.scan_program": ("A5", "auto", {}),
    "tight.leaf_programs.stack_track": ("Dyck2,2", "cascade", {}),
}
"""Every gadget with a network that a bug in it breaks."""

DESCRIPTIONS: dict[str, Network] = {
    "paper.grid_program.mod_program": GRID,
    "paper.theorem1.scan_program": SCAN,
}
"""Gadgets that only describe: the network stays right, the description does not fit it."""

ELSEWHERE = {
    "paper.blocks.identity_layer": "adds nothing, so there is no sign to change",
    "paper.group_products.trivial_simulator": "has no weights",
    "paper.interpolation.table_rows": "reads a table, for the builders of `lemmas`",
    "paper.interpolation.validate": "the same",
    "lowering.heads.lower_end_write": "no automaton of the zoo needs it: below",
    "lowering.stock_blocks.in_blocks": "makes what is shown to the checker: below",
    "paper.interpolation.threshold": "a lemma by itself, in no network: test_interpolation",
    "paper.group_products.semidirect_product": "the same: test_group_products",
    "paper.barrington.barrington": "makes words, no weights: test_barrington",
    "paper.gate_circuit.words_to_compare": "words for a comparison, no weights: test_texts",
    "paper.gate_circuit.letters_as_bits": "inputs of a circuit, no weights: test_threshold_circuit",
}


def test_every_gadget_is_here() -> None:
    assert set(gadgets()) == {*EFFECT, *DESCRIPTIONS, *ELSEWHERE}


def refused(network: CompiledNetwork) -> None:
    mutant = Mutant("planted", "", network.transformer, network.automaton)
    assert is_wrong(mutant, network.length, "float64"), "the bug must have an effect"
    refusal = attempt(mutant.network, mutant.automaton, network.length, arithmetic("float64"))[1]
    assert refusal is not None
    if RUN_ONLY in refusal.reason:  # refused whatever it computes: the run must show the bug
        assert verify(replace(network, program=None), largest=False).counterexample is not None


def network_of(network: Network) -> CompiledNetwork:
    spec, method, options = network
    return compile(krohn.zoo(spec), 7, method=method, **options)  # type: ignore[arg-type]


@every("gadget", EFFECT)
def test_a_bug_planted_in_a_gadget_is_caught(gadget: str) -> None:
    with planted(gadgets()[gadget]):
        network = network_of(EFFECT[gadget])
    refused(network)


@pytest.mark.parametrize("gadget", DESCRIPTIONS)
def test_a_description_that_does_not_fit_is_caught(gadget: str) -> None:
    with planted(gadgets()[gadget]):
        network = network_of(DESCRIPTIONS[gadget])
    assert not verify(network, second_opinion=False).certified


def test_a_bug_in_the_end_of_a_word_is_caught() -> None:
    """State 0 up to the first letter 1; from there on the parity of the letters 0."""
    automaton = Semiautomaton.from_letters([(0, 2, 1), (1, 1, 2)])
    with planted(gadgets()["lowering.heads.lower_end_write"]):
        network = compile(automaton, 7)
    refused(network)


def test_a_bug_in_what_is_proposed_leaves_nothing_that_is_accepted() -> None:
    assert krohn.compile("D6", 7).proved == "float32"
    with planted(gadgets()["lowering.stock_blocks.in_blocks"]):
        network = krohn.compile("D6", 7)
    assert network.proved is None
    assert network.passed_over


def test_a_bug_in_a_residue_is_caught() -> None:
    real = weights.residue

    def wrong(builder: Any, total: Any, modulus: int, narrow: bool) -> Any:
        return real(builder, total, modulus + 1, narrow)

    with planted(real, wrong):
        network = network_of(("C5", "cascade", {}))
    refused(network)


def test_a_bug_in_a_linear_map_is_caught() -> None:
    automaton = Semiautomaton.from_letters([(0, 1, 2, 3, 4), (1, 2, 3, 4, 4)])
    program = Program(
        registers=(Register("step", 0, 1), Register("sum", 0, 1, "wide"), Register("state", 0, 4)),
        sources=(Source("step", (0, 1), (0,)),),
        layers=(ProgramLayer((PrefixSum(("step",), ("sum",)),), (Linear((("sum", 1),), 1, "state"),)),),
        readout=Readout(("state",), ((0,), (1,), (2,), (3,), (4,))),
    )
    network, layout = lower(program, 4)
    refused(CompiledNetwork(network, automaton, "cascade", program, layout))
