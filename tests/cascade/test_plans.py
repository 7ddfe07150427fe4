"""Plans: every node simulates its automaton, the search never deepens, every check refuses broken nodes."""

import random

import numpy as np
import pytest

from cascade.all_updates import transitions
from cascade.faults import fault_of
from cascade.random_automata import GOLDEN, golden, random_automaton, states_along
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.base.portable import UNITS, Budget
from krohn.cascade.holonomy import Cascade
from krohn.cascade.holonomy import holonomy_cascade as holonomy
from krohn.cascade.merging import merge_classes, mergeable
from krohn.cascade.plan import ClampedCounterPlan, HolonomyPlan, Plan
from krohn.cascade.plan_nodes import (
    ErrorBitPlan,
    ParallelPlan,
    ReachablePlan,
    SerialPlan,
)
from krohn.cascade.plan_search import PASSES, PlanSearch
from krohn.cascade.stack import StackPlan
from krohn.construct.decomposing import Decomposition, decompose
from krohn.errors import InvalidInput

# Sections 4 and 6 of the construction record: letters, levels of plain holonomy, layers known to be enough.
DEEP = {
    "seven levels": ([(3, 0, 3, 2), (3, 1, 3, 2), (0, 1, 3, 3)], 7, 3),
    "ten levels": ([(0, 3, 2, 3, 1), (3, 1, 0, 4, 4), (1, 2, 4, 2, 2)], 10, 6),
    "fourteen levels": ([(5, 5, 3, 1, 4, 0), (3, 5, 4, 2, 0, 2)], 14, 9),
}


def assert_simulates(plan: Plan, seed: int = 0, starts: tuple[int | None, ...] = (None,)) -> None:
    automaton = plan.automaton
    words = np.random.default_rng(seed).integers(0, automaton.num_letters, (6, 40))
    for start in starts:
        expected = [automaton.run(word.tolist(), start) for word in words]
        assert plan.simulate(words, start).tolist() == expected


def assert_coordinates_follow(result: Decomposition) -> None:
    """Every state has coordinates, and stepping them by any letter gives those of the next state."""
    table = result.automaton.table
    for state in range(result.automaton.num_states):
        try:
            coordinates = result.coordinates(state)
        except InvalidInput:
            assert any(isinstance(node, ReachablePlan) for _, node in result.plan.walk())
            continue
        assert len(coordinates) == result.plan.num_coordinates
        assert result.state(coordinates) == state
        for letter in range(result.automaton.num_letters):
            assert result.state(result.step(coordinates, letter)) == table[state, letter]


@every("spec", ["Dyck3,2", "Grid9", "Grid3x4", "C2xC3", "S4", "abab", "T3", "Memory3", "D8"])
@every("plain", [True, False])
def test_coordinates_step_as_the_automaton_does_for_plain_and_shortened_results(
    spec: str, plain: bool
) -> None:
    result = decompose(parse_spec(spec), plain=plain)
    assert_coordinates_follow(result)
    coordinates, word = result.initial, [0, 1, 1, 0, 1] * 4
    states = []
    for letter in word:
        coordinates = result.step(coordinates, letter)
        states.append(result.state(coordinates))
    assert states == result.automaton.run(word)


@every("seed", range(20))
def test_random_automata_get_plans_that_simulate_them_and_are_never_deeper(seed: int) -> None:
    automaton = random_automaton(seed)
    result = decompose(automaton, effort=0.1)
    plain = holonomy(automaton)
    assert result.covering_checked
    assert result.levels <= plain.num_levels
    assert_simulates(result.plan, seed)
    assert_coordinates_follow(result)


@every("name", GOLDEN)
def test_plain_equals_sgpdec_in_levels_tiles_and_groups(name: str) -> None:
    result = decompose(golden(name), plain=True)
    case = GOLDEN[name]
    outcome = [
        sorted((part.tiles, part.group_order) for part in result.components if part.level == level)
        for level in range(result.levels)
    ]
    pairs = zip(case["tiles_by_level"], case["group_orders_by_level"], strict=True)
    assert outcome == [sorted(zip(tiles, orders, strict=True)) for tiles, orders in pairs]
    assert result.is_solvable == case["solvable"]


@pytest.mark.parametrize("name", DEEP)
def test_deep_cascades_are_shortened_as_far_as_is_known(name: str) -> None:
    letters, plain_levels, layers = DEEP[name]
    result = decompose(Semiautomaton.from_letters(letters))
    assert result.cascade is not None
    assert result.cascade.num_levels == plain_levels
    assert result.levels <= 4
    assert result.plan.layers <= layers
    assert_simulates(result.plan)


