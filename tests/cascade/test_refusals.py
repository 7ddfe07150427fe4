"""Cascades refuse letters, states, coordinates and efforts that do not exist, whatever plan was found."""

from collections.abc import Callable
from math import nan

import pytest

from cascade.random_automata import cerny, golden
from cascade.test_plan_checks import nodes_of
from cascade.test_stacks import stack
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.base.portable import UNITS, Budget
from krohn.cascade.holonomy import holonomy_cascade
from krohn.cascade.image_sets import image_sets
from krohn.cascade.known_shapes import recognise_stack
from krohn.cascade.plan_nodes import ParallelPlan, ReachablePlan
from krohn.cascade.plan_search import REACHABLE, PlanSearch
from krohn.cascade.skeleton import skeleton
from krohn.cascade.stack import StackPlan
from krohn.construct.decomposing import Decomposition, decompose
from krohn.errors import InvalidInput, KrohnError, LimitExceeded

NO_LETTERS = (-1, 90, 0.5, 1.0, None, "zebra", "")
NAMED = {
    "every letter must be one of ": [lambda d, x=x: d.step(d.initial, x) for x in NO_LETTERS],
    r"letters must lie in \[0, ": [
        lambda d: d.simulate([[d.automaton.num_letters]]),
        lambda d: d.simulate([[-1]]),
        lambda d: d.simulate([[0, d.automaton.num_letters + 90]]),
    ],
    r"the start state must lie in \[0, ": [
        lambda d: d.simulate([[0]], start=-1),
        lambda d: d.simulate([[0]], start=d.automaton.num_states),
    ],
    "words must": [lambda d: d.simulate([[0.5]]), lambda d: d.simulate([[0], [0, 1]])],
    "a state must": [lambda d: d.coordinates(-1), lambda d: d.coordinates(d.automaton.num_states)],
    "coordinate": [lambda d: d.state(()), lambda d: d.state((*d.initial, 0))],
}


@pytest.mark.parametrize("spec", ["C3", "Grid9", "S4", "abab", "Dyck3,2", "Add", "Grid3x4", "C2xC3"])
@pytest.mark.parametrize(("says", "calls"), NAMED.items())
def test_every_kind_of_plan_refuses_what_does_not_exist(
    spec: str, says: str, calls: list[Callable[[Decomposition], object]]
) -> None:
    """Wherever the plan would look, a foreign letter must not be taken for another one."""
    result = decompose(parse_spec(spec))
    for call in calls:
        with pytest.raises(InvalidInput, match=says):
            call(result)


def stack_plan() -> StackPlan:
    automaton = stack(2, 2)
    found = recognise_stack(automaton)
    assert found is not None
    return StackPlan(automaton, found)


def reachable_plan() -> ReachablePlan:
    automaton = Semiautomaton.from_letters([(1, 0, 0, 2)], start=0)
    plan = PlanSearch(frozenset({REACHABLE}), Budget(UNITS), 100).best(automaton)
    assert isinstance(plan, ReachablePlan)
    assert "reachable states only: 2 of 4" in plan.title
    return plan


PARALLEL = nodes_of("Grid3x4", ParallelPlan)[0]
T3 = holonomy_cascade(golden("T3"))


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        (InvalidInput, r"a state must lie in \[0, 3\)", lambda: T3.coordinates(-1)),
        (InvalidInput, r"a state must lie in \[0, 3\)", lambda: T3.coordinates(3)),
        (InvalidInput, "one coordinate per level, 2; got 1", lambda: T3.state((0,))),
        (InvalidInput, r"level 0 must lie in \[0, 3\) here; got 5", lambda: T3.state((5, 0))),
        (InvalidInput, "a letter must lie in", lambda: T3.step((0, 0), 9)),
        (InvalidInput, "from the start to have coordinates; got 3", lambda: reachable_plan().coordinates(3)),
        (InvalidInput, "a place must lie in", lambda: PARALLEL.state((7, 0))),
        (InvalidInput, "there must be 2 coordinates; got 3", lambda: PARALLEL.state((0, 0, 0))),
        (InvalidInput, "coordinates", lambda: stack_plan().state((0, 0))),
        (InvalidInput, "a state must lie", lambda: stack_plan().coordinates(stack(2, 2).num_states)),
        (InvalidInput, "must be positive", lambda: decompose(golden("T3"), effort=nan)),
        (InvalidInput, "must be positive", lambda: decompose(golden("T3"), effort=0.0)),
        (LimitExceeded, "--effort", lambda: decompose(golden("T8"), plain=True, effort=2e-4)),
        (LimitExceeded, "--effort", lambda: holonomy_cascade(golden("T4"), max_sets=6)),
        (LimitExceeded, "at most 30,000 states; got 30,001", lambda: image_sets([tuple(range(30_001))])),
        (
            LimitExceeded,
            "at most 100 members; 101 were reached.*--effort",
            lambda: skeleton(cerny(10), max_sets=100),
        ),
    ],
)
def test_what_is_no_state_of_a_cascade_or_too_much_is_refused(
    error: type[KrohnError], says: str, call: Callable[[], object]
) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)
