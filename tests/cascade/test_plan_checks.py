"""The checks of plan nodes against words: accepted nodes simulate the automaton, refused ones do not."""

from collections.abc import Iterator
from itertools import combinations, product
from random import Random
from types import SimpleNamespace
from typing import Any

from cascade.faults import fault_of
from cascade.random_automata import golden, random_automaton
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.base.portable import UNITS, Budget, unlimited
from krohn.cascade.congruences import closure_cost, pairs_of, principal_congruences
from krohn.cascade.plan import ClampedCounterPlan, HolonomyPlan, Plan
from krohn.cascade.plan_nodes import ErrorBitPlan, ParallelPlan, ReachablePlan, SerialPlan
from krohn.cascade.plan_search import (
    CLAMPED,
    ERROR_BIT,
    MERGE,
    PARALLEL,
    PASSES,
    REACHABLE,
    SERIAL,
    STACK,
    PlanSearch,
    cascade_plans,
    plain_cascade,
    trivial_meets,
)
from krohn.cascade.stack import StackPlan

SEEDS = range(40)


def table(rng: Random, states: int, letters: int) -> Semiautomaton:
    maps = [[rng.randrange(states) for _ in range(states)] for _ in range(letters)]
    return Semiautomaton.from_letters(maps, start=rng.randrange(states))


def words(letters: int, longest: int = 4) -> Iterator[tuple[int, ...]]:
    for length in range(1, longest + 1):
        yield from product(range(letters), repeat=length)


def follow(automaton: Semiautomaton, start: int) -> list[int]:
    """The states after all short words."""
    return [automaton.run(word, start)[-1] for word in words(automaton.num_letters)]


@every("seed", SEEDS)
def test_parts_side_by_side_must_tell_every_two_states_apart(seed: int) -> None:
    rng = Random(seed)
    parts = [table(rng, 2, 2), table(rng, 3, 2)]
    pairs = list(product(range(2), range(3)))
    letters = [[pairs.index((parts[0].step(a, x), parts[1].step(b, x))) for a, b in pairs] for x in range(2)]
    whole = Semiautomaton.from_letters(letters)
    maps = [[a for a, _ in pairs], [b for _, b in pairs]]
    assert fault_of(ParallelPlan, whole, maps=maps, parts=parts) == ""
    assert "two states have one row" in fault_of(ParallelPlan, whole, maps=maps[:1], parts=parts[:1])
    broken = [maps[0][::-1], maps[1]]
    carried = all(
        [broken[0][p] for p in follow(whole, q)] == follow(parts[0], broken[0][q]) for q in range(6)
    )
    assert (fault_of(ParallelPlan, whole, maps=broken, parts=parts) == "") == carried


@every("seed", SEEDS)
def test_a_line_is_right_exactly_if_every_letter_is_its_clamped_step(seed: int) -> None:
    rng = Random(seed)
    size = rng.randint(2, 4)
    line, steps = rng.sample(range(size), size), [rng.randint(-2, 2) for _ in range(2)]
    letters = [[line.index(min(max(line[q] + step, 0), size - 1)) for q in range(size)] for step in steps]
    automaton = Semiautomaton.from_letters(letters)
    assert fault_of(ClampedCounterPlan, automaton, line=line, steps=steps) == ""
    for tried in product(range(-2, 3), repeat=2):
        right = all(
            line[automaton.step(q, x)] == sorted((0, line[q] + tried[x], size - 1))[1]
            for q in range(size)
            for x in range(2)
        )
        assert (fault_of(ClampedCounterPlan, automaton, line=line, steps=tried) == "") == right


def nodes_of(spec: str, kind: type[Plan]) -> list[Any]:
    plan = PlanSearch(frozenset(PASSES), Budget(UNITS), 10_000).best(parse_spec(spec))
    assert plan is not None
    return [node for _, node in plan.walk() if isinstance(node, kind)]


def some_serial() -> list[SerialPlan]:
    return [*nodes_of("Add", SerialPlan), *nodes_of("regex:((aa)*b)*", SerialPlan)]


