"""Errata of Theorem 3: each printed item, put back alone into the repaired network, breaks it."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from krohn.network.forward import logits
from krohn.network.lowering.mlp_builder import MlpBuilder, Signal
from krohn.paper.age_mlp import (
    age_signals,
    attainable_features,
    comparisons,
    interleaved_ages,
    minus,
    state_from_ages,
    state_mlp,
)
from krohn.paper.blocks import lift_mlp
from krohn.paper.circular_mlp import circular_mlp
from krohn.paper.grid_heads import PAPER_SHARED, paper_axis, places_of
from krohn.paper.grid_runs import GridRun, grid_run, padding_moves
from krohn.paper.gridworlds import recognise_grid
from krohn.paper.theorem3 import assemble, build_grid
from paper.paper_oracles import all_words, assert_simulates, line
from paper.printed_versions import error_rate, with_heads, with_layer

WALLS, LENGTH = 3, 6
LOG, ONE, MOVE, FIRST = (places_of(PAPER_SHARED)[name] for name in ("log", "one", "move", "heads"))
WORDS = all_words(3, LENGTH)


@pytest.fixture(name="grid", params=range(WALLS + 1))
def grid_fixture(request):
    return build_grid(line(WALLS + 1, request.param, noop=True), LENGTH, "count")


def total_of(net) -> int:
    return len(net.transformer.positions) - 1


def with_state_mlp(net, mlp):
    reads = range(FIRST, FIRST + 2 * WALLS + 1)
    lifted = lift_mlp(mlp, [*reads], [MOVE], net.transformer.dim)
    return with_layer(net.transformer, 1, lambda layer: replace(layer, mlp=lifted))


def test_the_repaired_network_is_right(grid) -> None:
    assert_simulates(grid, WORDS)


def test_erratum_15_the_recency_entry_of_the_query_stands_in_the_wrong_place(grid) -> None:
    def printed(layer, _number, head):
        if layer == 0:
            return head
        query, key = np.array(head.query), np.array(head.key)
        query[LOG, 0], query[ONE, 0] = query[ONE, 0], 0.0
        key[ONE, 0], key[LOG, 0] = key[LOG, 0], 0.0
        return replace(head, query=query, key=key)

    assert error_rate(grid, with_heads(grid.transformer, printed), WORDS) > 0.1


def test_erratum_16_the_padding_token_looks_like_the_newest_position(grid) -> None:
    positions = np.array(grid.transformer.positions)
    positions[0, LOG] = 0.0
    assert error_rate(grid, replace(grid.transformer, positions=positions), WORDS) > 0.3


def counting_mlp(total: int, unmatched_test, older: float | None):
    """``count`` with another test for unmatched heads and another age for them (``None``: add 1)."""
    net = MlpBuilder(2 * WALLS + 1, balanced=False)
    inputs = age_signals(net, total)

    def step(difference):
        rise, fall = (net.unit(difference, 4.0 * total, -edge) for edge in (0.5, 1.5))
        return Signal(difference.layer + 1, {rise: 1.0, fall: -1.0}, 0.0, 0.0, 1.0)

    final = []
    for s, age in enumerate(inputs):
        if s == WALLS:
            final.append(age)
            continue
        unmatched = net.total([step(unmatched_test(net, inputs, s)).scaled(-1.0)], 1.0)
        if older is None:
            final.append(net.total([age, unmatched]))
        else:
            # relu(age − M·unmatched) + older·unmatched, M large: the printed replacement by log(2T).
            matched_age = net.positive(net.total([age, unmatched.scaled(-50.0)]))
            final.append(net.total([matched_age, unmatched.scaled(older)]))
    bits = [step(minus(net, final[s - 1], final[s + WALLS])) for s in range(1, WALLS + 1)]
    return net.build({0: net.total([bit.scaled(-1.0) for bit in bits], WALLS)}, 1)


def inner_neighbour(net, inputs, s):
    return minus(net, inputs[s], inputs[s + 1 if s < WALLS else s - 1])


def test_erratum_17_unmatched_heads_do_not_select_the_current_position(grid) -> None:
    total = total_of(grid)
    printed = counting_mlp(total, lambda net, inputs, s: minus(net, inputs[s], inputs[WALLS]), None)
    assert error_rate(grid, with_state_mlp(grid, printed), WORDS) > 0.1
    repaired = counting_mlp(total, inner_neighbour, None)
    assert error_rate(grid, with_state_mlp(grid, repaired), WORDS) == 0.0
    seen = {}
    logits(grid.transformer, WORDS, observe=lambda name, value: seen.update({name: value}))
    mixed = seen["layer.1.mixed"][:, grid.transformer.num_padding :]
    ages, own = mixed[..., FIRST : FIRST + 2 * WALLS + 1], mixed[..., [LOG]]
    repeats = [abs(ages[..., s] - ages[..., s + 1]) < 1e-3 / total for s in range(WALLS)]
    assert any((repeat & (abs(ages[..., s] - own[..., 0]) > 0.01)).any() for s, repeat in enumerate(repeats))


def test_erratum_18_the_age_of_unmatched_heads_ties_with_position_zero() -> None:
    # The wall that the padding moves reach first: with no-ops only, ⊥ stays the oldest visit in the window.
    net = build_grid(line(WALLS + 1, WALLS, noop=True), LENGTH, "count")
    total = total_of(net)
    printed = counting_mlp(total, inner_neighbour, math.log(2 * total))
    repaired = counting_mlp(total, inner_neighbour, math.log(2 * total) + 1)
    assert error_rate(net, with_state_mlp(net, printed), WORDS) > 0.0
    assert error_rate(net, with_state_mlp(net, repaired), WORDS) == 0.0


def printed_windows(walls, left, right, chosen):
    """Window maxima and boundary bits of one interleaving, as step (b) of variant (i) has them."""
    ages = interleaved_ages(walls, left, right, chosen)
    aged = [a + (99 if walls - s > left or s - walls > right else 0) for s, a in enumerate(ages)]
    tops = [max(aged[s], aged[s + walls]) for s in range(walls + 1)]
    bits = [aged[s] > aged[s + walls] for s in range(walls + 1)]
    return ages, tops, bits


def interleavings(walls):
    for left in range(walls + 1):
        for right in range(walls - left, walls + 1):
            for chosen in itertools.combinations(range(left + right), left):
                yield left, right, chosen


def test_erratum_19_the_inequality_that_picks_the_window_is_always_true() -> None:
    for left, right, chosen in interleavings(WALLS):
        ages, tops, _ = printed_windows(WALLS, left, right, chosen)
        assert all(min(tops) <= top for top in tops)
        picked = [s for s, top in enumerate(tops) if top <= min(tops)]
        assert len(picked) == 1
        assert WALLS - picked[0] == state_from_ages(WALLS, left, right, ages)


def test_erratum_20_one_branch_of_the_final_formula_leaves_the_grid() -> None:
    outside = 0
    for left, right, chosen in interleavings(WALLS):
        ages, tops, bits = printed_windows(WALLS, left, right, chosen)
        s = tops.index(min(tops))
        printed = WALLS - s if bits[s] else 2 * WALLS + 1 - s
        outside += printed > WALLS
        assert WALLS - s == state_from_ages(WALLS, left, right, ages)
    assert outside


def test_erratum_21_features_repeat_and_few_vectors_occur() -> None:
    for walls in (1, 2, 3, 4):
        left = {(s - 1, s + walls) for s in range(1, walls + 1)}
        right = {(s, s + walls + 1) for s in range(walls)}
        assert left == right
        rows, _ = attainable_features(walls, comparisons(walls))
        assert len(rows) <= (walls + 1) ** 3 < 2 ** (4 * walls + 3)


def test_erratum_22_without_padding_moves_the_network_is_wrong() -> None:
    automaton = line(WALLS + 1, 1, noop=True)
    grid = recognise_grid(automaton)
    assert grid is not None
    bare = GridRun(grid, grid_run(automaton, grid, LENGTH).start, (), LENGTH)
    net = build_grid(automaton, LENGTH, "count")
    network = assemble(automaton, bare, PAPER_SHARED, [paper_axis(WALLS, LENGTH, "relu", "count")])
    assert error_rate(net, network, WORDS) > 0.3
    assert len(padding_moves(WALLS, 1)) == WALLS + 1


def test_erratum_23_the_last_distinct_sums_span_s_not_s_plus_one() -> None:
    for word in itertools.product((-1, 1), repeat=8):
        sums = np.cumsum([*padding_moves(WALLS, 0), *word])
        suffixes = [sums[t:] for t in range(len(sums))]
        shortest = (
            max(t for t, suffix in enumerate(suffixes) if len(set(suffix)) >= WALLS + 1)
            if len(set(sums)) > WALLS
            else None
        )
        if shortest is not None:
            assert sums[shortest:].max() - sums[shortest:].min() == WALLS


def test_erratum_24_the_printed_gap_is_larger_than_the_true_one() -> None:
    for total in (4, 20, 100):
        assert 1 - math.cos(math.pi / (2 * total)) < math.pi**2 / (8 * total**2)


def test_erratum_25_heads_that_add_into_one_channel_lose_the_state() -> None:
    walls, states = 2, {}
    for left, right, chosen in interleavings(walls):
        ages = interleaved_ages(walls, left, right, chosen)
        states.setdefault(sum(ages), set()).add(state_from_ages(walls, left, right, ages))
    assert any(len(result) > 1 for result in states.values())
    assert build_grid(line(9), 20, "mod_sum").transformer.dim == 9


def test_erratum_26_soft_attention_without_a_large_scale_selects_nothing(grid) -> None:
    recency = (1 - math.cos(math.pi / (2 * total_of(grid)))) / (2 * math.log(2))
    scale = math.sqrt(2 * total_of(grid) * 8 / recency)

    def unscaled(layer, _number, head):
        return head if layer == 0 else replace(head, query=head.query / scale, key=head.key / scale)

    assert error_rate(grid, with_heads(grid.transformer, unscaled), WORDS) > 0.2


def test_erratum_27_a_circle_and_a_maximum_take_two_units_each() -> None:
    assert circular_mlp(10, 4, "sin").hidden_widths == (2,)
    net = MlpBuilder(2)
    a, b = age_signals(net, 10)
    assert net.build({0: net.total([a, net.positive(minus(net, b, a))])}, 1).hidden_widths == (2,)
    # Constant depth is O(1) with pooling, not O(S): the same number of layers for every S.
    assert len({len(state_mlp(s, 20, "max_pool").hidden_widths) for s in (1, 3, 6)}) == 1
