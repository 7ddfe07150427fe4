"""Proposals from Krohn–Rhodes plans: several searches, each plan as the program of fewest layers."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import inf

from krohn.base.portable import Budget
from krohn.cascade.plan import ClampedCounterPlan, HolonomyPlan, Plan
from krohn.cascade.plan_search import cascade_plans
from krohn.construct.request import Proposal, Request
from krohn.construct.tight.leaf_programs import has_unit_steps
from krohn.construct.tight.plan_programs import plan_program
from krohn.errors import LimitExceeded, Unsupported
from krohn.network.operations import LookBack, PositionMap, Table
from krohn.network.program import Program


def cascade_proposals(request: Request, budget: Budget) -> Iterator[Proposal]:
    """Programs of different plans, only those of the best if only depth matters; raises if there is none."""
    built = list(built_plans(request, cascade_plans(request.automaton, budget, request.max_sets)))
    for plan, program in [shallowest(built)] if request.objective == "depth" else built:
        lines = tuple("  " * indent + node.title for indent, node in plan.walk())
        yield Proposal("cascade", program.depth, partial(same_program, program), lines)
        if request.objective == "blocks" or request.dtype == "float64":  # too fine for shorter formats
            flat = plan_program(plan, flat=True)
            if flat != program and flat.depth == program.depth:
                yield Proposal("cascade", flat.depth, partial(same_program, flat), lines)


def same_program(program: Program) -> Program:
    """The program of a proposal that is written already."""
    return program


def built_plans(request: Request, plans: Iterable[Plan]) -> Iterator[tuple[Plan, Program]]:
    """Plans with their programs; a plan with more than twice the layers of a scan is skipped.

    If only depth matters, a program that must be deeper than one before is not written.
    """
    reasons: dict[str, None] = {}
    result = False
    least: int | None = None
    in_scan = request.scan_depth if (request.method, request.objective) == ("auto", "depth") else None
    for plan in plans:
        faults = [] if plan.is_solvable else [*_unsolvable(plan)]
        if not faults and in_scan is not None and plan.layers > 2 * in_scan:
            faults = [f"{plan.layers} layers are needed"]
        if not faults:
            try:
                programs = _programs(plan, None if in_scan is None else 2 * in_scan, least)
            except LimitExceeded as error:
                faults = [str(error)]
        if faults:
            reasons.update(dict.fromkeys(faults))
            continue
        result = True
        if request.objective == "depth":
            depths = [program.depth for program in programs]
            least = min(depths if least is None else [least, *depths])
        yield from ((plan, program) for program in programs)
    if not result:
        limits = f"{request.max_sets:,} image sets and {request.budget().units:,.0f} units of work (--effort)"
        listed = "; ".join(reasons) or f"no plan within {limits}"
        raise Unsupported(f"no cascade: {listed}; krohn compile --method scan does without")


def shallowest(built: Sequence[tuple[Plan, Program]]) -> tuple[Plan, Program]:
    """The plan that compile builds and decompose shows: sort key: layers, then levels, then size."""
    return min(built, key=lambda pair: (pair[1].depth, pair[0].levels, program_size(pair[1])))


def program_size(program: Program) -> int:
    """Estimated units and channels of a program: rows of tables, registers and heads."""
    rows = sum(
        len(change.rows) for layer in program.layers for change in layer.maps if isinstance(change, Table)
    )
    return rows + len(program.registers) + sum(len(layer.attention) for layer in program.layers)


def _programs(plan: Plan, most: int | None, least: int | None) -> list[Program]:
    """The plan's program and, where it is shallower, the one that keeps stage sets of several positions.

    That one saves at most half of the layers, and takes minutes to write if there are hundreds; it is left
    out if it must be deeper than ``least``.
    """
    plain = plan_program(plan)
    if most is not None and plain.depth > 2 * most:
        raise LimitExceeded(f"{plain.depth} layers are needed")
    if not any(_has_levels(node) for _, node in plan.walk()):
        return [plain]
    if least is not None and depth_with_lags(plain) > least:
        return [plain]
    lagged = plan_program(plan, lagged=True)
    return [plain, lagged] if lagged.depth < plain.depth else [plain]


def depth_with_lags(program: Program) -> int:
    """The layers that are left if no operation waits for a look-back, and one that looks up the letters."""
    names = [source.register for source in program.sources] + [place.register for place in program.places]
    alone: dict[str, float] = dict.fromkeys(names, 0)  # the longest ways without a look-back
    after: dict[str, float] = dict.fromkeys(names, -inf)  # those with one or more
    for layer in program.layers:
        for step in (*layer.attention, *layer.maps):
            head = not isinstance(step, PositionMap)
            way, behind = (max(known[name] for name in step.reads) for known in (alone, after))
            if isinstance(step, LookBack):
                way, behind = -inf, max(way, behind)
            elif head:
                way, behind = way + 1, behind + 1
            for name in step.writes:
                alone[name], after[name] = way, behind
    return int(max(*alone.values(), *(way + 1 for way in after.values())))


def _has_levels(node: Plan) -> bool:
    """Whether a node is written level by level, as a counter is whose steps are too large for its shape."""
    return isinstance(node, HolonomyPlan) or (
        isinstance(node, ClampedCounterPlan) and not has_unit_steps(node)
    )


def _unsolvable(plan: Plan) -> Iterator[str]:
    nodes = [node for _, node in plan.walk() if isinstance(node, HolonomyPlan)]
    for part in (part for node in nodes for part in node.components if not part.is_solvable):
        what = f"the group {part.group} of order {part.group_order} on {part.tiles} tiles"
        yield f"{what} (level {part.level}) is not solvable"
