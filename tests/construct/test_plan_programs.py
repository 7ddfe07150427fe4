"""Programs of plans: every way to run a cascade, every kind of node, against the automaton."""

from itertools import product

import numpy as np
import pytest

import krohn
from construct.small_automata import assert_simulates, called, hard_words, random_automaton
from every import every
from krohn.algebra.counters import counter_tower
from krohn.algebra.transformation import compose, identity
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import UNITS, Budget
from krohn.cascade.holonomy import holonomy_cascade
from krohn.cascade.known_shapes import recognise_stack
from krohn.cascade.plan import ClampedCounterPlan, HolonomyPlan
from krohn.cascade.plan_search import cascade_plans
from krohn.cascade.stack import POP
from krohn.construct.cascade_source import depth_with_lags
from krohn.construct.request import MAX_SETS
from krohn.construct.tight.draft import ProgramDraft
from krohn.construct.tight.finite import Finite, joined
from krohn.construct.tight.leaf_programs import padding_steps
from krohn.construct.tight.plan_programs import plan_program
from krohn.construct.tight.small_scan import fewest_points, scan_program
from krohn.errors import InvalidInput, Unsupported
from krohn.functions import simulate
from krohn.network.compiled import CompiledNetwork
from krohn.network.lowering.assembly import lower
from krohn.network.operations import Table
from krohn.network.program import Program, Register, interpret


def network_of(automaton: Semiautomaton, program: Program, length: int) -> CompiledNetwork:
    return CompiledNetwork(*_order(lower(program, length), automaton, program))


def _order(lowered, automaton, program):  # type: ignore[no-untyped-def]
    network, layout = lowered
    return network, automaton, "cascade", program, layout


@every("lagged", [False, True])
@every("name", ["Grid9", "Dyck4,2", "T3", "abab", "PermReset3", "regex:(a|b)*abb"])
def test_plain_holonomy_runs_in_every_way(name: str, lagged: bool) -> None:
    automaton = krohn.parse_spec(name)
    plan = HolonomyPlan(automaton, holonomy_cascade(automaton))
    program = plan_program(plan, lagged=lagged)
    assert_simulates(network_of(automaton, program, 32), count=4)


@every("seed", range(20))
def test_random_cascades_run_in_every_way_unreachable_states_included(seed: int) -> None:
    automaton = random_automaton(500 + seed)
    cascade = holonomy_cascade(automaton)
    if not cascade.is_solvable:
        with pytest.raises(Unsupported, match="is not solvable"):
            plan_program(HolonomyPlan(automaton, cascade))
        return
    words = hard_words(automaton, 40, 20)
    expected = simulate(automaton, words)
    for lagged in (False, True):
        program = plan_program(HolonomyPlan(automaton, cascade), lagged=lagged)
        assert (interpret(program, words) == expected).all()


def test_lags_save_a_look_back_per_level() -> None:
    automaton = krohn.zoo("Grid9")
    plan = HolonomyPlan(automaton, holonomy_cascade(automaton))
    depths = [plan_program(plan, lagged=lagged).depth for lagged in (False, True)]
    assert depths == [15, 9]


@pytest.mark.parametrize("places", [3, 4, 7])
def test_a_clamped_counter_is_right_from_every_start_on_every_short_word(places: int) -> None:
    right = [min(q + 1, places - 1) for q in range(places)]
    left = [max(q - 1, 0) for q in range(places)]
    words = np.array(list(product(range(3), repeat=7)))
    for start in range(places):
        automaton = Semiautomaton.from_letters([right, left, range(places)], start=start)
        plan = ClampedCounterPlan(automaton, tuple(range(places)), (1, -1, 0))
        program = plan_program(plan)
        assert program.depth == 2
        assert (interpret(program, words) == simulate(automaton, words)).all()


@every(("places", "start"), [(p, s) for p in (2, 3, 6) for s in range(p)])
def test_padding_steps_visit_every_class_and_end_at_the_start(places: int, start: int) -> None:
    place, height, seen = None, 0, set()
    for step in padding_steps(places, start):
        height += step
        seen.add(height % places)
        if place is None and abs(height) == places - 1:
            place = 0 if height < 0 else places - 1
        elif place is not None:
            place = min(max(place + step, 0), places - 1)
    assert (place, seen) == (start, set(range(places)))


def test_stacks_are_recognised_under_any_numbering_and_nothing_else_is() -> None:
    dyck = krohn.zoo("Dyck3,2")
    stack = recognise_stack(dyck)
    assert stack is not None
    assert (stack.height, stack.num_symbols) == (3, 2)
    order = np.random.default_rng(0).permutation(dyck.num_states)
    table = np.empty_like(dyck.table)
    table[order] = order[dyck.table]
    shuffled = Semiautomaton(table, start=int(order[dyck.start]))
    result = recognise_stack(shuffled)
    assert result is not None
    assert result.sink == order[stack.sink]
    broken = table.copy()
    pop = next(a for a, (act, _) in enumerate(stack.acts) if act == POP)
    broken[order[dyck.start], pop] = order[dyck.start]
    for other in (
        Semiautomaton(broken, start=shuffled.start),
        krohn.zoo("Grid4"),
        krohn.zoo("S4"),
        krohn.zoo("abab"),
    ):
        assert recognise_stack(other) is None


