"""``krohn.decompose``: the Krohn–Rhodes plan that ``krohn.compile`` builds, proved and explained."""

from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.budget import Budget
from krohn.cascade.decomposition import Decomposition, PassReport, pass_report
from krohn.cascade.holonomy import Cascade, holonomy_cascade
from krohn.cascade.plan import Plan
from krohn.cascade.plan_leaves import HolonomyPlan
from krohn.cascade.plan_search import PASSES, PlanSearch, cascade_plans, plain_cascade
from krohn.cascade.skeleton import DEFAULT_MAX_SETS
from krohn.construct.request import DEFAULT_EFFORT, Request
from krohn.construct.tight.plan_programs import built_plans, shallowest
from krohn.errors import Unsupported, plainly


@plainly
def decompose(
    automaton: AutomatonLike,
    *,
    plain: bool = False,
    explain: bool = False,
    effort: float = DEFAULT_EFFORT,
) -> Decomposition:
    """A Krohn–Rhodes decomposition, proved: the plan of fewest layers, as method ``cascade`` compiles it.

    Args:
        automaton: what to decompose: an object, a name or a file.
        plain: holonomy without shortening: the levels, tiles and groups that SgpDec finds.
        explain: also report what each pass saves (one search per pass).
        effort: how hard to search; 10 allows ten times the work. The same effort gives the same plan
            on every machine.

    Example:
        >>> cascade = krohn.decompose("Dyck4,2")
        >>> there = cascade.step(cascade.initial, 0)  # read an opening bracket
        >>> cascade.state(there), cascade.levels
        (1, 3)
    """
    automaton = as_automaton(automaton)
    request = Request(automaton, 1, method="cascade", effort=effort)
    max_sets = max(1, round(DEFAULT_MAX_SETS * effort))  # plain holonomy is quick, and no other plan needs it
    if plain:
        cascade = holonomy_cascade(automaton, max_sets=max_sets)
        return Decomposition(automaton, HolonomyPlan(automaton, cascade), cascade, is_plain=True)
    budget = request.budget()
    base = plain_cascade(automaton, budget, max_sets)
    best, layers = _chosen(request, budget, base)
    reports = _explain(request, base, best) if explain else ()
    return Decomposition(automaton, best, base, reports, not budget.given_up, layers, effort=effort)


def _chosen(request: Request, budget: Budget, base: Cascade | None) -> tuple[Plan, int | None]:
    """The plan whose network has the fewest layers; the fewest levels if a group is not solvable."""
    try:
        built = list(built_plans(request, budget, base))
    except Unsupported:
        plans = list(cascade_plans(request.automaton, request.budget(), request.max_sets, base))
        if not plans:
            raise
        return min(plans, key=lambda plan: plan.measure), None
    plan, program = shallowest(built)
    return plan, program.depth


def _explain(request: Request, base: Cascade | None, chosen: Plan) -> tuple[PassReport, ...]:
    """The saving of each pass over those before it, starting from plain holonomy."""
    best: Plan = chosen if base is None else HolonomyPlan(request.automaton, base)
    reports = []
    for count in range(1, len(PASSES) + 1):
        budget = request.budget().part(request.budget().units / len(PASSES))
        search = PlanSearch(frozenset(PASSES[:count]), budget, request.max_sets)
        result = search.best(request.automaton, best)
        assert result is not None
        reports.append(pass_report(PASSES[count - 1], best, result))
        best = result
    return tuple(reports)
