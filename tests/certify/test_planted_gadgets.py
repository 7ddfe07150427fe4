"""A bug in any function of the compiler that makes weights, plans of weights or programs is caught."""

from typing import Any

import pytest

import krohn
from certify.mutants import Mutant, is_wrong
from certify.planting import gadgets, planted
from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import arithmetic
from krohn.certify.verification import attempt, verify
from krohn.construct.lowering import modulo
from krohn.construct.lowering.assembly import lower
from krohn.construct.paper.counter_and_memory import build_memory
from krohn.network.compiled import CompiledNetwork
from krohn.network.operations import Linear, PrefixSum
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source

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
    "lowering.assembly.head_plan": PARITY,
    "lowering.assembly.lower": PARITY,
    "lowering.latest_match.lower_latest_match": WALLS,
    "lowering.latest_write.lower_latest_write": ("FlipFlop", "cascade", {}),
    "lowering.look_back.lower_look_back": ("Add", "cascade", {}),
    "lowering.place_sum.lower_place_sum": ("abab", "features", {}),
    "lowering.prefix_sum.lower_prefix_sum": PARITY,
    "lowering.table_code.best_code": ("D6", "cascade", {}),
    "paper.channels.add_mlps": COUNTER,
    "paper.channels.basis": SCAN,
    "paper.channels.deepen": COUNTER,
    "paper.channels.lift_head": FLIP_FLOP,
    "paper.channels.lift_layer": COUNTER,
    "paper.channels.lift_mlp": SCAN,
    "paper.channels.parallel_layers": COUNTER,
    "paper.channels.sum_of": PAPER_GRID,
    "paper.circle.circle": SCAN,
    "paper.circle.rotation": SCAN,
    "paper.circular_mlp.circular_mlp": GRID,
    "paper.composition.composition_mlp": SCAN,
    "paper.counter.counter_layer": COUNTER,
    "paper.direct_product.direct_product": PRODUCT,
    "paper.direct_product.side_by_side": PRODUCT,
    "paper.grid.position_column": GRID,
    "paper.grid_mod_heads.mod_axis": GRID,
    "paper.grid_paper_heads.paper_axis": PAPER_GRID,
    "paper.grid_paper_heads.query_block": PAPER_GRID,
    "paper.grid_paper_heads.visit_head": PAPER_GRID,
    "paper.grid_state_mlps.state_mlp": PAPER_GRID,
    "paper.group_simulator.cyclic_simulator": COUNTER,
    "paper.integer_readout.integer_readout": COUNTER,
    "paper.interpolation_1d.indicator_units": COUNTER,
    "paper.interpolation_1d.interpolate_1d": COUNTER,
    "paper.interpolation_nd.interpolate_nd": COUNTER,
    "paper.interpolation_nd.saturating_nd": ("C5", "paper", {"dtype": "float32"}),
    "paper.interpolation_nd.table_mlp": COUNTER,
    "paper.lookback.binary_code": ("C3", "scan", {"positions": "binary"}),
    "paper.lookback.circle_code": SCAN,
    "paper.memory.memory_head": FLIP_FLOP,
    "paper.mlp_sequence.then_table": COUNTER,
    "paper.modular_mlp.modular_mlp": COUNTER,
    "paper.permutation_reset.reset_simulator": COUNTER,
    "paper.prefix_sum.absorber": COUNTER,
    "paper.prefix_sum.prefix_sum_head": COUNTER,
    "paper.scan.scan_transformer": SCAN,
    "paper.semidirect_product.four_stages": PRODUCT,
    "paper.solvable_group.solvable_simulator": COUNTER,
    "paper.theorem2.look_back_code": CASCADE,
    "paper.unused_channels.drop_unused_channels": COUNTER,
    "paper.wreath_product.reindex_mlp": PRODUCT,
    "paper.wreath_product.wreath_product": PRODUCT,
    "tight.clamped_counter.clamped_track": WALLS,
    "tight.compiler.plan_program": PARITY,
    "tight.coordinate.moved": PARITY,
    "tight.finite.joined": ("Grid3x4", "cascade", {}),
    "tight.finite.register_value": ("Add", "cascade", {}),
    "tight.holonomy_part.holonomy_track": PARITY,
    "tight.layers.arrange": PARITY,
    "tight.plan_part.plan_track": PARITY,
    "tight.scan.scan_program": ("A5", "auto", {}),
    "tight.stack.stack_program": ("Dyck2,2", "cascade", {}),
}
"""Every gadget with a network that a bug in it breaks."""

DESCRIPTIONS: dict[str, Network] = {
    "paper.grid_program.mod_program": GRID,
    "paper.scan_program.scan_program": SCAN,
}
"""Gadgets that only describe: the network stays right, the description does not fit it."""

ELSEWHERE = {
    "paper.channels.identity_layer": "adds nothing, so there is no sign to change",
    "paper.channels.zero_mlp": "adds nothing",
    "paper.group_simulator.trivial_simulator": "has no weights",
    "paper.memory.memory_layer": "the memory alone, below",
    "paper.semidirect_product.semidirect_product": "groups take the wreath product instead",
    "paper.threshold.threshold": "stands for its lemma; no network is built with it",
}


def test_every_gadget_is_here() -> None:
    assert set(gadgets()) == {*EFFECT, *DESCRIPTIONS, *ELSEWHERE}


def refused(network: CompiledNetwork) -> None:
    mutant = Mutant("planted", "", network.transformer, network.automaton)
    assert is_wrong(mutant, network.length, "float64"), "the bug must have an effect"
    refusal = attempt(mutant.network, mutant.automaton, network.length, arithmetic("float64"))[1]
    assert refusal is not None


def built(network: Network) -> CompiledNetwork:
    spec, method, options = network
    return krohn.compile(krohn.zoo(spec), 7, method=method, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("gadget", EFFECT)
def test_a_bug_planted_in_a_gadget_is_caught(gadget: str) -> None:
    with planted(gadgets()[gadget]):
        network = built(EFFECT[gadget])
    refused(network)


@pytest.mark.parametrize("gadget", DESCRIPTIONS)
def test_a_description_that_does_not_fit_is_caught(gadget: str) -> None:
    with planted(gadgets()[gadget]):
        network = built(DESCRIPTIONS[gadget])
    assert not verify(network, second_opinion=False).certified


def test_a_bug_in_the_memory_alone_is_caught() -> None:
    with planted(gadgets()["paper.memory.memory_layer"]):
        network = build_memory(3, 7)
    refused(network)


def test_a_bug_in_a_residue_is_caught() -> None:
    real = modulo.residue

    def wrong(builder: Any, total: Any, modulus: int, narrow: bool) -> Any:
        return real(builder, total, modulus + 1, narrow)

    with planted(real, wrong):
        network = built(("C5", "cascade", {}))
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
