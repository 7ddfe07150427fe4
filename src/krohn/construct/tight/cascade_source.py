"""Proposals from Krohn–Rhodes plans: several searches, each plan as the program of fewest layers."""

from collections.abc import Iterator, Sequence

from krohn.cascade.holonomy import Cascade
from krohn.cascade.plan import Plan
from krohn.cascade.plan_nodes import ClampedCounterPlan, HolonomyPlan
from krohn.cascade.plan_search import cascade_plans
from krohn.construct.proposal import Proposal
from krohn.construct.request import Request
from krohn.construct.tight.clamped_counter import has_unit_steps
from krohn.construct.tight.plan_programs import plan_program
from krohn.construct.tight.scan import scan_depth
from krohn.errors import LimitExceeded, Unsupported
from krohn.network.position_maps import Table
from krohn.network.program import Program
from krohn.network.transformer import Mask
from krohn.work import Work


def cascade_proposals(request: Request, work: Work) -> Iterator[Proposal]:
    """Programs of different plans, only the best if depth is all that matters; raises if there is none."""
    built = list(built_plans(request, work))
    for plan, program in [shallowest(built)] if request.objective == "depth" else built:
        lines = tuple("  " * indent + node.title for indent, node in plan.walk())
        yield Proposal("cascade", program.depth, lambda program=program: program, lines)  # type: ignore[misc]


def built_plans(request: Request, work: Work, plain: Cascade | None = None) -> Iterator[tuple[Plan, Program]]:
    """Plans with their programs; a plan of more than twice the layers of a scan is not written out."""
    reasons: dict[str, None] = {}
    found = False
    in_scan = scan_depth(request.length) if (request.method, request.objective) == ("auto", "depth") else None
    for plan in cascade_plans(request.automaton, work, request.max_sets, plain):
        faults = [*_unsolvable(plan)]
        if not faults and in_scan is not None and plan.layers > 2 * in_scan:
            faults = [f"{plan.layers} layers are needed"]
        if not faults:
            try:
                programs = _programs(plan, request.mask, request.objective == "blocks")
            except LimitExceeded as error:
                faults = [str(error)]
        if faults:
            reasons.update(dict.fromkeys(faults))
            continue
        found = True
        yield from ((plan, program) for program in programs)
    if not found:
        few = (
            f"no plan within {request.max_sets:,} image sets (--max-sets) and {work.units:,.0f} units of work"
        )
        listed = "; ".join(reasons) or f"{few} (--effort)"
        raise Unsupported(
            f"method cascade needs solvable groups and tables that fit: {listed}; use method scan"
        )


def shallowest(built: Sequence[tuple[Plan, Program]]) -> tuple[Plan, Program]:
    """The plan that compile builds and decompose shows: fewest layers, then fewest levels, then smallest."""
    return min(built, key=lambda pair: (pair[1].depth, pair[0].levels, program_size(pair[1])))


def program_size(program: Program) -> int:
    """About how many units and channels a program takes: rows of tables, registers and heads."""
    rows = sum(
        len(change.rows) for layer in program.layers for change in layer.maps if isinstance(change, Table)
    )
    return rows + len(program.registers) + sum(len(layer.attention) for layer in program.layers)


def _programs(plan: Plan, mask: Mask, flat: bool) -> list[Program]:
    """The plan's program and, where it is shallower, the one that keeps stage sets of several positions."""
    plain = plan_program(plan, mask, flat=flat)
    if mask == "strict" or not any(_has_levels(node) for _, node in plan.walk()):
        return [plain]
    lagged = plan_program(plan, mask, lagged=True, flat=flat)
    return [plain, lagged] if lagged.depth < plain.depth else [plain]


def _has_levels(node: Plan) -> bool:
    """Whether a node is written level by level, as a counter is whose steps are too large for its shape."""
    return isinstance(node, HolonomyPlan) or (
        isinstance(node, ClampedCounterPlan) and not has_unit_steps(node)
    )


def _unsolvable(plan: Plan) -> Iterator[str]:
    for _, node in plan.walk():
        if isinstance(node, HolonomyPlan):
            for part in node.components:
                if not part.is_solvable:
                    yield (
                        f"the group {part.group} of order {part.group_order} on {part.tiles} tiles "
                        f"(level {part.level}) is not solvable"
                    )