@pytest.mark.parametrize(
    "spec", ["regex:[0-9][0-9]-(0[1-9]|1[0-2])", "regex:(ab|c){2}-(a{1,3}|b[abc]{2}){1,2}"]
)
def test_parts_held_in_registers_keep_what_only_padding_shows(spec: str) -> None:
    """More than 512 combinations of parts, one of them with values of its own at padding positions."""
    automaton = krohn.parse_spec(spec)
    words = hard_words(automaton, 12, 10)
    for effort in (0.01, 0.05):
        network = krohn.compile(automaton, 12, effort=effort, unproved=True)  # type: ignore[arg-type]
        assert (network.run(words) == simulate(automaton, words)).all()


def _padded(value: str, values: range, extra: int) -> Finite:
    return Finite((value,), {(x,): x for x in values}, {(extra,): extra})


@pytest.mark.parametrize("size", [3, 40])
def test_joined_parts_list_every_combination_that_padding_can_show(size: int) -> None:
    """The same rows whether parts are few enough to be joined as they are or are held in registers."""
    draft = ProgramDraft(1)
    for name in ("x", "y"):
        draft.source(called(f"{name} token"), [0], 0)
        draft.time[name] = 0
        draft.registers[name] = Register(name, 0, size)
    parts = [_padded("x", range(size), size), Finite(("y",), {(v,): v for v in range(size)})]
    whole = joined(draft, parts, [called("first"), called("second")], {(v, v): v for v in range(size)})
    assert set(whole.rows) == {(v, v) for v in range(size)}
    assert set(whole.all_rows) == set(product(range(size + 1), range(size)))


@pytest.mark.parametrize("name", ["S3", "D8", "Q8", "A4", "S4", "C2xC2xC2", "C6"])
def test_counters_multiply_as_the_group_does(name: str) -> None:
    letters = krohn.zoo(name).letters
    tower = counter_tower(letters, len(letters[0]))
    rng = np.random.default_rng(0)
    product_so_far = identity(tower.degree)
    counters: list[tuple[int, ...]] = [tuple(0 for _ in s.moduli) for s in tower.sections]
    for letter in rng.integers(0, len(letters), 60):
        element = letters[letter]
        product_so_far = compose(product_so_far, element)
        for index, section in enumerate(tower.sections):
            counters[index], element = section.next_letter(counters[index], element)
        assert element == identity(tower.degree)
        assert tower.element(tuple(x for part in counters for x in part)) == product_so_far


@pytest.mark.parametrize(("name", "points"), [("S4", 4), ("A5", 5), ("D8", 4), ("S3", 3)])
def test_a_group_is_scanned_on_few_points(name: str, points: int) -> None:
    result = fewest_points(krohn.zoo(name))
    assert result is not None
    assert len(result.letters[0]) == points


@pytest.mark.parametrize("name", ["FlipFlop", "Grid4", "PermReset3"])
def test_an_automaton_that_needs_all_its_states_is_scanned_on_them(name: str) -> None:
    automaton = krohn.zoo(name)
    assert fewest_points(automaton) is None
    program = scan_program(automaton, 20)
    assert_simulates(network_of(automaton, program, 20), count=4)


def test_a_form_with_lags_is_not_shallower_than_thought() -> None:
    """What is not written since it must be too deep is too deep; half of the estimates are exact."""
    exact = several = 0
    machines = [krohn.zoo(name) for name in ("Grid9", "T3", "PermReset3", "Add", "Memory3")]
    machines += [krohn.from_regex(text) for text in ("(a|b)*abb", "a(b|c)+d{2,3}", "[0-9]+(-[0-9]{2})?")]
    machines += [random_automaton(seed) for seed in range(8)]
    for machine in machines:
        for plan in cascade_plans(machine, Budget(UNITS), MAX_SETS):
            if plan.is_solvable:
                lagged, least = plan_program(plan, lagged=True).depth, depth_with_lags(plan_program(plan))
                assert least <= lagged, (machine.name, least, lagged)
                several += 1
                exact += least == lagged
    assert 2 * exact > several > 20


def test_a_table_for_other_registers_is_checked_by_its_rows_alone() -> None:
    table = Table(("a", "b"), ("c",), (((0, 0), (1,)), ((0, 1), (2,))))
    other = table.between(("x", "y"), ("z",))
    values = {"x": np.array([[0, 0]]), "y": np.array([[1, 0]])}
    assert other.apply(values)["z"].tolist() == [[2, 1]]
    assert (table.inputs, other.rows) == (("a", "b"), table.rows)
    with pytest.raises(AssertionError):
        table.between(("x",), ("z",))
    for rows in ((((0,), (1,)),), (((0, 0), (1, 1)),), (((0, 0), (1,)), ((0, 0), (2,)))):
        with pytest.raises(InvalidInput, match="row"):
            Table(("a", "b"), ("c",), rows)