@pytest.mark.parametrize(
    ("spec", "levels", "layers"),
    [("Grid9", 1, 2), ("Grid3x4", 1, 2), ("abab", 2, 2), ("Dyck2,2", 3, 3), ("S4", 1, 3), ("FlipFlop", 1, 1)],
)
def test_known_automata_reach_their_known_depth(spec: str, levels: int, layers: int) -> None:
    result = decompose(parse_spec(spec))
    assert (result.levels, result.layers) == (levels, layers)
    assert_simulates(result.plan, starts=tuple(range(result.automaton.num_states)))


def test_a_stack_becomes_a_counter_then_its_places_side_by_side_then_an_error_bit() -> None:
    plan = decompose(parse_spec("Dyck3,2")).plan
    assert isinstance(plan, StackPlan)
    assert [part.kind for part in plan.components] == ["stack height", *["stack place"] * 3, "error bit"]
    assert (plan.levels, plan.layers) == (3, 3)
    assert_simulates(plan, starts=tuple(range(plan.automaton.num_states)))


def test_explain_reports_every_pass_and_adds_up() -> None:
    result = decompose(Semiautomaton.from_letters(DEEP["seven levels"][0]), explain=True)
    assert [report.name for report in result.passes] == list(PASSES)
    assert sum(report.levels_saved for report in result.passes) == 7 - result.levels
    assert all(report.levels_saved >= 0 for report in result.passes)
    assert result.passes[0].levels_saved > 0


def test_the_search_gives_the_same_plan_twice() -> None:
    automaton = golden("rand11_s2")
    first, second = (decompose(automaton).as_dict() for _ in range(2))
    assert first == second


def test_a_family_past_the_limit_can_still_be_planned_by_its_structure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("krohn.construct.request.MAX_SETS", 50)
    monkeypatch.setattr("krohn.construct.decomposing.DEFAULT_MAX_SETS", 50)
    result = decompose(parse_spec("Grid7x7"))
    assert result.cascade is None
    assert result.levels == 1
    assert_simulates(result.plan)


@every("seed", range(30))
def test_the_cascade_runs_in_bulk_as_it_runs_letter_by_letter(seed: int) -> None:
    automaton = random_automaton(seed)
    cascade = holonomy(automaton)
    words = np.random.default_rng(seed).integers(0, automaton.num_letters, (4, 30))
    bulk = HolonomyPlan(automaton, cascade).simulate(words)
    assert bulk.tolist() == [states_along(cascade, word.tolist()) for word in words]


@every("seed", range(40))
def test_merged_classes_still_cover(seed: int) -> None:
    automaton = random_automaton(seed, smallest=4, largest=7)
    cascade = holonomy(automaton)
    frame = cascade.skeleton
    for upper, lower in mergeable(frame):
        groups = [[part.number] for part in frame.classes if part.number not in (upper, lower)]
        smaller = merge_classes(frame, [*groups, [upper, lower]])
        if smaller is not None:
            assert_simulates(HolonomyPlan(automaton, Cascade(smaller)), seed)


def test_classes_with_different_numbers_of_tiles_cannot_be_merged() -> None:
    frame = holonomy(golden("T4")).skeleton
    assert mergeable(frame) == []
    assert merge_classes(frame, [[0, 1], [2]]) is None


def find(plan: Plan, kind: type[Plan]) -> Plan:
    return next(node for _, node in plan.walk() if isinstance(node, kind))


def test_a_broken_parallel_split_is_named() -> None:
    node = find(decompose(parse_spec("Grid3x4")).plan, ParallelPlan)
    assert isinstance(node, ParallelPlan)
    parts = [part.automaton for part in node.parts]
    twisted = (node.maps[0][1:] + node.maps[0][:1], node.maps[1])
    assert "the parts go elsewhere" in fault_of(ParallelPlan, node.automaton, maps=twisted, parts=parts)
    same = fault_of(ParallelPlan, node.automaton, maps=(node.maps[0],) * 2, parts=(parts[0],) * 2)
    assert "do not tell them apart" in same
    with pytest.raises(AssertionError, match="the parts go elsewhere"):
        ParallelPlan(node.automaton, twisted, node.parts)


