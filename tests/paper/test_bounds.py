"""The theorems' numbers, compared with hand-computed values and with what was printed."""

import math

import pytest

from every import every
from krohn.automata.zoo import parse_spec
from krohn.paper.bounds import (
    cascade_bounds,
    grid_bounds,
    memory_bounds,
    scan_bounds,
    solvable_group_bounds,
)
from krohn.paper.theorem1 import build_scan
from krohn.paper.theorem3 import VARIANTS, build_grid
from paper.paper_oracles import line
from paper.recipe_sizes import theorem2_bounds


def test_theorem_one_for_s4_at_length_one_hundred() -> None:
    result = scan_bounds(24, 100)
    stated = result.stated
    assert (stated.depth, stated.dim, stated.heads, stated.head_dim, stated.mlp_width) == (7, 50, 2, 24, 600)
    assert stated.max_weight == pytest.approx(2789.8, abs=0.1)
    assert result.corrected.mlp_width == 4 * 24**2 + 24


@pytest.mark.parametrize("gadget", ["direct", "plateau", "hat"])
def test_every_scan_keeps_the_corrected_bound(gadget) -> None:
    for name, length in [("C2", 2), ("Grid4", 33), ("Q8", 100)]:
        automaton = parse_spec(name)
        sizes = build_scan(automaton, length, gadget).sizes()
        result = scan_bounds(automaton.num_states, length)
        for key in ("depth", "dim", "heads", "head_dim", "mlp_width", "max_weight"):
            assert sizes[key] <= getattr(result.corrected, key) * (1 + 1e-9)
        if gadget == "hat":
            assert sizes["mlp_width"] == result.stated.mlp_width


@every("variant", VARIANTS)
@every("states", [2, 4, 9])
def test_every_grid_keeps_the_corrected_bound(states, variant) -> None:
    automaton = line(states, states // 2)
    result = grid_bounds(automaton, 60)
    sizes = build_grid(automaton, 60, variant).sizes()
    for key in ("depth", "dim", "heads", "head_dim", "mlp_width", "max_weight"):
        assert sizes[key] <= getattr(result.corrected, key), key
    assert sizes["depth"] == result.stated.depth == 2


def test_theorem_two_for_the_paper_automata() -> None:
    s4 = theorem2_bounds(parse_spec("S4"), 100, levels=1)
    assert s4.stated.depth == 8091
    assert math.log10(s4.stated.dim) == pytest.approx(8.9, abs=0.1)
    assert (s4.stated.mlp_width, round(s4.stated.log10_mlp_width)) == (math.inf, 23156110)
    assert s4.corrected.depth == math.ceil(3 * math.log2(24) + 3)
    c2 = theorem2_bounds(parse_spec("C2"), 100)
    assert (c2.stated.depth, c2.stated.mlp_width) == (26, 4 * (20 * 2 * 2 * 100 + 8 + 8 + 2**4 * 2))
    assert theorem2_bounds(parse_spec("Grid4"), 100).stated.dim == 2**4 * (17 + 8) + 1


def test_a_width_beyond_floats_is_kept_as_a_power_of_ten() -> None:
    for states in (2, 6, 24, 60):
        stated = cascade_bounds(states, 4, 24, 100).stated
        assert math.isfinite(stated.log10_mlp_width)
        if math.isfinite(stated.mlp_width):
            assert math.log10(stated.mlp_width) == pytest.approx(stated.log10_mlp_width)


def test_the_printed_norm_of_the_memory_lemma_is_false_for_small_cases() -> None:
    result = memory_bounds(5, 3)
    assert result.stated.max_weight < 17 < result.corrected.max_weight


def test_a_group_bound_and_one_of_a_given_semigroup() -> None:
    assert solvable_group_bounds(24, 24, 10).stated.dim == 48
    assert cascade_bounds(2, 2, 7, 10).stated.dim == 4 * (7 + 6) + 1
