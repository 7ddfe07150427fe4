"""The theorems' numbers, compared with hand-computed values and with what was printed."""

import json
import math

import pytest

from every import every
from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidInput, LimitExceeded, UnknownName
from krohn.paper import bounds
from krohn.paper.bounds import bounds_for, cascade_bounds, memory_bounds, scan_bounds
from krohn.paper.theorem1 import build_scan
from krohn.paper.theorem3 import VARIANTS, build_grid
from paper.paper_oracles import line


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
        result = bounds_for("scan", automaton, length)
        for key in ("depth", "dim", "heads", "head_dim", "mlp_width", "max_weight"):
            assert sizes[key] <= getattr(result.corrected, key) * (1 + 1e-9)
        if gadget == "hat":
            assert sizes["mlp_width"] == result.stated.mlp_width


@every("variant", VARIANTS)
@every("states", [2, 4, 9])
def test_every_grid_keeps_the_corrected_bound(states, variant) -> None:
    automaton = line(states, states // 2)
    result = bounds_for("grid", automaton, 60)
    sizes = build_grid(automaton, 60, variant).sizes()
    for key in ("depth", "dim", "heads", "head_dim", "mlp_width", "max_weight"):
        assert sizes[key] <= getattr(result.corrected, key), key
    assert sizes["depth"] == result.stated.depth == 2


def test_theorem_two_for_the_paper_automata() -> None:
    s4 = bounds_for("paper", parse_spec("S4"), 100, levels=1)
    assert s4.stated.depth == 8091
    assert math.log10(s4.stated.dim) == pytest.approx(8.9, abs=0.1)
    assert s4.stated.as_dict()["mlp_width"] == "1e23156110"
    assert s4.corrected.depth == math.ceil(3 * math.log2(24) + 3)
    c2 = bounds_for("cascade", parse_spec("C2"), 100)
    assert (c2.stated.depth, c2.stated.mlp_width) == (26, 4 * (20 * 2 * 2 * 100 + 8 + 8 + 2**4 * 2))
    assert bounds_for("paper", parse_spec("Grid4"), 100).stated.dim == 2**4 * (17 + 8) + 1


def test_bounds_are_fit_for_json() -> None:
    for states in (2, 6, 24, 60):
        text = json.dumps(cascade_bounds(states, 4, 24, 100).stated.as_dict())
        assert "Infinity" not in text


def test_the_printed_norm_of_the_memory_lemma_is_false_for_small_cases() -> None:
    result = memory_bounds(5, 3)
    assert result.stated.max_weight < 17 < result.corrected.max_weight


def test_a_group_bound_and_a_huge_semigroup() -> None:
    assert bounds_for("solvable_group", parse_spec("S4"), 10).stated.dim == 48
    given = bounds_for("paper", parse_spec("C2"), 10, semigroup_size=7)
    assert given.stated.dim == 4 * (7 + 6) + 1


def test_a_semigroup_too_large_to_count_is_bounded_by_all_maps(monkeypatch) -> None:
    def refuse(letters):
        raise LimitExceeded("too many")

    monkeypatch.setattr(bounds, "TransitionSemigroup", refuse)
    assert bounds_for("paper", parse_spec("C3"), 10).stated.dim == 2**3 * (3**3 + 3 + 4) + 1


def test_unknown_theorems_and_other_automata_are_refused() -> None:
    with pytest.raises(UnknownName, match=r"known for scan, wide, paper, .*; got 'five'"):
        bounds_for("five", parse_spec("C2"), 10)
    with pytest.raises(InvalidInput, match="at least 1; got 0"):
        bounds_for("scan", parse_spec("C2"), 0)
    with pytest.raises(InvalidInput, match="gridworlds only"):
        bounds_for("grid", parse_spec("C3"), 10)