def test_a_broken_serial_split_is_named() -> None:
    node = find(decompose(parse_spec("Add")).plan, SerialPlan)
    assert isinstance(node, SerialPlan)
    quotient, fiber = node.quotient.automaton, node.fiber.automaton
    automaton = node.automaton

    def fault(labels: tuple[int, ...], drive: tuple[tuple[int, ...], ...]) -> str:
        return fault_of(
            SerialPlan,
            automaton,
            blocks=node.blocks,
            labels=labels,
            drive=drive,
            quotient=quotient,
            fiber=fiber,
        )

    assert fault(node.labels, node.drive) == ""
    assert "two states have one row" in fault((0,) * automaton.num_states, node.drive)
    for row, entries in enumerate(node.drive):
        for letter in range(len(entries)):
            for other in range(fiber.num_letters):
                changed = (*entries[:letter], other, *entries[letter + 1 :])
                result = fault(node.labels, (*node.drive[:row], changed, *node.drive[row + 1 :]))
                # With two places in every block a driven letter is right exactly if it acts the same.
                same = fiber.letters[other] == fiber.letters[entries[letter]]
                assert (result == "") == same
                assert same or "the parts go elsewhere" in result


def test_a_broken_error_bit_is_named() -> None:
    node = find(decompose(parse_spec("abab")).plan, ErrorBitPlan)
    assert isinstance(node, ErrorBitPlan)
    inner = node.inner.automaton
    other = Semiautomaton(inner.table[:, ::-1].copy() * 0)
    assert "go elsewhere" in fault_of(
        ErrorBitPlan, node.automaton, sink=node.sink, states=node.states, inner=other
    )
    assert (node.sink, node.states) == (4, (0, 1, 2, 3))
    assert "not fixed" in fault_of(ErrorBitPlan, node.automaton, sink=0, states=(4, 1, 2, 3), inner=inner)
    assert "all states but" in fault_of(
        ErrorBitPlan, node.automaton, sink=node.sink, states=node.states[1:], inner=inner
    )


def test_a_broken_clamped_counter_is_named() -> None:
    automaton = parse_spec("Grid5")
    good = decompose(automaton).plan
    assert isinstance(good, ClampedCounterPlan)
    assert "not the clamped step" in fault_of(ClampedCounterPlan, automaton, line=good.line, steps=(0, 0))
    assert "every state once" in fault_of(ClampedCounterPlan, automaton, line=(0,) * 5, steps=good.steps)


def test_clamped_counters_of_any_step_and_naming_are_found() -> None:
    rng = random.Random(4)
    for size in range(3, 9):
        order = rng.sample(range(size), size)
        steps = [-1, 1, rng.randint(2, size), 0, -2]
        letters = []
        for step in steps:
            letter = [0] * size
            for place in range(size):
                letter[order[place]] = order[min(max(place + step, 0), size - 1)]
            letters.append(letter)
        plan = decompose(Semiautomaton.from_letters(letters)).plan
        assert plan.levels == 1
        assert_simulates(plan)


def test_a_broken_restriction_is_named() -> None:
    automaton = Semiautomaton.from_letters([(1, 0, 0)], start=0)
    inner = Semiautomaton.from_letters([(1, 0)])
    assert fault_of(ReachablePlan, automaton, states=(0, 1), inner=inner) == ""
    assert "start state" in fault_of(ReachablePlan, automaton, states=(1, 2), inner=inner)
    assert "go elsewhere" in fault_of(ReachablePlan, automaton, states=(0, 2), inner=inner)
    assert "distinct" in fault_of(ReachablePlan, automaton, states=(0, 0), inner=inner)


def test_a_cascade_with_another_start_is_named() -> None:
    letters = golden("T3").letters
    fault = fault_of(
        HolonomyPlan, Semiautomaton.from_letters(letters, start=1), cascade=holonomy(golden("T3"))
    )
    assert fault == "the cascade starts at 0, the automaton at 1"


def test_equal_bytes_of_different_tables_are_not_confused() -> None:
    """Two states by three letters and three states by two letters can have the same bytes."""
    search = PlanSearch(frozenset(PASSES), Budget(UNITS), 1000)
    for shape in ((2, 3), (3, 2)):
        automaton = Semiautomaton(np.array([0, 1, 1, 0, 1, 0]).reshape(shape))
        plan = search.best(automaton)
        assert plan is not None
        assert_simulates(plan)


def test_a_cascade_of_another_automaton_is_named() -> None:
    assert "another automaton" in fault_of(HolonomyPlan, golden("T3"), cascade=holonomy(golden("flipflop")))


def test_a_level_that_is_never_read_can_be_run_in_bulk() -> None:
    letters = [(4, 4, 2, 2, 0, 3, 4), (5, 0, 6, 3, 6, 4, 6), (2, 5, 2, 4, 3, 4, 4)]
    result = decompose(Semiautomaton.from_letters(letters, start=2), plain=True)
    assert result.cascade is not None
    assert any(not table for table in transitions(result.cascade))
    assert_simulates(result.plan, starts=(None, *range(7)))