def serial_states(node: Any, automaton: Semiautomaton) -> bool:
    """Whether quotient and fibre, run side by side on all short words, name the state of the automaton."""
    for start in range(automaton.num_states):
        for word in words(automaton.num_letters, 3):
            block, place, state = node.blocks[start], node.labels[start], start
            for letter in word:
                place = node.fiber.automaton.step(place, node.drive[block][letter])
                block = node.quotient.automaton.step(block, letter)
                state = automaton.step(state, letter)
            if (block, place) != (node.blocks[state], node.labels[state]):
                return False
    return True


def test_a_serial_split_is_accepted_exactly_if_its_parts_follow_the_automaton() -> None:
    for node in some_serial():
        rng, parts = Random(3), (node.quotient.automaton, node.fiber.automaton)
        assert serial_states(node, node.automaton)
        verdicts = set()
        for number in range(80):
            fields = {name: list(getattr(node, name)) for name in ("blocks", "labels")}
            fields["drive"] = [list(row) for row in node.drive]
            if number % 2:
                row = rng.choice(fields["drive"])
                row[rng.randrange(len(row))] = rng.randrange(parts[1].num_letters)
            else:  # another block or another place for one state
                name, part = rng.choice([("blocks", parts[0]), ("labels", parts[1])])
                fields[name][rng.randrange(len(fields[name]))] = rng.randrange(part.num_states)
            changed = SimpleNamespace(
                automaton=node.automaton, quotient=node.quotient, fiber=node.fiber, **fields
            )
            apart = len({*zip(fields["blocks"], fields["labels"], strict=True)}) == node.automaton.num_states
            fault = fault_of(SerialPlan, node.automaton, quotient=node.quotient, fiber=node.fiber, **fields)
            assert (fault == "") == (apart and serial_states(changed, node.automaton))
            verdicts.add(fault == "")
        assert verdicts == {True, False}


def test_an_error_bit_is_accepted_exactly_if_the_inside_is_right_until_the_first_error() -> None:
    (node, *_) = nodes_of("abab", ErrorBitPlan)
    automaton, states, sink = node.automaton, node.states, node.sink
    rng, verdicts = Random(5), set()
    for _ in range(40):
        letters = [list(letter) for letter in node.inner.automaton.letters]
        rng.choice(letters)[rng.randrange(len(states))] = rng.randrange(len(states))
        inner = Semiautomaton.from_letters(letters, start=node.inner.automaton.start)
        right = all(
            states[inner.step(place, letter)] == automaton.step(state, letter)
            for place, state in enumerate(states)
            for letter in range(automaton.num_letters)
            if automaton.step(state, letter) != sink
        )
        verdicts.add(right)
        assert (fault_of(ErrorBitPlan, automaton, sink=sink, states=states, inner=inner) == "") == right
    assert verdicts == {True, False}


@every("seed", SEEDS)
def test_a_part_is_accepted_exactly_if_it_is_closed_and_holds_the_start(seed: int) -> None:
    rng = Random(seed)
    automaton = table(rng, 4, 2)
    for size in range(1, 5):
        for states in combinations(range(4), size):
            closed = all(automaton.step(q, x) in states for q in states for x in range(2))
            if closed and automaton.start in states:
                place = [[states.index(letter[q]) for q in states] for letter in automaton.letters]
                part = Semiautomaton.from_letters(place, start=states.index(automaton.start))
                assert fault_of(ReachablePlan, automaton, states=states, inner=part) == ""
            else:
                inner = table(rng, size, 2)
                assert fault_of(ReachablePlan, automaton, states=states, inner=inner) != ""


KINDS: dict[type[Plan], str] = {
    ReachablePlan: REACHABLE,
    ParallelPlan: PARALLEL,
    SerialPlan: SERIAL,
    ErrorBitPlan: ERROR_BIT,
    ClampedCounterPlan: CLAMPED,
    StackPlan: STACK,
}


@every("missing", PASSES)
def test_a_pass_that_is_switched_off_leaves_no_trace(missing: str) -> None:
    automata = [parse_spec(spec) for spec in ("Grid3x4", "Add", "Dyck3,2", "abab")]
    automata += [random_automaton(seed, smallest=4, largest=6) for seed in range(6)]
    for automaton in automata:
        plan = PlanSearch(frozenset(PASSES) - {missing}, Budget(UNITS / 10), 2_000).best(automaton)
        assert plan is not None
        for _, node in plan.walk():
            assert KINDS.get(type(node)) != missing
            if isinstance(node, HolonomyPlan):
                assert missing != MERGE or "merged" not in node.title
        assert follow_plan(plan) == follow(automaton, automaton.start)


