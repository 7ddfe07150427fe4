"""The programs worth comparing for one automaton: the stack, and plans of several searches."""

from collections.abc import Iterator
from dataclasses import dataclass

from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.plan import Plan
from krohn.cascade.plan_nodes import HolonomyPlan
from krohn.cascade.plan_search import ERROR_BIT, MERGE, PASSES, REACHABLE, SERIAL, PlanSearch
from krohn.construct.tight.compiler import plan_program
from krohn.construct.tight.stack import recognise_stack, stack_program
from krohn.errors import LimitExceeded, Unsupported
from krohn.network.program import Program
from krohn.network.transformer import Mask

# The search makes levels few; with some pass switched off it may find fewer layers for this mask.
SEARCHES = (
    frozenset(PASSES),
    frozenset(PASSES) - {SERIAL},
    frozenset(PASSES) - {MERGE},
    frozenset(PASSES) - {ERROR_BIT},
    frozenset({REACHABLE}),
)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A program and the plan it follows, in a line per node."""

    program: Program
    plan: tuple[str, ...]


def cascade_candidates(
    automaton: Semiautomaton, mask: Mask, *, time_limit: float, max_sets: int, max_depth: int | None = None
) -> Iterator[Candidate]:
    """Programs of different plans; raises, with every reason, if no plan can be built.

    ``max_depth``: once a plan needs more than twice as many layers, the search is given up.
    """
    stack = recognise_stack(automaton)
    if stack is not None:
        yield Candidate(
            stack_program(automaton, stack, mask), (f"stack of height {stack.height} and an error bit",)
        )
        return
    reasons: dict[str, None] = {}
    found = False
    for plan in _plans(automaton, time_limit, max_sets):
        faults = [*_unsolvable(plan)]
        if faults:
            reasons.update(dict.fromkeys(faults))
            continue
        if max_depth is not None and plan.layers > 2 * max_depth:
            reasons[f"{plan.layers} layers are needed"] = None
            break
        try:
            programs = _programs(plan, mask)
        except LimitExceeded as error:
            reasons[str(error)] = None
            continue
        found = True
        titles = tuple("  " * indent + node.title for indent, node in plan.walk())
        yield from (Candidate(program, titles) for program in programs)
    if not found:
        listed = "; ".join(reasons) or f"the family of image sets has more than {max_sets} members"
        raise Unsupported(
            f"method cascade needs solvable groups and tables that fit: {listed}; use method scan"
        )


def _programs(plan: Plan, mask: Mask) -> list[Program]:
    """The plan's program and, where it is shallower, the one that keeps stage sets of several positions."""
    plain = plan_program(plan, mask)
    if mask == "strict":
        return [plain]
    lagged = plan_program(plan, mask, lagged=True)
    return [plain, lagged] if lagged.depth < plain.depth else [plain]


def _plans(automaton: Semiautomaton, time_limit: float, max_sets: int) -> Iterator[Plan]:
    """Different plans, each once."""
    seen: set[tuple[str, ...]] = set()
    for passes in SEARCHES:
        plan = PlanSearch(passes, time_limit / len(SEARCHES), max_sets).best(automaton)
        if plan is not None:
            shape = tuple(f"{indent} {node.title} {node.measure}" for indent, node in plan.walk())
            if shape not in seen:
                seen.add(shape)
                yield plan


def _unsolvable(plan: Plan) -> Iterator[str]:
    for _, node in plan.walk():
        if isinstance(node, HolonomyPlan):
            for part in node.components:
                if not part.is_solvable:
                    yield (
                        f"the group {part.group} of order {part.group_order} on {part.tiles} tiles "
                        f"(level {part.level}) is not solvable"
                    )