def follow_plan(plan: Plan) -> list[int]:
    result = []
    for word in words(plan.automaton.num_letters):
        coordinates = plan.coordinates(plan.automaton.start)
        for letter in word:
            coordinates = plan.step(coordinates, letter)
        result.append(plan.state(coordinates))
    return result


@every("seed", range(12))
def test_searches_yield_different_plans_none_deeper_than_holonomy(seed: int) -> None:
    automaton = random_automaton(seed, smallest=4, largest=7)
    budget = Budget(UNITS / 10)
    plain = plain_cascade(automaton, budget, 10_000)
    assert plain is not None
    plans = list(cascade_plans(automaton, budget, 10_000, plain))
    shapes = [tuple(f"{i} {node.title} {node.measure}" for i, node in plan.walk()) for plan in plans]
    assert len(set(shapes)) == len(shapes) >= 1
    assert all(plan.levels <= plain.num_levels for plan in plans)
    assert budget.done <= budget.units


def test_little_work_gives_a_plan_or_none_and_says_what_was_left_out() -> None:
    automaton = golden("rand8_s1")
    searches = {
        units: PlanSearch(frozenset(PASSES), Budget(units), 10_000) for units in (100, 3_000, 10 * UNITS)
    }
    plans = {units: search.best(automaton) for units, search in searches.items()}
    assert plans[100] is None
    best = plans[10 * UNITS]
    assert best is not None
    assert all(searches[units].budget.given_up for units in (100, 3_000))
    middle = plans[3_000]
    assert middle is None or best.measure <= middle.measure
    short = Budget(30)
    assert plain_cascade(automaton, short, 10_000) is None
    assert short.given_up == ["plain holonomy"]
    enough = Budget(UNITS)
    assert plain_cascade(automaton, enough, 5) is None
    assert enough.given_up == []  # a limit that the user set, not work that was missing


@every("seed", SEEDS)
def test_meets_are_trivial_exactly_where_no_two_states_stay_together(seed: int) -> None:
    rng = Random(seed)
    partitions = sorted({tuple(rng.randrange(3) for _ in range(4)) for _ in range(6)})
    actual = trivial_meets(partitions)
    expected = {
        frozenset(pair)
        for pair in combinations(partitions, 2)
        if not any(all(part[p] == part[q] for part in pair) for p, q in combinations(range(4), 2))
    }
    assert {frozenset(pair) for pair in actual} == expected
    sizes = [max(map(max, pair)) for pair in actual]
    assert sizes == sorted(sizes)


@every("size", [2, 5, 12, 40])
@every("limit", [1, 7, 60, 2_000])
def test_a_sample_of_pairs_is_of_pairs_and_all_of_them_where_there_is_room(size: int, limit: int) -> None:
    rng = Random(size)
    letters = [tuple(rng.randrange(size) for _ in range(size)) for _ in range(2)]
    every = list(combinations(range(size), 2))
    result = list(pairs_of(letters, limit))
    if limit >= len(every):
        assert result == every
        return
    even = every[:: -(-2 * len(every) // limit)]
    near = result[: -len(even)]
    assert result[-len(even) :] == even
    assert len(set(near)) == len(near) <= max(1, limit // 2)
    assert set(near) <= {(min(q, x), max(q, x)) for letter in letters for q, x in enumerate(letter)}


def test_congruences_take_at_most_a_fifth_of_the_work_that_is_left() -> None:
    letters = ((*range(1, 30), 0), (1, 0, *range(2, 30)))
    cost = closure_cost(letters)
    budget = Budget(100 * cost)
    principal_congruences(letters, 800, budget)
    assert 15 * cost <= budget.done <= 21 * cost
    path = principal_congruences(((0, 0, 1, 2),), 800, unlimited())  # 3 → 2 → 1 → 0: only its ends collapse
    assert list(path) == [(0, 0, 0, 1), (0, 0, 1, 2)]
